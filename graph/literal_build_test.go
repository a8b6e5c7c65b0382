package graph_test

import (
	"fmt"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// What follows builds graphs and paths word by word as the rules are written,
// slowly, on lists of its own. The package must give the same on any machine.
// Where the rules end in an error or read what is not there, it panics.

type lit struct {
	nodes [7][]*litNode
	opt   graph.Options
	hosts []uint64
}

type litNode struct {
	typ    graph.NodeType
	id     int64
	links  []*litLink
	device uint64
	gpu    *topo.GPU
	cpu    *topo.CPU
	net    *topo.Net
	bw     float32
	paths  [7][]litPath
}

type litLink struct {
	typ  graph.LinkType
	bw   float32
	peer *litNode
}

type litPath struct {
	list  []*litLink
	count int
	bw    float32
	typ   graph.PathType
}

func (l *lit) create(t graph.NodeType, id int64) *litNode {
	if len(l.nodes[t]) == 256 {
		panic("too many nodes")
	}
	n := &litNode{typ: t, id: id}
	l.nodes[t] = append(l.nodes[t], n)
	return n
}

func (l *lit) index(t graph.NodeType, id int64) int {
	for i, n := range l.nodes[t] {
		if n.id == id {
			return i
		}
	}
	return -1
}

func (l *lit) get(t graph.NodeType, id int64) *litNode {
	if i := l.index(t, id); i >= 0 {
		return l.nodes[t][i]
	}
	return nil
}

func (l *lit) connect(a, b *litNode, t graph.LinkType, bw float32) {
	k := 0
	for k < len(a.links) && (a.links[k].peer != b || a.links[k].typ != t) {
		k++
	}
	if k == len(a.links) {
		if k == 128 {
			panic("too many links")
		}
		a.links = append(a.links, &litLink{typ: t, peer: b})
	}
	a.links[k].bw = float32(a.links[k].bw + bw)
	for k > 0 && a.links[k-1].bw < a.links[k].bw {
		a.links[k-1], a.links[k] = a.links[k], a.links[k-1]
		k--
	}
}

func (l *lit) systemID(host uint64) int64 {
	for i, h := range l.hosts {
		if h == host {
			return int64(i)
		}
	}
	l.hosts = append(l.hosts, host)
	return int64(len(l.hosts) - 1)
}

func literal(sys *topo.System, opt graph.Options) *lit {
	l := &lit{opt: opt}
	for i := range sys.CPUs {
		c := &sys.CPUs[i]
		s := l.systemID(c.Host)
		n := l.create(graph.CPU, s<<56+int64(c.NUMA))
		n.cpu = c
		for j := range c.Devices {
			l.pci(&c.Devices[j], n, s)
		}
	}
	l.each(sys, func(d *topo.Device, s int64) {
		if d.GPU != nil {
			l.nvlinks(d, s)
		}
	})
	l.each(sys, func(d *topo.Device, s int64) {
		if d.GPU != nil {
			l.c2c(d, s)
		}
	})
	l.each(sys, l.pcilinks)
	l.flatten()
	for _, n := range l.nodes[graph.CPU] {
		for _, p := range l.nodes[graph.CPU] {
			if n != p && n.id>>56 == p.id>>56 {
				l.connect(n, p, graph.LinkSYS, litCPUBW(n.cpu))
			}
		}
	}
	for _, n := range l.nodes[graph.CPU] {
		litSort(n, nil, 0)
	}
	return l
}

func (l *lit) pci(d *topo.Device, parent *litNode, s int64) {
	if d.Virtual {
		nic := l.get(graph.NIC, 0)
		if nic == nil {
			nic = l.create(graph.NIC, s<<56)
			l.connect(parent, nic, graph.LinkPCI, 5000)
			l.connect(nic, parent, graph.LinkPCI, 5000)
		}
		l.nets(d.NIC, nic, s)
		return
	}
	var n *litNode
	class := d.Class
	if d.GPU != nil {
		class = topo.ClassGPU
		n = l.create(graph.GPU, s<<56+int64(d.BusID))
		n.gpu = d.GPU
	}
	if d.NIC != nil {
		id := s<<56 + int64(d.BusID)/16*16
		nic := l.get(graph.NIC, id)
		if nic == nil {
			nic = l.create(graph.NIC, id)
			n = nic
		}
		l.nets(d.NIC, nic, s)
	} else if class == topo.ClassSwitch {
		n = l.create(graph.PCI, s<<56+int64(d.BusID))
		n.device = d.SwitchID
		for i := range d.Devices {
			l.pci(&d.Devices[i], n, s)
		}
	}
	if n == nil {
		return
	}
	width := d.Width
	if width == 0 {
		width = 16
	}
	bw := float32(float64(int32(width*d.Speed)) / 80.0)
	l.connect(n, parent, graph.LinkPCI, bw)
	l.connect(parent, n, graph.LinkPCI, bw)
}

func (l *lit) nets(nic *topo.NIC, n *litNode, s int64) {
	for i := range nic.Nets {
		net := &nic.Nets[i]
		x := l.create(graph.NET, s<<56+int64(net.Dev))
		mbps := net.Mbps
		if mbps <= 0 {
			mbps = 10000
		}
		x.net, x.bw = net, float32(float64(mbps)/8000.0)
		l.connect(n, x, graph.LinkNET, x.bw)
		l.connect(x, n, graph.LinkNET, x.bw)
	}
}

func (l *lit) each(sys *topo.System, f func(*topo.Device, int64)) {
	var walk func([]topo.Device, int64)
	walk = func(ds []topo.Device, s int64) {
		for i := range ds {
			f(&ds[i], s)
			walk(ds[i].Devices, s)
		}
	}
	for i := range sys.CPUs {
		walk(sys.CPUs[i].Devices, l.systemID(sys.CPUs[i].Host))
	}
}

func (l *lit) nvlinks(d *topo.Device, s int64) {
	for _, v := range d.GPU.NVLinks {
		g := l.get(graph.GPU, s<<56+int64(d.BusID))
		var r *litNode
		switch v.Class {
		case topo.ClassGPU:
			r = l.get(graph.GPU, s<<56+int64(v.Target))
		case topo.ClassCPU:
			r = litLocalCPU(g, 0)
		default:
			if len(l.nodes[graph.NVS]) == 0 {
				l.create(graph.NVS, 0)
			}
			r = l.nodes[graph.NVS][0]
		}
		if r == nil {
			continue
		}
		bw := float32(float32(v.Count) * litNVLinkBW(g.gpu.SM))
		l.connect(g, r, graph.LinkNVL, bw)
		if r.typ != graph.GPU {
			l.connect(r, g, graph.LinkNVL, bw)
		}
	}
}

func litNVLinkBW(cc int) float32 {
	switch {
	case cc >= 90:
		return 20.6
	case cc == 86:
		return 12
	case cc >= 80:
		return 20
	case cc >= 70:
		return 20
	case cc >= 60:
		return 18
	}
	return 20
}

func litLocalCPU(n *litNode, depth int) *litNode {
	if depth > 1000 {
		panic("endless recursion")
	}
	if n.typ == graph.CPU {
		return n
	}
	for _, k := range n.links {
		if k.typ == graph.LinkPCI && (k.peer.typ == graph.PCI || k.peer.typ == graph.CPU) {
			if c := litLocalCPU(k.peer, depth+1); c != nil {
				return c
			}
		}
	}
	return nil
}

func (l *lit) c2c(d *topo.Device, s int64) {
	for _, c := range d.GPU.C2Cs {
		g := l.get(graph.GPU, s<<56+int64(d.BusID))
		bw := float32(float64(int32(c.MBps*c.Count)) / 1000.0)
		if cpu := litLocalCPU(g, 0); cpu != nil {
			l.connect(g, cpu, graph.LinkNVL, bw)
			l.connect(cpu, g, graph.LinkNVL, bw)
		}
	}
}

func (l *lit) pcilinks(d *topo.Device, s int64) {
	for _, target := range d.Peers {
		p := l.get(graph.PCI, s<<56+int64(d.BusID))
		if p == nil {
			panic("pcilink below no switch")
		}
		if r := l.get(graph.PCI, s<<56+int64(target)); r != nil {
			l.connect(p, r, graph.LinkLOC, 5000)
		}
	}
}

func litCPUBW(c *topo.CPU) float32 {
	intel, zhaoxin := c.Vendor == topo.VendorIntel, c.Vendor == topo.VendorZhaoxin
	switch x86 := c.Arch == topo.ArchX86; {
	case c.Arch == topo.ArchPOWER:
		return 32
	case c.Arch == topo.ArchARM:
		return 6
	case x86 && intel && c.Model == topo.ModelIntelSkylake:
		return 10
	case x86 && c.Vendor == topo.VendorAMD:
		return 16
	case x86 && zhaoxin && c.Model == topo.ModelZhaoxinYongfeng:
		return 9
	case x86 && (intel || zhaoxin):
		return 6
	}
	return 5000
}

func (n *litNode) name(l *lit) string {
	for i, m := range l.nodes[n.typ] {
		if m == n {
			return fmt.Sprintf("%s%d", n.typ, i)
		}
	}
	return "gone"
}
