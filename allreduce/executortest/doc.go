// Package executortest is the contract of an allreduce.Executor, as tests that
// every executor runs: same plan in, same bits out.
//
// [Contract] goes through algorithms, protocols, types and operations; [Draw]
// makes random configurations for property tests and [Config.Check] runs one.
// [Serial] is an executor that is nothing but obviously right, to test with
// where no real one is wanted.
package executortest
