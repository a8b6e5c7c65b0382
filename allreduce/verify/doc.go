// Package verify makes inputs whose AllReduce is known to the bit, and explains
// the first difference.
//
// A plan and its layout fix the order in which inputs are combined, element by
// element: [Case] computes inputs and the expected output of any stretch of a
// work without anybody's data. A [Trial] puts them into an executor's buffers,
// poison and guard words around, and looks at every bit that comes out. A
// difference is an allreduce.Mismatch: where the schedule had the element, and
// what its value looks like.
package verify
