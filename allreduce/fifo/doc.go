// Package fifo is a discrete model of one connection of a channel, for each of
// the protocols Simple, LL and LL128, that can be broken on purpose.
//
// A [Case] is compiled into two straight programs, the sender's and the
// receiver's, over a memory in which stores become visible in any order unless
// a fence stands between them (stores to one place keep their order). [Explore]
// walks every interleaving of the two programs and the memory, and reports each
// way a run can end with the shortest trace that leads there. [Matrix] lists
// the cases with what must be seen in each: a protocol that is whole ends well
// in every interleaving, and every fault shows its own harm.
package fifo
