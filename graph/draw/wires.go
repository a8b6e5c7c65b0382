package draw

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// linkInk is the colour of the machine's own links.
func (l *layout) linkInk() string {
	if len(l.overlays) > 0 {
		return linkPale
	}
	return linkColor
}

func (l *layout) add(w wire) { l.pic.wires = append(l.pic.wires, w) }

// emitBus draws the links between a host's CPUs as one line above them.
func (l *layout) emitBus(p *hostPlan) {
	cpus := p.cpus()
	for i := 1; i < len(cpus); i++ {
		a, b := cpus[i-1], cpus[i]
		link := linkTo(a.node, b.node, graph.LinkSYS)
		if link == nil {
			continue // CPUs of two hosts in one graph
		}
		from, to := a.area.center().x, b.area.center().x
		w := wire{
			from: p.id(a.node), to: p.id(b.node), color: l.linkInk(), width: bandwidthWidth(link.BW), dash: dashed,
			parts: [][]point{{{from, a.area.y}, {from, l.y.bus}, {to, l.y.bus}, {to, b.area.y}}},
			tip:   fmt.Sprintf("%s %s: %s", a.node, b.node, gbps(link.BW)),
		}
		if i == 1 {
			text := "SYS " + gbps(link.BW)
			if len(cpus) > 2 {
				text += ", each pair"
			}
			w.label = label(ink, linkSize, text)
			w.at = point{max((from+to)/2, from+textWidth(text, linkSize)/2+textMargin), l.y.bus - w.width/2 - labelLine/2 - 1}
		}
		l.add(w)
	}
	l.emitBusRiders(p)
}

// emitTreeLinks draws the links from a branch down to its branches and leaves.
func (l *layout) emitTreeLinks(p *hostPlan, br *branch) {
	for _, sub := range br.branches {
		riders := p.climbing[sub.node]
		at := point{l.uplinkX(p, sub, len(riders)), sub.area.y}
		l.emitClimb(p, br, sub.node, sub.up, at, riders)
	}
	for i := range br.leaves {
		leaf := &br.leaves[i]
		if leaf.up == nil {
			continue
		}
		var at point
		if leaf.node.Type == graph.NIC {
			area := l.nicArea(p.nics[leaf.node])
			at = point{area.x + l.m.pciInset, area.y}
		} else {
			at = point{p.gpus[leaf.node].left + l.m.pciInset, l.y.gpu}
		}
		l.emitClimb(p, br, leaf.node, leaf.up, at, p.climbing[leaf.node])
	}
}

// uplinkX is where a switch's own link leaves it: in the middle, if that leaves
// room for the link's label, and at the left where other wires lead up on the
// right side of its columns.
func (l *layout) uplinkX(p *hostPlan, br *branch, riders int) float64 {
	left := br.area.x + l.m.pciInset
	if slices.ContainsFunc(p.columns[br.first:br.last+1], func(c *column) bool { return c.upward != nil }) {
		return left
	}
	return max(left, min(br.area.center().x-climbPitch*float64(riders)/2, br.area.right()-uplinkWidth(br, riders)))
}

// virtualBW is what a link is worth at least that is no real one, such as that
// of a network without a PCI card.
const virtualBW = 1000

// emitClimb draws the PCI link above a node, straight up, and its riders to
// the right of it.
func (l *layout) emitClimb(p *hostPlan, parent *branch, child *graph.Node, link *graph.Link, at point, riders []rider) {
	top := parent.area.bottom()
	w := wire{
		from: p.id(parent.node), to: p.id(child), color: l.linkInk(), width: bandwidthWidth(link.BW), dash: solid,
		parts: [][]point{{{at.x, top}, at}}, tip: fmt.Sprintf("%s %s: PCI %s", parent.node, child, gbps(link.BW)),
	}
	if link.BW >= virtualBW {
		w.width, w.dash, l.virtual = minWidth, dotted, true
	}
	if text := gbps(link.BW); !l.m.compact && link.BW < virtualBW {
		w.label = label(softInk, linkSize, text)
		x := at.x + max(climbPitch*float64(len(riders)), w.width/2) + textMargin
		w.at = point{x + textWidth(text, linkSize)/2, at.y - 9}
	}
	l.add(w)
	for i, r := range riders {
		x := at.x + climbPitch*float64(i+1)
		l.addRider(r, p.id(child), p.id(parent.node), [][]point{{{x, at.y}, {x, top}}}, point{})
	}
}

// emitColumnLinks draws what leads from a GPU up to its CPU besides PCI, and
// down to the NVSwitch, and from a NIC to the network.
func (l *layout) emitColumnLinks(p *hostPlan, c *column) {
	for _, slot := range c.nics {
		if slot.port.straight > 0 {
			l.emitNetRoad(p, slot)
		}
	}
	if c.upward != nil {
		l.emitUpward(p, c)
	}
	if r := p.nvsRoad(c); r != nil {
		x := c.port.middle
		w := wire{
			from: p.id(c.gpu.node), to: p.id(p.nvs), color: l.linkInk(), width: r.width, dash: solid, tip: r.tip,
			parts: [][]point{{{x, l.gpuArea(c).bottom()}, {x, l.y.nvs}}},
		}
		if !l.nvsInBar(p) {
			l.labelTwice(w, r.labels, c.port.right(), l.y.nvs-labelLine-4)
			return
		}
		l.add(w)
	}
}

// labelTwice adds a wire with a label of two lines, right of x, around y.
func (l *layout) labelTwice(w wire, labels []string, x, y float64) {
	width := max(textWidth(labels[0], linkSize), textWidth(labels[1], linkSize))
	w.label = label(ink, linkSize, labels...)
	w.at = point{x + textMargin + width/2, y}
	l.add(w)
}

func (l *layout) emitUpward(p *hostPlan, c *column) {
	area, riders := l.gpuArea(c), p.rising[c.gpu.node]
	x := area.right() - l.m.pciInset - p.rising.on(c.gpu)
	l.add(wire{
		from: p.id(c.gpu.node), to: p.id(c.upward.To), color: l.linkInk(), width: bandwidthWidth(c.upward.BW), dash: solid,
		parts: p.behindSwitches(c, x, area.y, l.y.cpu+cpuH),
		label: label(ink, linkSize, linkKind(c.upward), gbps(c.upward.BW)),
		at:    point{x - bandwidthWidth(c.upward.BW)/2 - textMargin - textWidth(gbps(c.upward.BW), linkSize)/2, area.y - 14},
		tip:   fmt.Sprintf("%s %s: %s", c.gpu.node, c.upward.To, gbps(c.upward.BW)),
	})
	for i, r := range riders {
		parts := p.behindSwitches(c, x+climbPitch*float64(i+1), area.y, l.y.cpu+cpuH)
		l.addRider(r, p.id(c.gpu.node), p.id(c.upward.To), parts, point{})
	}
}

// behindSwitches leads straight up to y, behind the PCI switches above a column.
func (p *hostPlan) behindSwitches(c *column, x, from, to float64) [][]point {
	var above []rect // from the top down
	number := c.port.column() - p.first
	p.roots[c.socket].walk(func(br *branch) {
		if br.level > 0 && br.first <= number && number <= br.last {
			above = append(above, br.area)
		}
	})
	var parts [][]point
	for _, area := range slices.Backward(above) {
		parts = append(parts, []point{{x, from}, {x, area.bottom()}})
		from = area.y
	}
	return append(parts, []point{{x, from}, {x, to}})
}
