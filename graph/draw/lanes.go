package draw

import (
	"fmt"
	"slices"
)

// label makes the lines of a wire's label.
func label(color string, size float64, texts ...string) []line {
	lines := make([]line, len(texts))
	for i, t := range texts {
		lines[i] = line{text: t, size: size, color: color}
	}
	return lines
}

// emitBundle draws what runs between two GPUs: down, along a lane, and up.
func (l *layout) emitBundle(p *hostPlan, b *bundle) {
	a, z := p.columns[b.a.column()-p.first], p.columns[b.b.column()-p.first]
	from, to := p.id(a.gpu.node), p.id(z.gpu.node)
	edge := l.y.gpu + l.m.gpuH
	text := l.textPlace(p, b)
	if r := b.road; r != nil {
		y := b.roadY()
		l.add(wire{
			from: from, to: to, color: l.linkInk(), width: r.width, dash: solid, tip: r.tip,
			parts: [][]point{hook(b.a.roadX(b), b.b.roadX(b), edge, y)},
			label: label(ink, linkSize, r.labels...),
			at:    point{text, y - r.width/2 - labelLine*float64(len(r.labels))/2 - 1},
		})
	}
	for i, r := range b.riders {
		y := b.riderY(i)
		pts := hook(b.a.riderX(b, i), b.b.riderX(b, i), edge, y)
		l.addRider(r, from, to, [][]point{pts}, point{text, y - riderLane/2})
	}
}

// hook leads down from an edge, along a lane and up again.
func hook(x1, x2, edge, lane float64) []point {
	return []point{{x1, edge}, {x1, lane}, {x2, lane}, {x2, edge}}
}

func reversed(pts []point) []point {
	out := make([]point, len(pts))
	for i, p := range pts {
		out[len(pts)-1-i] = p
	}
	return out
}

// backwards turns a wire of several parts around.
func backwards(parts [][]point) [][]point {
	out := make([][]point, len(parts))
	for i, p := range parts {
		out[len(parts)-1-i] = reversed(p)
	}
	return out
}

// textPlace is where the text of a bundle stands: free of the wires that lead
// down beside it, near the bundle's middle.
func (l *layout) textPlace(p *hostPlan, b *bundle) float64 {
	k := (b.a.column()+b.b.column()-1)/2 - p.first
	c := p.columns[k]
	end := c.right()
	if !l.hasNet {
		end = p.columns[k+1].port.left
	}
	return (c.port.right() + end) / 2
}

// addRider draws one line of a ring; its parts lead from a to b.
func (l *layout) addRider(r rider, from, to string, parts [][]point, text point) {
	o := &l.overlays[r.overlay]
	look := o.look(r.overlay)
	w := wire{
		from: from, to: to, parts: parts, color: look.color, dash: look.dash,
		width: riderWidth, arrow: true, tip: o.Title + ": " + r.tip,
	}
	if !r.forward {
		w.from, w.to, w.parts = to, from, backwards(parts)
	}
	if text != (point{}) {
		w.label, w.at = label(look.color, riderSize, r.text), text
	}
	l.add(w)
}

// emitCrossing draws a hop between two hosts through the network.
func (l *layout) emitCrossing(b *bundle) {
	for i, r := range b.riders {
		y := b.riderY(i)
		from, down := l.wayDown(b, b.a, i, y)
		to, up := l.wayDown(b, b.b, i, y)
		text := point{l.crossingText(b), y - riderLane/2}
		l.addRider(r, from, to, l.joinAcross(down, up), text)
	}
}

// wayDown leads from what a port belongs to, a NIC or where there is none a
// GPU, down to a lane of the network.
func (l *layout) wayDown(b *bundle, port *port, i int, y float64) (id string, parts [][]point) {
	p, c := l.columnAt(port.column())
	x := port.riderX(b, i)
	if port.isGPUs() {
		return p.id(c.gpu.node), l.tunnel(p, []point{{x, l.gpuArea(c).bottom()}, {x, y}})
	}
	slot := c.nics[slices.IndexFunc(c.nics, func(s *nicSlot) bool { return &s.port == port })]
	exit := l.netExit(slot, x)
	return p.id(slot.leaf.node), l.tunnel(p, []point{{l.nicArea(slot).right(), exit}, {x, exit}, {x, y}})
}

// columnAt finds a column of the picture and its host.
func (l *layout) columnAt(number int) (*hostPlan, *column) {
	for _, p := range l.hosts {
		if i := number - p.first; i < len(p.columns) {
			return p, p.columns[i]
		}
	}
	panic(fmt.Sprintf("draw: no column %d", number))
}

// crossingText is where a crossing's text stands: in the column half way, where
// no wire leads down, between those of its GPU and those of its NICs. A wire
// from a NIC begins right of its own column's text.
func (l *layout) crossingText(b *bundle) float64 {
	sum := b.a.column() + b.b.column()
	if !b.a.isGPUs() {
		sum++
	}
	_, c := l.columnAt(sum / 2)
	return (c.port.right() + c.right()) / 2
}

// joinAcross joins two ways down to a lane into one way down, along and up.
func (l *layout) joinAcross(down, up [][]point) [][]point {
	up = backwards(up)
	last := len(down) - 1
	along := append(down[last][:len(down[last]):len(down[last])], up[0]...)
	return append(append(down[:last:last], along), up[1:]...)
}

// tunnel cuts a wire that ends straight down in two where the host's NVSwitch
// lies over it.
func (l *layout) tunnel(p *hostPlan, pts []point) [][]point {
	last := len(pts) - 1
	x := pts[last].x
	if p.nvs == nil || x > l.nvsArea(p).right() {
		return [][]point{pts}
	}
	above := append(pts[:last:last], point{x, l.y.nvs})
	return [][]point{above, {{x, l.y.nvs + l.y.nvsH}, pts[last]}}
}
