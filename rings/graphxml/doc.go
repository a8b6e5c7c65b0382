// Package graphxml reads and writes graph files: the channels of one node as
// NCCL takes them from NCCL_GRAPH_FILE and leaves them in
// NCCL_GRAPH_DUMP_FILE.
package graphxml
