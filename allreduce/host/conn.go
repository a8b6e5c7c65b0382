package host

import (
	"sync/atomic"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

const depth = allreduce.FIFODepth

// conn is one directed connection of a channel.
type conn struct {
	*counters
	number           int // among the connections
	from, to         int // user ranks
	sender, receiver int // posts of the workers at its ends
	fifo             [allreduce.NumProtos][]byte
}

// end is one side's view of a connection: its own step counter, kept from run
// to run, and what it last saw of the peer's.
type end struct {
	*conn
	step uint64
	seen uint64
	base uint64 // step at the start of the run, for a diagnosis
	// late is an injected fault, see fault.go.
	late staleness
}

// slot is the FIFO from a step's slot on, for a stretch of n bytes.
func (e *end) slot(p allreduce.Proto, stepBytes, n int) []byte {
	at := int(e.step%depth) * stepBytes
	return e.fifo[p][at : at+n]
}

// words views a slot as 64-bit words.
func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// atomics views a slot as words that two sides may touch at once.
func atomics(b []byte) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// awaitTail waits until the sender has announced a step count.
func (w *worker) awaitTail(r *end, want uint64) bool {
	if r.seen >= want || r.late.accepts() {
		return true
	}
	for n := 0; ; n++ {
		if r.seen = r.tail.Load(); r.seen >= want {
			w.resume(n)
			return true
		}
		if !w.pauseFor(n, r.from, allreduce.WaitData, want, r.seen, r.base) {
			return false
		}
	}
}

// awaitCredit waits until the receiver has given back a step count.
func (w *worker) awaitCredit(s *end, want uint64) bool {
	for n := 0; s.seen+depth < want; n++ {
		if s.seen = s.head.Load(); s.seen+depth >= want {
			w.resume(n)
			return true
		}
		if !w.pauseFor(n, s.to, allreduce.WaitCredit, want-depth, s.seen, s.base) {
			return false
		}
	}
	return true
}

// pauseFor is pause; before it sleeps for the first time it tells its post what
// it waits for.
func (w *worker) pauseFor(n, peer int, kind allreduce.Wait, want, seen, base uint64) bool {
	if n == w.spins+w.yields {
		w.post.waitFor.Store(pack(peer, kind, w.work.Algo, w.work.Proto))
		w.post.want.Store(want)
		w.post.base.Store(base)
		w.post.seen.Store(seen)
		w.post.place.Store(waiting)
	}
	return w.pause(n)
}

// postTail announces that a sender's steps are filled.
func (w *worker) postTail(s *end) {
	s.tail.Store(s.step)
	w.bells.rouse(s.receiver)
}

// postHead gives a receiver's steps back.
func (w *worker) postHead(r *end) {
	r.head.Store(r.step)
	w.bells.rouse(r.sender)
}

// moved counts a worker's progress.
func (w *worker) moved() {
	w.progress++
	w.post.progress.Store(w.progress)
}
