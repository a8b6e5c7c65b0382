package draw

import (
	"cmp"
	"slices"
)

// road is a link as it is drawn: one line for both directions.
type road struct {
	labels []string
	width  float64
	tip    string
}

// rider is one hop of a ring on its way from one port to another.
type rider struct {
	overlay int
	forward bool   // from a to b
	text    string // at its line
	tip     string
}

// bundle is what runs from one port to another in one lane: at most one road,
// and the riders beside it. a is left of b.
type bundle struct {
	a, b   *port
	road   *road
	riders []rider
	lane   int
	top    float64 // of its lane
}

// Sizes inside a lane.
const (
	labelLine  = 10. // height of one line of a road's label
	riderLane  = 11. // height of a rider with its text
	riderSlot  = 6.  // width of a rider at a port
	roadMargin = 2.  // free on both sides of a road
	laneGap    = 3.
)

func (b *bundle) height() float64 {
	h := riderLane*float64(len(b.riders)) + laneGap
	if b.road != nil {
		h += labelLine*float64(len(b.road.labels)) + b.road.width + 2*roadMargin
	}
	return h
}

// slot is the width that the bundle takes at a port.
func (b *bundle) slot() float64 {
	w := riderSlot * float64(len(b.riders))
	if b.road != nil {
		w += b.road.width + 2*roadMargin
	}
	return w
}

func (b *bundle) roadY() float64 {
	return b.top + labelLine*float64(len(b.road.labels)) + roadMargin + b.road.width/2
}

func (b *bundle) riderY(i int) float64 {
	y := b.top + riderLane*float64(i+1)
	if b.road != nil {
		y = b.roadY() + b.road.width/2 + roadMargin + riderLane*float64(i+1)
	}
	return y
}

// pack puts bundles into lanes so that those of one lane do not overlap, short
// ones on top, and gives the height of each lane. Bundles may touch: one ends
// left of the port's middle where the next starts right of it.
func pack(bundles []*bundle) []float64 {
	order := slices.Clone(bundles)
	slices.SortStableFunc(order, func(x, y *bundle) int {
		return cmp.Or(cmp.Compare(x.span(), y.span()), cmp.Compare(x.a.order, y.a.order))
	})
	var heights []float64
	var lanes [][]*bundle
	for _, b := range order {
		b.lane = slices.IndexFunc(lanes, func(l []*bundle) bool { return !slices.ContainsFunc(l, b.overlaps) })
		if b.lane < 0 {
			b.lane = len(lanes)
			lanes, heights = append(lanes, nil), append(heights, 0)
		}
		lanes[b.lane] = append(lanes[b.lane], b)
		heights[b.lane] = max(heights[b.lane], b.height())
	}
	return heights
}

func (b *bundle) span() int { return b.b.order - b.a.order }

func (b *bundle) overlaps(c *bundle) bool {
	return b.a.order < c.b.order && c.a.order < b.b.order
}

// settle gives every bundle its place below y and returns where the lanes end.
func settle(bundles []*bundle, heights []float64, y float64) float64 {
	tops := make([]float64, len(heights))
	for i, h := range heights {
		tops[i] = y
		y += h
	}
	for _, b := range bundles {
		b.top = tops[b.lane]
	}
	return y
}

// textWidth is the widest text that must stand beside the bundle's lines.
func (b *bundle) textWidth() float64 {
	var w float64
	if b.road != nil {
		for _, l := range b.road.labels {
			w = max(w, textWidth(l, linkSize))
		}
	}
	for _, r := range b.riders {
		w = max(w, textWidth(r.text, riderSize))
	}
	return w
}
