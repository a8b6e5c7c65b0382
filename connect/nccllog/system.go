package nccllog

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/graph"
)

// systemEnd closes the lines of the system.
const systemEnd = "=========================================="

// writeSystem writes the machine as a tree below its CPUs.
func (v view) writeSystem(b *bufio.Writer) {
	fmt.Fprintf(b, "=== System : maxBw %2.1f totalBw %2.1f ===\n", v.Graph.MaxBW, v.Graph.TotalBW)
	for _, cpu := range v.Graph.NodesOf(graph.CPU) {
		v.writeNode(b, cpu, nil, "")
	}
	fmt.Fprintln(b, systemEnd)
}

// writeNode writes a node behind the text that leads to it, then its links,
// indented as far as the node. PCI links are followed, away from prev.
func (v view) writeNode(b *bufio.Writer, n, prev *graph.Node, lead string) {
	fmt.Fprintf(b, "%s%s\n", lead, v.nodeText(n))
	indent := strings.Repeat(" ", len(lead))
	for _, l := range n.Links {
		head := fmt.Sprintf("%s+ %s[%2.1f] - ", indent, l.Type, l.BW)
		switch {
		case l.Type == graph.LinkPCI && l.To == prev:
		case l.Type == graph.LinkPCI:
			v.writeNode(b, l.To, n, head)
		case l.To.Type == graph.NET && l.Type != graph.LinkLOC:
			net := l.To.Net
			fmt.Fprintf(b, "%s%s (%x/%d/%f)\n", head, peerText(l.To), uint64(net.Asic), net.Port, net.BW)
		default:
			fmt.Fprintf(b, "%s%s\n", head, peerText(l.To))
		}
	}
}

// nodeText names a node where the tree reaches it, with what is known of it.
func (v view) nodeText(n *graph.Node) string {
	name := idText(n)
	switch n.Type {
	case graph.GPU:
		return fmt.Sprintf("%s (%d)", name, v.user(n.GPU.Rank))
	case graph.CPU:
		return fmt.Sprintf("%s (%d/%d/%d)", name, n.CPU.Arch, n.CPU.Vendor, n.CPU.Model)
	case graph.PCI:
		return fmt.Sprintf("%s (%x)", name, n.PCI.Device)
	}
	return name
}

// idText names a node by host number and local id.
func idText(n *graph.Node) string {
	return fmt.Sprintf("%s/%x-%x", n.Type, uint64(n.NodeID.System()), uint64(n.NodeID.Local()))
}

// peerText names a node at the far end of a link by its whole id.
func peerText(n *graph.Node) string {
	return fmt.Sprintf("%s/%X", n.Type, uint64(n.NodeID))
}

// pathTargets are the node types that paths lead to, in NCCL's order.
var pathTargets = []graph.NodeType{graph.GPU, graph.NVS, graph.CPU, graph.NET}

// writePaths writes one line per GPU and network, with the paths from it. Each
// path is followed by a space, the last one too.
func (v view) writePaths(b *bufio.Writer) {
	g := v.Graph
	for _, t := range []graph.NodeType{graph.GPU, graph.NET} {
		for _, from := range g.NodesOf(t) {
			fmt.Fprintf(b, "%s :", peerText(from))
			for _, targets := range pathTargets {
				writePathsTo(b, g, from, g.NodesOf(targets))
			}
			b.WriteByte('\n')
		}
	}
}

func writePathsTo(b *bufio.Writer, g *graph.Graph, from *graph.Node, targets []*graph.Node) {
	for _, to := range targets {
		if p, ok := g.Path(from, to); ok {
			fmt.Fprintf(b, "%s (%d/%.1f/%s) ", idText(to), p.Hops(), p.BW, p.Type)
		}
	}
}
