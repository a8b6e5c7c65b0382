package graph

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/topo"
)

// computePaths finds every path, then bends those that the hardware or the
// settings do not allow. The order of the steps matters: each sees what the
// ones before it left.
func (g *Graph) computePaths() error {
	for _, n := range g.all {
		n.paths = [numNodeTypes][]Path{}
	}
	for _, t := range []NodeType{CPU, GPU, NET, NVS} {
		for _, base := range g.nodes[t] {
			if err := g.searchFrom(base); err != nil {
				return err
			}
		}
	}
	if err := g.checkReached(); err != nil {
		return err
	}
	if err := g.adjustGPUPaths(); err != nil {
		return err
	}
	if err := g.adjustNetPaths(); err != nil {
		return err
	}
	g.setBandwidths()
	return nil
}

// newPaths makes the entries of a node towards all nodes of a type.
func (g *Graph) newPaths(t NodeType, typ PathType) []Path {
	ps := make([]Path, len(g.nodes[t]))
	for i := range ps {
		ps[i].Type = typ
	}
	return ps
}

// searchFrom is a breadth-first search that gives every node its path to base.
// Where two paths are equally short, the wider wins; the first stays on a tie.
func (g *Graph) searchFrom(base *Node) error {
	// Nodes with one id share the first one's entries.
	t, i := base.Type, g.find(base.Type, base.NodeID).Index
	if base.paths[t] == nil {
		base.paths[t] = g.newPaths(t, LOC)
	}
	base.paths[t][i] = Path{BW: locBW, Type: LOC}
	frontier, next := []*Node{base}, []*Node(nil)
	for len(frontier) > 0 {
		next = next[:0]
		for _, x := range frontier {
			for _, l := range x.Links {
				// Even a link that may not be used makes its far end's entries.
				if l.To.paths[t] == nil {
					l.To.paths[t] = g.newPaths(t, DIS)
				}
				if x != base && x.Type == GPU && !g.mayRelay(l, x.paths[t][i]) {
					continue
				}
				reached, err := g.extend(x, l, t, i)
				if err != nil {
					return err
				}
				if reached && !slices.Contains(next, l.To) {
					next = append(next, l.To)
				}
			}
		}
		frontier, next = next, frontier
	}
	return nil
}

// mayRelay is false where a path p from a GPU would go on over l through it,
// unless it then is GPU to GPU to GPU over NVLink.
func (g *Graph) mayRelay(l *Link, p Path) bool {
	return !g.opt.NoNVB && l.Type == LinkNVL && l.To.Type == GPU && p.Hops() <= 1
}

// extend offers l's far end a path to base through x and tells whether it took
// it. The path runs from the far end to base, hence over the links back.
func (g *Graph) extend(x *Node, l *Link, t NodeType, base int) (bool, error) {
	r := l.To
	p, old := x.paths[t][base], &r.paths[t][base]
	bw := min(p.BW, l.BW)
	if old.BW != 0 && old.Hops() <= p.Hops() || old.BW >= bw {
		return false, nil
	}
	back := l.Reverse()
	if back == nil {
		if len(old.Links) == 0 {
			return false, fmt.Errorf("%w: %s has a %s link to %s, but %s has none back; list it on both sides",
				ErrNonsense, x, l.Type, r, r)
		}
		back = old.Links[0]
	}
	links := make([]*Link, 0, len(p.Links)+1)
	links = append(append(links, back), p.Links...)
	*old = Path{Links: links, BW: bw, Type: max(p.Type, stepType(x, l, p, len(links)))}
	return true, nil
}

// stepType is the path type that going over l adds to p.
func stepType(x *Node, l *Link, p Path, hops int) PathType {
	r := l.To
	switch {
	case l.Type == LinkPCI && (x.Type == CPU || r.Type == CPU):
		return PHB
	case x.Type == PCI && r.Type == PCI:
		return PXB
	case l.Type == LinkNET:
		return LOC
	case x.Type == GPU && p.Type == NVL && l.Type == LinkNVL && hops > 1:
		return NVB
	}
	switch l.Type {
	case LinkNVL:
		return NVL
	case LinkPCI:
		return PIX
	case LinkSYS:
		return SYS
	}
	return LOC
}

// checkReached refuses machines in which GPUs and networks fall apart: NCCL
// would read paths that do not exist. Without relays it never asks for those
// from a network.
func (g *Graph) checkReached() error {
	for _, gpu := range g.nodes[GPU] {
		if len(g.nodes[NET]) > 0 && gpu.paths[NET] == nil {
			return unreached(gpu, NET)
		}
	}
	for _, net := range g.nodes[NET] {
		if !g.opt.NoPXN && net.paths[GPU] == nil {
			return unreached(net, GPU)
		}
	}
	return nil
}

func unreached(from *Node, to NodeType) error {
	return fmt.Errorf("%w: no way leads from %s to any %s; are all parts of the machine joined "+
		"(a numaid of -1 beside others, or several hosts in one file, are not)?", ErrNonsense, from, to)
}

// detour replaces the path from src to dst by one through via.
func (g *Graph) detour(src, dst, via *Node) error {
	a, okA := g.Path(src, via)
	b, okB := g.Path(via, dst)
	if !okA || !okB {
		return fmt.Errorf("%w: %s cannot reach %s through %s, which is not joined to both", ErrNonsense, src, dst, via)
	}
	t := max(a.Type, b.Type)
	if via.Type == GPU {
		t = PXN
	}
	src.paths[dst.Type][dst.Index] = Path{
		Links: slices.Concat(a.Links, b.Links), BW: min(a.BW, b.BW), Type: t,
	}
	return nil
}

// detourByCPU replaces the path from src to dst by one through gpu's own CPU.
func (g *Graph) detourByCPU(src, dst, gpu *Node) error {
	cpu := g.localCPU(gpu)
	if cpu == nil {
		return unreached(gpu, CPU)
	}
	return g.detour(src, dst, cpu)
}

// setBandwidths works out MaxBW and TotalBW.
func (g *Graph) setBandwidths() {
	gpus := g.nodes[GPU]
	if len(gpus) == 1 && len(g.nodes[NET]) == 0 {
		g.MaxBW, g.TotalBW = locBW, locBW
		return
	}
	target := GPU
	if len(g.nodes[NET]) > 0 {
		target = NET
	}
	g.MaxBW, g.TotalBW = 0, 0
	for _, n := range gpus {
		for _, p := range n.paths[target] {
			if p.Hops() > 0 {
				g.MaxBW = max(g.MaxBW, p.BW)
			}
		}
		g.TotalBW = max(g.TotalBW, ownBW(n))
	}
}

// ownBW is what one GPU can send: over its PCI link or all its NVLinks.
func ownBW(n *Node) float32 {
	var pci, nvl float32
	for _, l := range n.Links {
		switch l.Type {
		case LinkPCI:
			pci = l.BW
		case LinkNVL:
			nvl += l.BW
		}
	}
	return max(pci, nvl)
}

// localCPU is the CPU with the fewest hops from a GPU, nil where none was
// reached. Beside others, one that cannot be reached counts as no hops, and the
// one after it always wins.
func (g *Graph) localCPU(n *Node) *Node {
	var best *Node
	minHops := 0
	for i, p := range n.paths[CPU] {
		hops := p.Hops()
		if minHops == 0 || hops < minHops {
			best, minHops = g.nodes[CPU][i], hops
		}
	}
	return best
}

// firstCPU describes the processor that decides levels and tables.
func (g *Graph) firstCPU() *CPUInfo {
	if len(g.nodes[CPU]) == 0 {
		return &CPUInfo{Vendor: topo.VendorUndefined, Model: topo.ModelUndefined}
	}
	return g.nodes[CPU][0].CPU
}
