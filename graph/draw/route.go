package draw

import (
	"fmt"

	"github.com/ringtopo/ringtopo/graph"
)

// step is a part of a hop that is drawn as one line.
type step struct {
	kind     stepKind
	from, to *graph.Node
	text     string // beside the ring's name
	tip      string
}

type stepKind uint8

const (
	direct   stepKind = iota // over NVLink between two GPUs
	switched                 // through the NVSwitch between two GPUs
	indirect                 // between two GPUs by way of PCI or CPUs
	climb                    // along one link of the PCI tree
	rise                     // between a GPU and its CPU, besides PCI
	across                   // between two CPUs
	joint                    // between two PCI switches that the board joins
)

// stepsBetweenGPUs follows the path between two GPUs of one host.
func stepsBetweenGPUs(g *graph.Graph, from, to *graph.Node) []step {
	path, _ := g.Path(from, to)
	switch {
	case path.Hops() == 0: // whatever its type says
		return []step{{kind: indirect, from: from, to: to, text: graph.DIS.String(), tip: "no path without the network"}}
	case path.Type > graph.NVB:
		return []step{{kind: indirect, from: from, to: to, text: path.Type.String() + " " + gbps(path.BW), tip: pathTip(path)}}
	}
	return stepsAlong(path)
}

// stepsAlong turns a path into steps: NVLinks become steps between GPUs, and
// each other link one step of its own.
func stepsAlong(path graph.Path) []step {
	var steps []step
	tip := pathTip(path)
	for i := 0; i < len(path.Links); i++ {
		l := path.Links[i]
		switch {
		case l.Type == graph.LinkPCI:
			steps = append(steps, step{kind: climb, from: l.From, to: l.To, tip: tip})
		case l.Type == graph.LinkLOC:
			steps = append(steps, step{kind: joint, from: l.From, to: l.To, tip: tip})
		case l.Type == graph.LinkSYS:
			steps = append(steps, step{kind: across, from: l.From, to: l.To, tip: tip})
		case l.Type == graph.LinkNVL && (l.From.Type == graph.CPU || l.To.Type == graph.CPU):
			steps = append(steps, step{kind: rise, from: l.From, to: l.To, tip: tip})
		case l.Type != graph.LinkNVL || l.From.Type != graph.GPU:
		case l.To.Type == graph.GPU:
			steps = append(steps, step{kind: direct, from: l.From, to: l.To, tip: tip})
		case l.To.Type == graph.NVS && i+1 < len(path.Links) && path.Links[i+1].To.Type == graph.GPU:
			steps = append(steps, step{kind: switched, from: l.From, to: path.Links[i+1].To, tip: tip})
		}
	}
	return steps
}

func pathTip(p graph.Path) string {
	tip := fmt.Sprintf("%s, %s:", p.Type, gbps(p.BW))
	for i, l := range p.Links {
		if i == 0 {
			tip += " " + l.From.String()
		}
		tip += fmt.Sprintf(" -%s-> %s", l.Type, l.To)
	}
	return tip
}

// findNet gives the network device with that id.
func findNet(h *Host, id graph.NodeID) (*graph.Node, error) {
	for _, n := range h.Graph.NodesOf(graph.NET) {
		if n.NodeID == id {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: no network device has id %d", h.Name, id)
}

// cardOn is the NIC by which a path enters or leaves a network device: odd files
// have devices of two cards, or two of one number.
func cardOn(path graph.Path, net *graph.Node) *graph.Node {
	for _, l := range path.Links {
		switch {
		case l.Type == graph.LinkNET && l.From.Type == graph.NIC:
			return l.From
		case l.Type == graph.LinkNET:
			return l.To
		}
	}
	return cardOf(net)
}

// cardOf is the NIC that a network device is a port of.
func cardOf(net *graph.Node) *graph.Node {
	for _, l := range net.Links {
		if l.To.Type == graph.NIC {
			return l.To
		}
	}
	return nil
}
