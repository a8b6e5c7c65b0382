// Package allreduce holds the few types that planning, execution and
// verification of an AllReduce share.
//
// A [Layout] is what an [Executor] connects once: the rings and trees of every
// channel and the FIFO sizes. A [Plan] is one launch: the operations of a group
// ([Work]), each cut into one [Part] per channel. The same plan on the same
// layout gives the same bits on every executor. Errors that a caller decides on
// are typed: [StuckError], [LayoutError], [UnsupportedError], [ErrNoDevice].
package allreduce
