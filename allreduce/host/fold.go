package host

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
)

// maxPeers is the most connections that one primitive reads or writes: the
// children of a tree.
const maxPeers = 3

// block is the stretch of bytes that is combined at once: small enough that
// what was just written is still in the first-level cache.
const block = 8192

// fold combines the contributions to an element in the plan's order.
type fold struct {
	dtype   allreduce.DType
	op      allreduce.Op
	n       int
	scales  bool // an input is multiplied by 1/n first
	divides bool // the end result is divided by n
	scratch []byte
}

func newFold(w *allreduce.Work, n int, scratch []byte) fold {
	return fold{w.DType, w.Op, n, reduce.Scales(w.DType, w.Op), reduce.Divides(w.DType, w.Op), scratch}
}

// load puts a rank's own input into dst.
func (f *fold) load(dst, input []byte) {
	if f.scales {
		reduce.Scale(dst, input, f.dtype, f.n)
		return
	}
	copy(dst, input)
}

// own is a rank's input as it enters a sum: scaled where the average wants it.
// The input is no longer than a block; the result holds until the next call.
func (f *fold) own(input []byte) []byte {
	if !f.scales {
		return input
	}
	s := f.scratch[:len(input)]
	reduce.Scale(s, input, f.dtype, f.n)
	return s
}

// merge sets dst = a op b.
func (f *fold) merge(dst, a, b []byte) { reduce.Reduce(dst, a, b, f.dtype, f.op) }

// finish is the post operation on an end result.
func (f *fold) finish(b []byte) {
	if f.divides {
		reduce.Divide(b, b, f.dtype, f.n)
	}
}
