package host

import "github.com/ringtopo/ringtopo/allreduce"

// simple runs a primitive in slices. Data is announced by tail, an atomic store
// behind it; room comes back by head.
func (w *worker) simple(m *primitive) bool {
	steps, slice := w.work.SliceSteps, sliceBytes(w.work, m.n)
	for at, slices := 0, w.work.ChunkSteps/steps; slices > 0; slices-- {
		n := min(slice, m.n-at)
		if !w.awaitSlice(m, uint64(steps)) {
			return false
		}
		if n > 0 {
			w.copySlice(m, at, n)
		}
		w.postSlice(m, uint64(steps))
		at += n
	}
	return true
}

// sliceBytes is how a chunk of n bytes is cut: evenly in multiples of 16
// elements, but not into crumbs.
func sliceBytes(w *allreduce.Work, n int) int {
	es, slices := w.DType.Size(), w.ChunkSteps/w.SliceSteps
	even := (n/es + 16*slices - 1) / (16 * slices) * 16
	return max(even, w.StepBytes/es*w.SliceSteps/32) * es
}

// awaitSlice waits until all peers have data, and room.
func (w *worker) awaitSlice(m *primitive, steps uint64) bool {
	for _, r := range m.recv {
		if !w.awaitTail(r, r.step+steps) {
			return false
		}
	}
	for i, s := range m.send {
		if m.direct[i] == nil && !w.awaitCredit(s, s.step+steps) {
			return false
		}
		if !w.holdBack(s, s.step+steps) {
			return false
		}
	}
	return true
}

func (w *worker) postSlice(m *primitive, steps uint64) {
	for _, s := range m.send {
		s.step += steps
		w.postTail(s)
	}
	for _, r := range m.recv {
		r.step += steps
		w.postHead(r)
	}
	w.moved()
}

// copySlice combines n bytes at offset at of the chunk, block by block.
func (w *worker) copySlice(m *primitive, at, n int) {
	var src, dst [maxPeers + 1][]byte
	nd := 0
	if m.out != nil && !m.landed {
		dst[nd] = m.out[at : at+n]
		nd++
	}
	for i, s := range m.send {
		switch {
		case m.drop:
			continue
		case m.direct[i] != nil:
			dst[nd] = m.direct[i][at : at+n]
		default:
			dst[nd] = s.slot(w.work.Proto, w.work.StepBytes, n)
		}
		nd++
	}
	ns := 0
	if m.landed {
		src[0] = m.out[at : at+n]
		ns = 1
	} else {
		for _, r := range m.recv {
			src[ns] = r.slot(w.work.Proto, w.work.StepBytes, n)
			ns++
		}
	}
	var in []byte
	if m.in != nil {
		in = m.in[at : at+n]
	}
	w.combine(dst[:nd], in, src[:ns], m.post)
}

// combine sets every destination to input op source 0 op source 1 ...
func (w *worker) combine(dst [][]byte, in []byte, src [][]byte, post bool) {
	if len(dst) == 0 {
		return
	}
	if in == nil && len(src) == 1 && !post {
		for _, d := range dst {
			copy(d, src[0])
		}
		return
	}
	f := &w.fold
	for at, n := 0, len(dst[0]); at < n; at += block {
		end := min(at+block, n)
		d := dst[0][at:end]
		switch {
		case in == nil:
			copy(d, src[0][at:end])
		case len(src) == 0:
			f.load(d, in[at:end])
		default:
			f.merge(d, f.own(in[at:end]), src[0][at:end])
		}
		for i := 1; i < len(src); i++ {
			f.merge(d, d, src[i][at:end])
		}
		if post {
			f.finish(d)
		}
		for _, other := range dst[1:] {
			copy(other[at:end], d)
		}
	}
}
