// Package gpu runs AllReduce plans on NVIDIA GPUs with ringtopo's own kernels.
//
// [New] places ranks on GPUs, proves that GPUs that are neighbours on a ring
// reach each other's memory, and connects the rings: one block serves one
// channel of one rank. All ranks of one GPU run in one cooperative launch, since
// blocks that wait for each other must run at the same time. Where a GPU cannot
// reach its neighbour, the connection lies in pinned host memory.
//
// Every wait in a kernel ends after a time limit, so that a run that is stuck
// ends as an *allreduce.StuckError and leaves the GPU free. A GPU that does not
// answer even then is given up: a *HungError names it, nobody waits for it, and
// what it may still write to is not freed.
package gpu
