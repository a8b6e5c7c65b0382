package verify

import (
	"iter"
	"sort"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// place is a stretch of a work whose elements are combined in the same order.
type place struct {
	first, count int64 // elements
	channel      int
	loop         int
	chunk        int
	owner        int // user rank that finishes it
}

// places lists the stretches of a work between two elements.
func (c *Case) places(from, to int64) iter.Seq[place] {
	return func(yield func(place) bool) {
		parts := c.work.Parts
		i := sort.Search(len(parts), func(i int) bool { return parts[i].Offset+parts[i].Count > from })
		for ; i < len(parts) && from < to; i++ {
			end := min(to, parts[i].Offset+parts[i].Count)
			for from < end {
				p := c.placeOf(&parts[i], from)
				p.count = min(p.first+p.count, end) - from
				p.first = from
				if !yield(p) {
					return
				}
				from += p.count
			}
		}
	}
}

// placeOf is the whole stretch that an element of a part is in.
func (c *Case) placeOf(part *allreduce.Part, element int64) place {
	n, t := c.plan.Layout.NRanks, c.work.DType
	p := place{channel: part.Channel}
	switch {
	case n == 1 || c.work.Algo == allreduce.OneShot:
		p.first, p.count = part.Offset, part.Count
	case c.work.Algo == allreduce.Tree:
		k := int64(part.ChunkBytes / t.Size())
		p.loop = int((element - part.Offset) / k)
		p.first, p.count = part.Offset+int64(p.loop)*k, k
		p.owner = c.roots[part.Channel]
	case c.work.Algo == allreduce.TwoShot:
		loop := schedule.ShareLoop(part, t, n)
		p.chunk = int((element - part.Offset) / loop.Chunk)
		p.owner = p.chunk
		p.first, p.count = loop.At(schedule.Chunk(p.chunk))
	default:
		loop, chunk := schedule.Find(part, t, n, element)
		p.loop, p.chunk = loop, int(chunk)
		p.owner = c.plan.Layout.Rings[part.Channel][chunk]
		p.first, p.count = schedule.LoopAt(part, t, n, loop).At(chunk)
	}
	return p
}

// place finds the stretch of one element.
func (c *Case) place(element int64) place {
	for p := range c.places(element, element+1) {
		return p
	}
	return place{owner: -1, channel: -1}
}
