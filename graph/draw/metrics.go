package draw

import (
	"math"

	"github.com/ringtopo/ringtopo/graph"
)

// metrics are the sizes that all hosts of a picture share.
type metrics struct {
	compact bool    // many GPUs: small boxes, speeds that are all alike said once
	stacked bool    // link labels take two lines
	gpuH    float64 // heights
	nicH    float64
	nicW    float64
	inner   float64 // width of a column
	gutter  float64 // between columns, where wires from NICs run
	climbs  int     // riders on the busiest PCI link of a GPU or NIC
}

const (
	pciInset   = 8.  // from a column's left edge to its PCI link
	climbPitch = 6.  // between riders on a PCI link
	textMargin = 4.  // around a text in a column
	socketPad  = 8.  // between a socket's frame and its columns
	socketGap  = 10. // between sockets
	hostPad    = 12.
	hostGap    = 26.
	pageMargin = 14.
)

// manyGPUs is where a picture gets compact.
const manyGPUs = 20

func metricsFor(gpus, hosts int, hasNet bool) metrics {
	m := metrics{compact: gpus > manyGPUs, stacked: hasNet, gpuH: 40, nicH: 34, nicW: 62}
	if m.compact {
		m.gpuH, m.nicH, m.nicW = 26, 30, 50
	}
	return m
}

// measure finds the common column sizes: no text may run into a wire.
func (l *layout) measure() {
	m := &l.m
	zone, text, side := 0., 0., 0.
	for _, p := range l.hosts {
		for _, riders := range p.climbing {
			m.climbs = max(m.climbs, len(riders))
		}
		for _, c := range p.columns {
			zone = max(zone, c.gpuPort.width())
			m.gutter = max(m.gutter, c.nicPort.width())
			side = max(side, l.besideGPU(p, c))
			m.inner = max(m.inner, l.gpuTextWidth(p, c), l.nicTextWidth(c))
		}
		for _, b := range append(p.direct, p.switched...) {
			text = max(text, b.textWidth())
		}
		p.directH, p.switchH = pack(p.direct), pack(p.switched)
	}
	l.networkH = pack(l.network)
	m.gutter += 8
	// A lane's text stands right of the GPU's wires, before the gutter if wires
	// run there, else up to the next GPU's wires.
	room := 2 * (text + textMargin)
	if !l.hasNet {
		room = text + textMargin - m.gutter
	}
	if text == 0 {
		room = 0
	}
	m.inner = max(m.inner, zone+room, zone+2*side, l.nicLeft()+m.nicW)
	m.inner = math.Ceil(m.inner)
}

// nicLeft is where a NIC's box begins in its column, right of the GPU's link.
func (l *layout) nicLeft() float64 { return 2*pciInset + climbPitch*float64(l.m.climbs) }

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
		w = max(w, pciInset+textWidth(gbps(c.gpu.up.BW), linkSize)+textWidth(gbps(c.upward.BW), linkSize)+6*textMargin)
	}
	return w + 2*textMargin
}

func (l *layout) nicTextWidth(c *column) float64 {
	if c.nic == nil {
		return 0
	}
	w := 0.
	for _, t := range nicLines(c.nic.node) {
		w = max(w, boldWidth(t.text, t.size))
	}
	l.m.nicW = max(l.m.nicW, math.Ceil(w+2*textMargin))
	return 0
}

// socketWidthFor is what a CPU's own text needs.
func cpuTextWidth(n *graph.Node) float64 {
	w := 0.
	for _, t := range cpuLines(n) {
		w = max(w, boldWidth(t.text, t.size))
	}
	return w + 2*textMargin
}
