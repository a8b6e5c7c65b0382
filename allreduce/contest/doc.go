// Package contest compares ways to do one AllReduce fairly: in one process, on
// the same GPUs and the same buffers, in rounds of changing order, so that
// nothing but the ways themselves differs.
//
// A [Player] is an executor that can do a plan again and again; an [Entry] is a
// player with a plan, and a [Match] lets entries take turns. Bits are checked
// before and after. [Summarise] says what came of it for ours against NCCL's.
package contest
