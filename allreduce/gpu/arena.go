package gpu

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// An arena is where one rank is written to: for each channel two words that are
// polled, on cache lines of their own, and a FIFO per protocol. The same shape
// serves a connection that lies in host memory.
type arena struct {
	base    cuda.Ptr
	stride  int64 // of one channel
	offsets [allreduce.NumProtos]int64
}

const (
	headOffset = 0
	tailOffset = 128
	fifoOffset = 4096
	fifoAlign  = 4096
)

func newArena(l *allreduce.Layout) arena {
	a := arena{stride: fifoOffset}
	for p, size := range l.BuffSize {
		a.offsets[p] = a.stride
		a.stride += (int64(size) + fifoAlign - 1) / fifoAlign * fifoAlign
	}
	return a
}

// at is the same shape somewhere else.
func (a arena) at(base cuda.Ptr) arena {
	a.base = base
	return a
}

func (a arena) bytes(channels int) int64 { return a.stride * int64(channels) }

func (a arena) channel(c int) cuda.Ptr { return a.base + cuda.Ptr(int64(c)*a.stride) }
func (a arena) head(c int) uint64      { return uint64(a.channel(c) + headOffset) }
func (a arena) tail(c int) uint64      { return uint64(a.channel(c) + tailOffset) }
func (a arena) fifos(c int) (f [3]uint64) {
	for p, off := range a.offsets {
		f[p] = uint64(a.channel(c)) + uint64(off)
	}
	return f
}
