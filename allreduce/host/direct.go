package host

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// The direct algorithms need no connections: a run starts only when all inputs
// are there, and ends when all outputs are. Inputs are added in the order of
// ranks.

// stretch is what a direct worker moves between two signs of progress, in bytes
// of each input.
const stretch = 1 << 20

// streamFrom is the size of all outputs together from which on they do not fit
// in any cache.
const streamFrom = 32 << 20

// runTwoShot reduces this rank's share of the part and writes it to all. A share
// is read and written by one worker only, so in place is no case of its own.
func (w *worker) runTwoShot(work int, part *allreduce.Part) bool {
	es := int64(w.work.DType.Size())
	off, count := schedule.ShareLoop(part, w.work.DType, w.layout.NRanks).At(schedule.Chunk(w.rank))
	return w.spread(work, off*es, (off+count)*es, w.layout.NRanks)
}

// runOneShot has every rank reduce the whole part for itself.
func (w *worker) runOneShot(work int, part *allreduce.Part) bool {
	es := int64(w.work.DType.Size())
	from, to := part.Offset*es, (part.Offset+part.Count)*es
	if w.spans.shared[work] {
		return w.replace(work, from, to)
	}
	return w.spread(work, from, to, 1)
}

// spread reduces some bytes of all inputs and writes them to the outputs of this
// rank and those behind it, heirs in all.
func (w *worker) spread(work int, from, to int64, heirs int) bool {
	if !w.mayGoOn(0) {
		return false
	}
	past := w.work.Bytes()*int64(w.layout.NRanks) >= streamFrom
	for at := from; at < to; at += stretch {
		upto := min(at+stretch, to)
		w.inputs, w.outputs = w.inputs[:0], w.outputs[:0]
		for i := range w.layout.NRanks {
			w.inputs = append(w.inputs, w.spans.in(work, i)[at:upto])
		}
		for i := range heirs {
			if !w.drops() || i == 0 && heirs > 1 {
				w.outputs = append(w.outputs, w.spans.out(work, (w.rank+i)%w.layout.NRanks)[at:upto])
			}
		}
		w.spreadStretch(past)
		if !w.stride(at-from, upto-from) {
			return false
		}
	}
	return true
}

// spreadStretch reduces the inputs at hand into the outputs at hand: past the
// caches in one pass, if there is a way for the type and operation. Within them
// it is block by block, since stores to many places at once are slow there.
func (w *worker) spreadStretch(past bool) {
	done, end := 0, 0
	if past && w.plain() {
		done, end = reduce.Spread(w.outputs, w.inputs, w.work.DType, w.work.Op, true)
	}
	w.spreadBlocks(0, done, past)
	w.spreadBlocks(end, len(w.inputs[0]), past)
}

func (w *worker) spreadBlocks(from, to int, past bool) {
	for at := from; at < to; at += len(w.wide) {
		upto := min(at+len(w.wide), to)
		acc := w.wide[:upto-at]
		w.gather(acc, at)
		for i, out := range w.outputs {
			if past {
				stream(out[at:upto], acc, w.inputs[i][min(upto, to-1):])
			} else {
				copy(out[at:upto], acc)
			}
		}
	}
}

// plain reports whether inputs and results are taken as they are.
func (w *worker) plain() bool { return !w.fold.scales && !w.fold.divides }

// gather sets acc to the inputs at hand from byte at on, combined.
func (w *worker) gather(acc []byte, at int) {
	w.pieces, w.target[0] = w.pieces[:0], acc
	for _, in := range w.inputs {
		w.pieces = append(w.pieces, in[at:at+len(acc)])
	}
	end := 0
	if w.plain() {
		_, end = reduce.Spread(w.target[:], w.pieces, w.work.DType, w.work.Op, false)
	}
	f, rest := &w.fold, acc[end:]
	if len(rest) == 0 {
		return
	}
	sum := w.pieces[0][end:]
	if f.scales {
		f.load(rest, sum)
		sum = rest
	}
	for _, in := range w.pieces[1:] {
		f.merge(rest, sum, f.own(in[end:]))
		sum = rest
	}
	f.finish(rest)
}

// replace is spread for one heir where outputs are inputs of others: nothing is
// written before all have read it.
func (w *worker) replace(work int, from, to int64) bool {
	if !w.mayGoOn(0) {
		return false
	}
	for at := from; at < to; at += int64(len(w.wide)) {
		upto := min(at+int64(len(w.wide)), to)
		w.inputs = w.inputs[:0]
		for i := range w.layout.NRanks {
			w.inputs = append(w.inputs, w.spans.in(work, i)[at:upto])
		}
		acc := w.wide[:upto-at]
		w.gather(acc, 0)
		if !w.meet() {
			return false
		}
		if !w.drops() {
			copy(w.spans.out(work, w.rank)[at:upto], acc)
		}
		if !w.stride(at-from, upto-from) {
			return false
		}
	}
	return true
}

// stride shows progress when a worker has passed the end of a stretch, and
// looks whether the run still stands.
func (w *worker) stride(from, to int64) bool {
	if from/stretch == to/stretch {
		return true
	}
	w.moved()
	return w.mayGoOn(int(to / stretch))
}

// mayGoOn is the place where an injected fault hits a direct worker; at counts
// stretches.
func (w *worker) mayGoOn(at int) bool {
	w.sent = at
	return w.obey() && w.ctl.abort.Load() == 0
}

// meet waits until all ranks have come to the same point on this channel.
func (w *worker) meet() bool {
	w.met++
	w.post.met.Store(w.met)
	for r := range w.layout.NRanks {
		if r != w.rank {
			w.bells.rouse(w.shape.post(r, w.channel, first))
		}
	}
	for r := range w.layout.NRanks {
		peer := &w.ctl.posts[w.shape.post(r, w.channel, first)]
		for n := 0; ; n++ {
			seen := peer.met.Load()
			if seen >= w.met {
				w.resume(n)
				break
			}
			if !w.pauseFor(n, r, allreduce.WaitData, w.met, seen, w.metBase) {
				return false
			}
		}
	}
	return true
}
