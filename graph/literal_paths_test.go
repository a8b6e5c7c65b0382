package graph_test

import (
	"math/bits"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

func (l *lit) computePaths() {
	for _, nodes := range l.nodes {
		for _, n := range nodes {
			n.paths = [7][]litPath{}
		}
	}
	for _, t := range []graph.NodeType{graph.CPU, graph.GPU, graph.NET, graph.NVS} {
		for _, b := range l.nodes[t] {
			l.bfs(b)
		}
	}
	gpus := l.nodes[graph.GPU]
	for g, gpu := range gpus {
		for _, p := range gpus {
			if !l.p2p(p, g) {
				l.detour(p, graph.GPU, g, graph.CPU, l.localCPU(gpu))
			}
		}
		for _, p := range gpus {
			if p == gpu || l.opt.KeepUnreachable {
				continue
			}
			e := &p.paths[graph.GPU][g]
			usable := l.p2p(p, g) && (e.count == 2 && e.list[0].peer.typ == graph.GPU || !l.netBetter(p, gpu, g))
			shm := !l.opt.NoSHM && !l.netBetter(p, gpu, g)
			if !usable && !shm {
				e.typ = graph.PathNET
			}
		}
	}
	for n, net := range l.nodes[graph.NET] {
		for g, gpu := range gpus {
			l.netPart(n, net, g, gpu)
		}
	}
}

func (l *lit) bfs(base *litNode) {
	t := base.typ
	b := l.index(t, base.id)
	if base.paths[t] == nil {
		base.paths[t] = make([]litPath, len(l.nodes[t]))
	}
	base.paths[t][b] = litPath{bw: 5000, typ: graph.LOC}
	frontier := []*litNode{base}
	for len(frontier) > 0 {
		var next []*litNode
		for _, x := range frontier {
			p := x.paths[t][b]
			for _, k := range x.links {
				r := k.peer
				if r.paths[t] == nil {
					r.paths[t] = make([]litPath, len(l.nodes[t]))
					for i := range r.paths[t] {
						r.paths[t][i].typ = graph.DIS
					}
				}
				e := &r.paths[t][b]
				w := min(p.bw, k.bw)
				if x != base && x.typ == graph.GPU &&
					(l.opt.NoNVB || k.typ != graph.LinkNVL || r.typ != graph.GPU || p.count > 1) {
					continue
				}
				if (e.bw == 0 || e.count > p.count) && e.bw < w {
					litAccept(x, k, p, e, w)
					next = append(next, r)
				}
			}
		}
		frontier = litUnique(next)
	}
}

func litUnique(nodes []*litNode) (u []*litNode) {
	seen := map[*litNode]bool{}
	for _, n := range nodes {
		if !seen[n] {
			seen[n] = true
			u = append(u, n)
		}
	}
	return u
}

func litAccept(x *litNode, k *litLink, p litPath, e *litPath, w float32) {
	r := k.peer
	var first *litLink
	for _, b := range r.links {
		if b.peer == x && b.typ == k.typ {
			first = b
			break
		}
	}
	if first == nil {
		if len(e.list) == 0 {
			panic("no link back")
		}
		first = e.list[0]
	}
	count := p.count + 1
	t := graph.PathType(k.typ)
	if k.typ == graph.LinkNET {
		t = graph.LOC
	}
	if x.typ == graph.PCI && r.typ == graph.PCI {
		t = graph.PXB
	}
	if k.typ == graph.LinkPCI && (x.typ == graph.CPU || r.typ == graph.CPU) {
		t = graph.PHB
	}
	if x.typ == graph.GPU && p.typ == graph.NVL && t == graph.NVL && count > 1 {
		t = graph.NVB
	}
	*e = litPath{append([]*litLink{first}, p.list...), count, w, max(p.typ, t)}
}

func (l *lit) detour(src *litNode, t graph.NodeType, dst int, via graph.NodeType, m int) {
	a, b := src.paths[via][m], l.nodes[via][m].paths[t][dst]
	e := litPath{count: a.count + b.count, bw: min(a.bw, b.bw), typ: max(a.typ, b.typ)}
	e.list = append(append(e.list, a.list...), b.list...)
	if via == graph.GPU {
		e.typ = graph.PXN
	}
	src.paths[t][dst] = e
}

func (l *lit) p2p(p *litNode, g int) bool {
	level := graph.SYS
	c := l.nodes[graph.CPU][0].cpu
	if c.Arch == topo.ArchARM || c.Arch == topo.ArchX86 && (c.Vendor == topo.VendorIntel || c.Vendor == topo.VendorZhaoxin) {
		level = graph.PXB
	}
	if l.opt.P2PLevel != nil {
		level = *l.opt.P2PLevel
	}
	return p.paths[graph.GPU][g].typ <= level
}

func (l *lit) localCPU(gpu *litNode) int {
	best, minHops := -1, 0
	for c := range l.nodes[graph.CPU] {
		hops := gpu.paths[graph.CPU][c].count
		if minHops == 0 || hops < minHops {
			best, minHops = c, hops
		}
	}
	return best
}

func (l *lit) netBetter(a, b *litNode, g int) bool {
	if l.opt.NoNetIntra {
		return false
	}
	s := a.paths[graph.GPU][g].bw
	return l.netSpeed(a) > s && l.netSpeed(b) > s
}

func (l *lit) netSpeed(n *litNode) (bw float32) {
	for i := range l.nodes[graph.NET] {
		if e := n.paths[graph.NET][i]; e.typ <= graph.PXB && e.bw > bw {
			bw = e.bw
		}
	}
	return bw
}

func (l *lit) local(x *litNode, t graph.NodeType) (set []int) {
	bw, typ := float32(0), graph.DIS
	for i := range l.nodes[t] {
		e := x.paths[t][i]
		if e.bw > bw || e.bw == bw && e.typ < typ {
			bw, typ, set = e.bw, e.typ, nil
		}
		if e.bw == bw && e.typ == typ {
			set = append(set, i)
		}
	}
	return set
}

func (l *lit) localNet(gpu *litNode, c int) int64 {
	n := l.local(gpu, graph.NET)
	g := l.local(l.nodes[graph.NET][n[0]], graph.GPU)
	k := gpu.gpu.Dev
	if bits.OnesCount(uint(len(n))) == 1 {
		mirrored := 0
		for bit, top := 1, len(n)/2; top > 0; bit, top = bit*2, top/2 {
			if k&bit != 0 {
				mirrored |= top
			}
		}
		k = mirrored
	}
	k += c % ((len(n) + len(g) - 1) / len(g))
	return l.nodes[graph.NET][n[k%len(n)]].id
}

func (l *lit) localGPU(net *litNode) int {
	g := l.local(net, graph.GPU)
	for c := range 32 {
		for _, x := range g {
			if l.localNet(l.nodes[graph.GPU][x], c) == net.id {
				return x
			}
		}
	}
	return -1
}

func (l *lit) netPart(n int, net *litNode, g int, gpu *litNode) {
	e := &gpu.paths[graph.NET][n]
	if !l.opt.NoPXN {
		if x := l.localGPU(net); x >= 0 && x != g {
			relay := l.nodes[graph.GPU][x]
			v := relay.paths[graph.NET][n]
			if v.typ <= graph.PXB && relay.paths[graph.GPU][g].typ <= graph.NVL && relay.id>>56 == gpu.id>>56 &&
				(v.bw > e.bw || e.typ > graph.PXB) {
				l.detour(gpu, graph.NET, n, graph.GPU, x)
			}
		}
	}
	if e.typ >= graph.PHB || l.gdr(gpu, net, n) {
		return
	}
	c := l.localCPU(gpu)
	l.detour(net, graph.GPU, g, graph.CPU, c)
	l.detour(gpu, graph.NET, n, graph.CPU, c)
}

func (l *lit) gdr(gpu, net *litNode, n int) bool {
	if !net.net.GDR || !gpu.gpu.GDR {
		return false
	}
	level := graph.PXB
	if l.opt.GDRLevel != nil {
		level = *l.opt.GDRLevel
	}
	e := gpu.paths[graph.NET][n]
	if e.typ == graph.PXN {
		i := 0
		for e.list[i].peer.typ == graph.NVS {
			i++
		}
		if e.list[i].peer.typ != graph.GPU {
			panic("no relay GPU")
		}
		e = e.list[i].peer.paths[graph.NET][n]
	}
	return e.typ <= level
}

// split trims the machine to what the GPU of index own sees, in a job of so
// many ranks.
func (l *lit) split(own, ranks int) {
	gpus := l.nodes[graph.GPU]
	dom := make([]int, len(gpus))
	for g := range gpus {
		dom[g] = g
		for p := range g {
			if gpus[g].paths[graph.GPU][p].typ < graph.PathNET {
				dom[g] = min(dom[g], dom[p])
			}
		}
	}
	for g, gpu := range gpus {
		if dom[g] != dom[own] {
			l.remove(gpu)
		}
	}
	if len(l.nodes[graph.GPU]) == ranks {
		for _, n := range l.nodes[graph.NET] {
			l.remove(n)
		}
	}
	l.computePaths()
}

func (l *lit) bandwidths() (maxBW, totalBW float32) {
	to := graph.GPU
	if len(l.nodes[graph.NET]) > 0 {
		to = graph.NET
	} else if len(l.nodes[graph.GPU]) == 1 {
		return 5000, 5000
	}
	for _, g := range l.nodes[graph.GPU] {
		for i := range l.nodes[to] {
			if e := g.paths[to][i]; e.count != 0 {
				maxBW = max(maxBW, e.bw)
			}
		}
		var pci, nvl float32
		for _, k := range g.links {
			if k.typ == graph.LinkPCI {
				pci = k.bw
			}
			if k.typ == graph.LinkNVL {
				nvl = float32(nvl + k.bw)
			}
		}
		totalBW = max(totalBW, pci, nvl)
	}
	return maxBW, totalBW
}
