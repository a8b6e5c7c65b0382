package draw

import (
	"math"

	"github.com/ringtopo/ringtopo/graph"
)

// metrics are the sizes that all hosts of a picture share.
type metrics struct {
	compact   bool    // many GPUs: small boxes, what is alike is said once
	stacked   bool    // link labels take two lines
	gpuH      float64 // heights
	nicH      float64
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

// manyGPUs is where a picture gets compact.
const manyGPUs = 20

func metricsFor(gpus int, hasNet bool) metrics {
	if gpus > manyGPUs {
		return metrics{
			compact: true, stacked: hasNet, gpuH: 36, nicH: 20, pciInset: 5, socketPad: 6,
			hostPad: 8, hostGap: 16, gap: 6, minColumn: 36,
		}
	}
	return metrics{
		stacked: hasNet, gpuH: 40, nicH: 34, pciInset: 8, socketPad: 8,
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
	for _, p := range l.hosts {
		common := l.m.minColumn
		for _, c := range p.columns {
			if c.gpu != nil {
				c.climbs = len(p.climbing[c.gpu.node])
			}
			c.gutter = c.nicPort.width() + l.m.gap
			common = max(common, l.columnWidth(p, c, text, 0))
		}
		for _, c := range p.columns {
			c.inner = math.Ceil(max(common, l.columnWidth(p, c, text, c.climbs)))
		}
	}
}

// columnWidth is what a column needs for its boxes and for the text in the
// lanes below it, with a number of riders on its GPU's PCI link.
func (l *layout) columnWidth(p *hostPlan, c *column, text float64, climbs int) float64 {
	wires := c.gpuPort.width()
	// A lane's text stands right of the GPU's wires, before the gutter if wires
	// run there, else up to the next GPU's wires.
	beside := max(text, l.besideGPU(p, c))
	below := wires + 2*beside
	if !l.hasNet {
		below = wires + beside - c.gutter
	}
	w := max(l.gpuTextWidth(p, c), l.nicTextWidth(c)+2*l.m.pciInset+climbPitch*float64(climbs))
	if beside > 0 {
		w = max(w, below)
	}
	return max(w, wires+2*textMargin)
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

func (l *layout) gpuTextWidth(p *hostPlan, c *column) float64 {
	if c.gpu == nil {
		return 0
	}
	w := 0.
	for _, t := range l.gpuLines(p, c) {
		w = max(w, boldWidth(t.text, t.size))
	}
	if c.upward != nil { // the PCI link's label and the other's side by side above it
		w = max(w, 2*l.m.pciInset+textWidth(gbps(c.gpu.up.BW), linkSize)+textWidth(gbps(c.upward.BW), linkSize)+6*textMargin)
	}
	return w + 2*textMargin
}

// nicTextWidth is the width of a NIC's box, 0 without a NIC.
func (l *layout) nicTextWidth(c *column) float64 {
	if c.nic == nil {
		return 0
	}
	w := 0.
	for _, t := range l.nicLines(c.nic.node) {
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
