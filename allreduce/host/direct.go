package host

import (
	"github.com/ringtopo/ringtopo/allreduce"
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

func copyInto(dst, src, _ []byte) { copy(dst, src) }

// runTwoShot reduces this rank's share of the part and writes it to all. A share
// is read and written by one worker only, so in place is no case of its own.
func (w *worker) runTwoShot(work int, part *allreduce.Part) bool {
	es := int64(w.work.DType.Size())
	off, count := schedule.ShareLoop(part, w.work.DType, w.layout.NRanks).At(schedule.Chunk(w.rank))
	from, to := off*es, (off+count)*es
	if !w.mayGoOn(0) {
		return false
	}
	put := copyInto
	if w.work.Bytes()*int64(w.layout.NRanks) >= streamFrom {
		put = stream
	}
	for at := from; at < to; at += int64(len(w.wide)) {
		upto := min(at+int64(len(w.wide)), to)
		acc := w.wide[:upto-at]
		w.gather(acc, work, at)
		for i := range w.layout.NRanks {
			if r := (w.rank + i) % w.layout.NRanks; i == 0 || !w.drops() {
				put(w.spans.out(work, r)[at:upto], acc, w.spans.in(work, r)[min(upto, to-1):])
			}
		}
		if !w.stride(at-from, upto-from) {
			return false
		}
	}
	return true
}

// gather sets acc to all ranks' inputs from byte at on, combined.
func (w *worker) gather(acc []byte, work int, at int64) {
	f := &w.fold
	upto := at + int64(len(acc))
	sum := w.spans.in(work, 0)[at:upto]
	if f.scales {
		f.load(acc, sum)
		sum = acc
	}
	for r := 1; r < w.layout.NRanks; r++ {
		f.merge(acc, sum, f.own(w.spans.in(work, r)[at:upto]))
		sum = acc
	}
	f.finish(acc)
}

// runOneShot has every rank reduce the whole part for itself.
func (w *worker) runOneShot(work int, part *allreduce.Part) bool {
	es := int64(w.work.DType.Size())
	out := w.spans.out(work, w.rank)
	from, to := part.Offset*es, (part.Offset+part.Count)*es
	if !w.mayGoOn(0) {
		return false
	}
	for at := from; at < to; at += int64(len(w.wide)) {
		upto := min(at+int64(len(w.wide)), to)
		acc := w.wide[:upto-at]
		w.gather(acc, work, at)
		if w.spans.shared[work] && !w.meet() {
			return false
		}
		if !w.drops() {
			copy(out[at:upto], acc)
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
