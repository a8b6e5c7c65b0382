package draw

import (
	"math"

	"github.com/ringtopo/ringtopo/graph"
)

// metrics are the sizes that all hosts of a picture share.
type metrics struct {
	compact   bool    // many columns: small boxes, what is alike is said once
	stacked   bool    // link labels take two lines
	gpuH      float64 // heights
	nicH      float64
	nicGap    float64 // between NICs above each other
	pciInset  float64 // from a box's left edge to its PCI link
	socketPad float64 // between a socket's frame and its columns
	hostPad   float64 // between a host's frame and its sockets
	hostGap   float64 // between hosts
	gap       float64 // between columns without wires there
	minColumn float64
}

const (
	climbPitch = 6.  // between riders on a PCI link
	textMargin = 4.  // beside a text
	socketGap  = 10. // between sockets
	pageMargin = 14.
)

// manyColumns is where a picture gets compact.
const manyColumns = 20

func metricsFor(columns int, hasNet bool) metrics {
	if columns > manyColumns {
		return metrics{
			compact: true, stacked: hasNet, gpuH: 36, nicH: 20, nicGap: 6, pciInset: 5, socketPad: 6,
			hostPad: 8, hostGap: 16, gap: 6, minColumn: 36,
		}
	}
	return metrics{
		stacked: hasNet, gpuH: 40, nicH: 34, nicGap: 16, pciInset: 8, socketPad: 8,
		hostPad: 12, hostGap: 26, gap: 8, minColumn: 60,
	}
}

// measure finds the columns' sizes: no text may run into a wire.
func (l *layout) measure() {
	text := 0.
	for _, p := range l.hosts {
		for _, b := range append(p.direct, p.switched...) {
			text = max(text, b.textWidth()+textMargin)
		}
		p.directH, p.switchH = pack(p.direct), pack(p.switched)
	}
	for _, b := range l.network {
		text = max(text, b.textWidth()+textMargin)
	}
	l.networkH = pack(l.network)
	l.heightenNICs()
	for _, p := range l.hosts {
		// Columns are alike, but for those that riders make wider.
		common := l.m.minColumn
		for _, c := range p.columns {
			c.gutter = c.gutterWidth() + l.m.gap
			common = max(common, l.columnWidth(p, c, text, nil, nil))
		}
		for _, c := range p.columns {
			c.inner = math.Ceil(max(common, l.columnWidth(p, c, text, p.climbing, p.rising)))
		}
		for _, root := range p.roots {
			root.walk(func(br *branch) { l.widenFor(p, br) })
		}
	}
}

// riderWidths are the riders beside a link that leads up, by the device below.
type riderWidths map[*graph.Node][]rider

// on is what those of a device take.
func (r riderWidths) on(l *leaf) float64 { return climbPitch * float64(len(r[l.node])) }

// columnWidth is what a column needs for its boxes and for the text in the
// lanes below it.
func (l *layout) columnWidth(p *hostPlan, c *column, text float64, riders, rising riderWidths) float64 {
	wires := c.port.width()
	w := max(l.gpuTextWidth(p, c), l.nicColumnWidth(c, riders), wires+2*textMargin)
	if c.gpu != nil {
		w = max(w, l.pciLabelWidth(c.gpu, riders))
	}
	if c.upward != nil {
		w = max(w, l.upwardWidth(c)+riders.on(c.gpu)+rising.on(c.gpu))
	}
	// A lane's text stands right of the GPU's wires, before the gutter if wires
	// run there, else up to the next GPU's wires.
	switch beside := max(text, l.besideGPU(p, c)); {
	case beside == 0:
	case l.hasNet:
		w = max(w, wires+2*beside)
	default:
		w = max(w, wires+beside-c.gutter)
	}
	return w
}

// pciLabelWidth is what a device's PCI link, its riders and its label need from
// the left edge of the device's box.
func (l *layout) pciLabelWidth(leaf *leaf, riders riderWidths) float64 {
	if leaf.up == nil {
		return 0
	}
	wires := l.m.pciInset + max(riders.on(leaf), maxWidth/2) + textMargin
	if leaf.up.BW >= virtualBW || l.m.compact { // no label
		return wires
	}
	return wires + textWidth(gbps(leaf.up.BW), linkSize) - l.m.gap/2
}

// widenFor makes a switch's first column wide enough for the switch's own link
// and its label, if they must fit in there.
func (l *layout) widenFor(p *hostPlan, br *branch) {
	first := p.columns[br.first]
	if br.level > 0 {
		first.inner = max(first.inner, p.peersWidth(br.node)+2*peerPitch)
	}
	if br.level == 0 || first.upward == nil && br.first != br.last {
		return
	}
	need := l.m.pciInset + uplinkWidth(br, len(p.climbing[br.node]))
	if first.upward != nil {
		need += maxWidth + l.m.pciInset + p.rising.on(first.gpu)
	}
	first.inner = max(first.inner, math.Ceil(need))
}

// uplinkWidth is what a switch's link takes to the right of its middle.
func uplinkWidth(br *branch, riders int) float64 {
	return max(climbPitch*float64(riders), maxWidth/2) + textWidth(gbps(br.up.BW), linkSize) + 2*textMargin
}

// besideGPU is the room for the label of a GPU's link to the NVSwitch.
func (l *layout) besideGPU(p *hostPlan, c *column) float64 {
	if c.gpu == nil || l.nvsInBar(p) {
		return 0
	}
	if r := p.nvsRoad(c); r != nil {
		return max(textWidth(r.labels[0], linkSize), textWidth(r.labels[1], linkSize)) + 2*textMargin
	}
	return 0
}

// nvsRoad is a GPU's link to the NVSwitch, nil without one.
func (p *hostPlan) nvsRoad(c *column) *road {
	if c.gpu == nil || p.nvs == nil {
		return nil
	}
	return newRoad(c.gpu.node, p.nvs, true)
}

// nvsInBar tells whether the NVSwitch's own text says what its links are: in
// busy pictures, if all are alike.
func (l *layout) nvsInBar(p *hostPlan) bool {
	return p.nvs != nil && (l.m.compact || len(l.overlays) > 0) && p.uniformNVS() != nil
}

// upwardWidth is what a GPU needs for its PCI link and its link to the CPU side
// by side, with their labels between them.
func (l *layout) upwardWidth(c *column) float64 {
	labels := textWidth(gbps(c.upward.BW), linkSize)
	if c.gpu.up != nil {
		labels += textWidth(gbps(c.gpu.up.BW), linkSize)
	}
	return 2*l.m.pciInset + maxWidth + labels + 4*textMargin
}

func (l *layout) gpuTextWidth(p *hostPlan, c *column) float64 {
	if c.gpu == nil {
		return 0
	}
	w := 0.
	for _, t := range l.gpuLines(p, c) {
		w = max(w, boldWidth(t.text, t.size))
	}
	return w + 2*textMargin
}

// cpuTextWidth is what a CPU's own text needs.
func cpuTextWidth(n *graph.Node) float64 {
	w := 0.
	for _, t := range cpuLines(n) {
		w = max(w, boldWidth(t.text, t.size))
	}
	return w + 2*textMargin
}
