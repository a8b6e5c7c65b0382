package host

import "github.com/ringtopo/ringtopo/allreduce"

// runTree moves chunks up to the root and down again. The root's first worker
// turns them round; elsewhere the first worker reduces upwards and the second
// brings results down, each at its own pace.
func (w *worker) runTree(work int, part *allreduce.Part) bool {
	root := len(w.up.send) == 0
	if w.role == second && len(w.down.recv) == 0 {
		return true
	}
	w.begin(w.up.recv, w.up.send)
	w.begin(w.down.recv, w.down.send)
	es := int64(w.work.DType.Size())
	chunk := int64(part.ChunkBytes) / es
	for at := int64(0); at < part.Count; at += chunk {
		from := (part.Offset + at) * es
		to := from + min(chunk, part.Count-at)*es
		m := primitive{n: int(to - from)}
		switch {
		case w.role == second:
			w.bringDown(&m, work, from, to)
		case root:
			m.in = w.spans.in(work, w.rank)[from:to]
			m.recv, m.post = w.up.recv, true
			w.hand(&m, work, from, to)
		default:
			m.in = w.spans.in(work, w.rank)[from:to]
			m.recv, m.send = w.up.recv, w.up.send
		}
		if !w.do(&m) {
			return false
		}
	}
	return true
}

// bringDown takes a finished chunk from the parent and hands it on.
func (w *worker) bringDown(m *primitive, work int, from, to int64) {
	m.recv = w.down.recv
	m.landed = w.work.Proto == allreduce.Simple && !w.noDirect
	w.hand(m, work, from, to)
}

// hand keeps a finished chunk and gives it to the children; into their outputs,
// where the protocol can.
func (w *worker) hand(m *primitive, work int, from, to int64) {
	m.out = w.spans.out(work, w.rank)[from:to]
	m.send = w.down.send
	if w.work.Proto != allreduce.Simple || w.noDirect {
		return
	}
	for i, child := range w.children {
		m.direct[i] = w.spans.out(work, child)[from:to]
	}
}
