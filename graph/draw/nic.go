package draw

import (
	"math"

	"github.com/ringtopo/ringtopo/graph"
)

// nicSlot is a NIC's place in its column.
type nicSlot struct {
	leaf   *leaf
	column *column
	row    int
	indent float64 // from the column's left edge
	port   port    // in the gutter right of the column
}

// indentNICs leaves room for the PCI links that lead down on the left: those of
// the GPU and of the NICs below.
func (l *layout) indentNICs(c *column, riders riderWidths) {
	indent := 0.
	if c.gpu != nil {
		indent = 2*l.m.pciInset + riders.on(c.gpu)
	}
	for k := len(c.nics) - 1; k >= 0; k-- {
		c.nics[k].indent = indent
		indent += 2*l.m.pciInset + riders.on(c.nics[k].leaf)
	}
}

// nicColumnWidth is what the NICs of a column need.
func (l *layout) nicColumnWidth(c *column, riders riderWidths) float64 {
	l.indentNICs(c, riders)
	w := 0.
	for _, slot := range c.nics {
		w = max(w, slot.indent+l.nicTextWidth(slot.leaf.node), slot.indent+l.pciLabelWidth(slot.leaf, riders))
	}
	return w
}

func (l *layout) nicTextWidth(nic *graph.Node) float64 {
	w := 0.
	for _, t := range l.nicLines(nic) {
		w = max(w, boldWidth(t.text, t.size))
	}
	return w + 2*textMargin
}

func (l *layout) nicArea(s *nicSlot) rect {
	y := l.y.nic + float64(s.row)*(l.m.nicH+l.m.nicGap)
	return rect{s.column.left + s.indent, y, s.column.inner - s.indent, l.m.nicH}
}

// nicRows is how many NICs stand above each other at most.
func (l *layout) nicRows() int {
	rows := 0
	for _, p := range l.hosts {
		for _, c := range p.columns {
			rows = max(rows, len(c.nics))
		}
	}
	return rows
}

// gutterWidth is what the wires from a column's NICs take.
func (c *column) gutterWidth() float64 {
	w := 0.
	for _, slot := range c.nics {
		w += slot.port.width()
	}
	return w
}

// assignGutter gives those wires their slots, from the lowest NIC's on.
func (c *column) assignGutter(left float64) {
	for k := len(c.nics) - 1; k >= 0; k-- {
		c.nics[k].port.assign(left)
		left = c.nics[k].port.right()
	}
}

// netBW is what a card's network devices carry together, GB/s.
func netBW(nic *graph.Node) float32 {
	var bw float32
	for _, n := range netsOf(nic) {
		bw += n.Net.BW
	}
	return bw
}

// addNetRoads gives every NIC with a network device its way to the network.
func (p *hostPlan) addNetRoads() {
	for _, slot := range p.nics {
		if bw := netBW(slot.leaf.node); bw > 0 {
			slot.port.straight = bandwidthWidth(bw)
		}
	}
}

// emitNetRoad draws a NIC's way to the network.
func (l *layout) emitNetRoad(p *hostPlan, s *nicSlot) {
	x := s.port.middle
	y := l.netExit(s, x)
	l.add(wire{
		from: p.id(s.leaf.node), to: "network", color: l.linkInk(), width: s.port.straight, dash: solid,
		parts: l.tunnel(p, []point{{l.nicArea(s).right(), y}, {x, y}, {x, l.y.net}}),
		tip:   p.host.Name + " " + s.leaf.node.String() + ": " + gbit(netBW(s.leaf.node)),
	})
}

// Where wires leave a NIC's right edge.
const (
	exitMargin = 4.  // from its corners
	exitShare  = 0.4 // height over the width of the slots: 2.4 for a rider
)

// heightenNICs makes the NICs so high that no two wires leave one over each
// other.
func (l *layout) heightenNICs() {
	for _, p := range l.hosts {
		for _, slot := range p.nics {
			l.m.nicH = max(l.m.nicH, math.Ceil(2*exitMargin+exitShare*slot.port.width()))
		}
	}
}

// netExit is the height at which the wire in a slot of the gutter leaves the
// NIC: the further right the slot, the higher, so that none cross.
func (l *layout) netExit(s *nicSlot, x float64) float64 {
	area := l.nicArea(s)
	share := (x - s.port.left) / math.Max(s.port.width(), 1)
	return area.bottom() - exitMargin - share*(area.h-2*exitMargin)
}
