package host

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// runRing walks the schedule of a ring. A finished chunk is written straight
// into the next rank's output: it reaches a rank only after that rank's own
// input of the chunk has been used, so nothing is overwritten, in place or not.
func (w *worker) runRing(work int, part *allreduce.Part) bool {
	w.begin(w.ring.recv, w.ring.send)
	n, es := w.layout.NRanks, int64(w.work.DType.Size())
	in, out := w.spans.in(work, w.rank), w.spans.out(work, w.rank)
	nextOut := w.spans.out(work, w.next)
	for l := range schedule.Loops(part.Count, part.ChunkBytes, w.work.DType, n) {
		loop := schedule.LoopAt(part, w.work.DType, n, l)
		for s := range schedule.Steps(n) {
			what, chunk := schedule.Step(s, n, w.position)
			off, count := loop.At(chunk)
			at, size := off*es, count*es
			m := primitive{n: int(size), post: what == schedule.RecvReduceCopySend}
			if what.Receives() {
				m.recv = w.ring.recv
			}
			if what.Sends() {
				m.send = w.ring.send
			}
			if what == schedule.Send || what.Reduces() {
				m.in = cut(in, at, size)
			}
			if what.Copies() {
				m.out = cut(out, at, size)
			}
			w.short(&m, what == schedule.RecvReduceCopySend || what == schedule.RecvCopySend,
				what == schedule.RecvCopySend || what == schedule.Recv, cut(nextOut, at, size))
			if !w.do(&m) {
				return false
			}
		}
	}
	return true
}

// cut is a chunk of a message. An empty one may lie past the end.
func cut(b []byte, at, size int64) []byte {
	if size == 0 {
		return b[:0]
	}
	return b[at : at+size]
}

// short takes the short way where the protocol has one: a finished chunk goes
// into the peer's output, and has arrived in this rank's.
func (w *worker) short(m *primitive, sendsFinished, receivesFinished bool, peerOut []byte) {
	if w.work.Proto != allreduce.Simple || w.noDirect {
		return
	}
	if sendsFinished {
		m.direct[0] = peerOut
	}
	m.landed = receivesFinished
}

// alone is an AllReduce of one rank.
func (w *worker) alone(work int, part *allreduce.Part) bool {
	es := int64(w.work.DType.Size())
	in := w.spans.in(work, w.rank)[part.Offset*es : (part.Offset+part.Count)*es]
	out := w.spans.out(work, w.rank)[part.Offset*es:]
	w.fold.load(out[:len(in)], in)
	return true
}
