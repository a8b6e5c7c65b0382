// Package nccllog writes the lines that NCCL logs about its graph, and reads
// them back from the log of any job.
//
// [Write] gives what one rank prints with NCCL_DEBUG=INFO and
// NCCL_DEBUG_SUBSYS=INIT,GRAPH, in NCCL 2.22.3's words and order: the system,
// its paths, the patterns that were searched, trees, channels and rings. NCCL
// cuts every line at 1,023 bytes; Write never does.
//
// [Read] takes log text as users have it: with or without the prefix that
// names host, process and device, of one rank or of many interleaved, of
// several communicators, from NCCL 2.4 on and from RCCL.
package nccllog
