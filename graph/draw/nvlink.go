package draw

import (
	"fmt"
	"math"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// linkKind names a link the way its users do: NV2 is two NVLinks, C2C a link
// between the chips of one module. One end of every NVLink is a GPU.
func linkKind(l *graph.Link) string {
	switch l.Type {
	case graph.LinkPCI, graph.LinkSYS, graph.LinkNET, graph.LinkLOC:
		return l.Type.String()
	}
	gpu, other := l.From, l.To
	if gpu.Type != graph.GPU {
		gpu, other = other, gpu
	}
	if other.Type == graph.CPU && other.CPU.Arch != topo.ArchPOWER {
		return "C2C"
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
	if there == nil || back == nil { // a graph has both or none
		return nil
	}
	kind, speed := linkKind(there), gbps(there.BW)
	if there.BW != back.BW {
		speed += " right, " + gbps(back.BW) + " left"
	}
	r := &road{
		labels: []string{kind + " " + speed}, width: bandwidthWidth(max(there.BW, back.BW)),
		tip: fmt.Sprintf("%s %s: %s each way", a, b, speed),
	}
	if stacked {
		r.labels = []string{kind, speed}
	}
	return r
}
