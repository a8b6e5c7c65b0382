package draw

import (
	"fmt"
	"math"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// linkKind names a link the way its users do: NV2 is two NVLinks, C2C a link
// between the chips of one module.
func linkKind(l *graph.Link) string {
	switch l.Type {
	case graph.LinkPCI, graph.LinkSYS, graph.LinkNET, graph.LinkLOC:
		return l.Type.String()
	}
	if cpu := l.To; cpu.Type == graph.CPU && cpu.CPU.Arch != topo.ArchPOWER {
		return "C2C"
	}
	gpu := l.From
	if gpu.Type != graph.GPU {
		gpu = l.To
	}
	if gpu.Type != graph.GPU {
		return "NVL"
	}
	return fmt.Sprintf("NV%.0f", math.Round(float64(l.BW/graph.NVLinkBW(gpu.GPU.SM))))
}

// linkTo is a node's fastest link of one type to another node, nil without one.
func linkTo(from, to *graph.Node, t graph.LinkType) *graph.Link {
	i := slices.IndexFunc(from.Links, func(l *graph.Link) bool { return l.To == to && l.Type == t })
	if i < 0 {
		return nil
	}
	return from.Links[i]
}

// newRoad draws the NVLinks between a and b, nil where there are none. Stacked
// labels are narrow, others flat.
func newRoad(a, b *graph.Node, stacked bool) *road {
	there, back := linkTo(a, b, graph.LinkNVL), linkTo(b, a, graph.LinkNVL)
	if there == nil && back == nil {
		return nil
	}
	r := &road{oneWay: there == nil || back == nil, forward: there != nil}
	l := there
	if l == nil || back != nil && back.BW > l.BW {
		l = back
	}
	kind, speed := linkKind(l), gbps(l.BW)
	r.width = bandwidthWidth(l.BW)
	switch {
	case r.oneWay:
		speed += " one way"
	case there.BW != back.BW:
		speed = gbps(there.BW) + " there, " + gbps(back.BW) + " back"
	}
	r.labels = []string{kind + " " + speed}
	if stacked {
		r.labels = []string{kind, speed}
	}
	r.tip = fmt.Sprintf("%s %s: %s each way", l.From, l.To, speed)
	return r
}
