// Package best knows which algorithm, protocol and launch suit a message best on
// a machine: better than what NCCL's model would choose, and beside it.
//
// A [Table] holds choices by message size for one [Class] of machines. It is
// measured ([Fit] makes its rows) and kept in a file ([Read], [Open], [File]), or
// is one of the seeds that come along. [For] finds the table of a class, and
// every answer says where it comes from.
package best
