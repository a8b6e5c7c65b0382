// Package host runs an AllReduce on the CPU: ranks as goroutines, or as one
// process per rank over shared memory.
//
// Every (rank, channel) is a worker. Workers of a ring or tree talk through
// connections with the FIFOs of eight steps, the line formats and the counters
// of the protocols Simple, LL and LL128; finished chunks go straight into the
// receiver's output. The direct algorithms read and write the ranks' buffers
// themselves. A worker that waits spins, yields, and then sleeps until its peer
// rings; a run in which nothing moves for the limit ends with a
// *allreduce.StuckError that says who waited for whom. With processes a run
// begins, and its time too, when all ranks have come to it.
package host
