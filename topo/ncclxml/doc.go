// Package ncclxml reads and writes NCCL's topology XML without loss, selects
// what a job's ranks see of it, and turns it into a [topo.System].
package ncclxml
