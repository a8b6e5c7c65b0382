package draw

import (
	"cmp"
	"slices"
)

// port is a place that wires leave downwards: the lower edge of a GPU or the
// gutter beside a NIC. Wires to the left use its left part and wires to the
// right its right part, the highest lane outermost, so that none cross here.
type port struct {
	order    int // among all ports of the picture, left to right
	left     float64
	bundles  []*bundle
	straight float64 // width of the road straight down, 0 without one
	middle   float64 // of that road
	slots    map[*bundle]float64
}

// join ties a bundle to its two ports, the left one first.
func join(b *bundle) {
	if b.a.order > b.b.order {
		b.a, b.b = b.b, b.a
		for i := range b.riders {
			b.riders[i].forward = !b.riders[i].forward
		}
	}
	b.a.bundles = append(b.a.bundles, b)
	b.b.bundles = append(b.b.bundles, b)
}

// portsPerColumn is the distance between the orders of two GPUs' ports: those of
// the NICs between them follow the GPU's.
const portsPerColumn = maxStack + 1

// column is the number of the port's column in the picture.
func (p *port) column() int { return p.order / portsPerColumn }

// isGPUs tells a GPU's port from a NIC's.
func (p *port) isGPUs() bool { return p.order%portsPerColumn == 0 }

// width is what all wires of the port take.
func (p *port) width() float64 {
	w := 0.
	for _, b := range p.bundles {
		w += b.slot()
	}
	if p.straight > 0 {
		w += p.straight + 2*roadMargin
	}
	return w
}

func (p *port) right() float64 { return p.left + p.width() }

// assign gives each bundle its slot, once the lanes have their places.
func (p *port) assign(left float64) {
	p.left, p.slots = left, map[*bundle]float64{}
	var toLeft, toRight []*bundle
	for _, b := range p.bundles {
		if b.b == p {
			toLeft = append(toLeft, b)
		} else {
			toRight = append(toRight, b)
		}
	}
	slices.SortStableFunc(toLeft, func(x, y *bundle) int { return cmp.Compare(x.top, y.top) })
	slices.SortStableFunc(toRight, func(x, y *bundle) int { return cmp.Compare(y.top, x.top) })
	x := left
	for _, b := range toLeft {
		p.slots[b] = x
		x += b.slot()
	}
	if p.straight > 0 {
		p.middle = x + roadMargin + p.straight/2
		x += p.straight + 2*roadMargin
	}
	for _, b := range toRight {
		p.slots[b] = x
		x += b.slot()
	}
}

// roadX is where the bundle's road meets the port; its riders lie further in:
// the road has the highest line of the bundle, so it stands outermost.
func (p *port) roadX(b *bundle) float64 {
	half := roadMargin + b.road.width/2
	if b.b == p {
		return p.slots[b] + half
	}
	return p.slots[b] + b.slot() - half
}

func (p *port) riderX(b *bundle, i int) float64 {
	offset := riderSlot * (float64(i) + 0.5)
	if b.road != nil {
		offset += b.road.width + 2*roadMargin
	}
	if b.b == p {
		return p.slots[b] + offset
	}
	return p.slots[b] + b.slot() - offset
}
