package rings

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// machine is a graph laid out for the search: capacities in one slice, every
// path as a list of indexes into it. Capacities change while a search runs.
type machine struct {
	nGPU, nNet, nNVS int
	minSM            int
	maxBW, totalBW   float32
	amd              bool // an x86 machine by AMD

	ranks []int
	nets  []network

	capacity []float32 // left on each link, GB/s
	netBW    []float32 // left on each network device, GB/s

	gpuToGPU, gpuToNet, netToGPU []path // row by row
	gpuToNVS, nvsToGPU           []path // of the first NVSwitch

	// The farthest type of a path within each limit, inside the node and to its
	// networks.
	farthestIntra, farthestInter [graph.DIS + 1]graph.PathType

	pciLinks   [][2]int32    // per GPU: its PCI link and the one back; -1: none
	candidates [][]candidate // per GPU: the others it reaches, best first
	netChoices map[int][]int // by [machine.choiceKey]
	localNets  [][]int       // per GPU: its own networks, in turn
	localGPUs  []int         // per network; -1: none
}

// network is what the search compares of a network device.
type network struct {
	id      int64
	first   int // index of the first network with this id
	asic    int64
	port    int
	latency float32
}

// path is the way from one node to another.
type path struct {
	steps []step
	typ   graph.PathType
	bw    float32
	// plain lists the links again where nothing else is charged than they alone, as
	// between GPUs joined by NVLink: most of a search's time is spent there.
	plain []int32
	// throughIntelCPU is set where traffic between GPUs costs PCI links a fifth
	// more.
	throughIntelCPU bool
}

// step is one link of a path. Traffic over it can use up some of the link back
// too: an eighth for reads by older GPUs, all of it on POWER's NVLink.
type step struct {
	link, back int32
	pci        bool
	backUse    backUse
}

type backUse uint8

const (
	noBack backUse = iota
	eighthBack
	fullBack
)

// candidate is a GPU to go to next: its index, how well it is reached, and its
// distance in index order, which breaks ties.
type candidate struct{ gpu, hops, bw, turn int }

func compile(g *graph.Graph) (*machine, error) {
	gpus, nets, nvs := g.NodesOf(graph.GPU), g.NodesOf(graph.NET), g.NodesOf(graph.NVS)
	m := &machine{
		nGPU: len(gpus), nNet: len(nets), nNVS: len(nvs),
		maxBW: g.MaxBW, totalBW: g.TotalBW,
		netChoices: map[int][]int{},
	}
	if m.nGPU == 0 {
		return nil, fmt.Errorf("%w: there is no GPU to search from", graph.ErrNonsense)
	}
	if cpus := g.NodesOf(graph.CPU); len(cpus) > 0 {
		m.amd = cpus[0].CPU.Arch == topo.ArchX86 && cpus[0].CPU.Vendor == topo.VendorAMD
	}
	m.compileNodes(g)
	m.capacity = make([]float32, len(g.Links()))
	for _, l := range g.Links() {
		m.capacity[l.ID] = l.BW
	}
	var err error
	table := func(from, to []*graph.Node) []path {
		ps := make([]path, 0, len(from)*len(to))
		for _, a := range from {
			for _, b := range to {
				p, e := compilePath(g, a, b)
				if e != nil {
					err = e
				}
				ps = append(ps, p)
			}
		}
		return ps
	}
	m.gpuToGPU, m.gpuToNet, m.netToGPU = table(gpus, gpus), table(gpus, nets), table(nets, gpus)
	if len(nvs) > 0 {
		m.gpuToNVS, m.nvsToGPU = table(gpus, nvs[:1]), table(nvs[:1], gpus)
	}
	m.farthestIntra = farthest(m.gpuToGPU, m.gpuToNVS, m.nvsToGPU)
	m.farthestInter = farthest(m.gpuToNet, m.netToGPU)
	m.compileCandidates()
	return m, err
}

func (m *machine) compileNodes(g *graph.Graph) {
	for i, n := range g.NodesOf(graph.GPU) {
		m.ranks = append(m.ranks, n.GPU.Rank)
		if i == 0 || n.GPU.SM < m.minSM {
			m.minSM = n.GPU.SM
		}
		m.pciLinks = append(m.pciLinks, pciLinks(n))
	}
	nets := g.NodesOf(graph.NET)
	for _, n := range nets {
		first := slices.IndexFunc(nets, func(o *graph.Node) bool { return o.NodeID == n.NodeID })
		m.nets = append(m.nets, network{
			id: int64(n.NodeID), first: first, asic: n.Net.Asic, port: n.Net.Port, latency: n.Net.Latency,
		})
		m.netBW = append(m.netBW, n.Net.BW)
		local := -1
		if gpu := g.LocalGPU(n); gpu != nil {
			local = gpu.Index
		}
		m.localGPUs = append(m.localGPUs, local)
	}
	for _, n := range g.NodesOf(graph.GPU) {
		m.localNets = append(m.localNets, m.turns(g.LocalNets(n)))
	}
}

// turns gives the indexes of a GPU's networks for channels 0, 1, ... until the
// first comes round again.
func (m *machine) turns(nets []*graph.Node) []int {
	var turns []int
	for _, n := range nets[:min(len(nets), MaxChannels)] {
		i := m.nets[n.Index].first
		if len(turns) > 0 && i == turns[0] {
			break
		}
		turns = append(turns, i)
	}
	return turns
}

// pciLinks finds a GPU's first PCI link that has one back.
func pciLinks(n *graph.Node) [2]int32 {
	for _, l := range n.Links {
		if l.Type != graph.LinkPCI {
			continue
		}
		for _, b := range l.To.Links {
			if b.To == n {
				return [2]int32{int32(l.ID), int32(b.ID)}
			}
		}
	}
	return [2]int32{-1, -1}
}

func compilePath(g *graph.Graph, from, to *graph.Node) (path, error) {
	p, _ := g.Path(from, to)
	c := path{typ: p.Type, bw: p.BW, steps: make([]step, 0, len(p.Links))}
	for _, l := range p.Links {
		s := step{link: int32(l.ID), back: -1, pci: l.Type == graph.LinkPCI}
		switch {
		case l.To.Type == graph.GPU && l.To.GPU.SM < 80 && from.Type != graph.GPU:
			s.backUse = eighthBack
		case l.To.Type == graph.CPU && l.To.CPU.Arch == topo.ArchPOWER && l.Type == graph.LinkNVL:
			s.backUse = fullBack
		}
		if s.backUse != noBack {
			b := l.Reverse()
			if b == nil {
				return c, fmt.Errorf("%w: the %s link from %s to %s has none back", graph.ErrNonsense, l.Type, l.From, l.To)
			}
			s.back = int32(b.ID)
		}
		if l.To.Type == graph.CPU && p.Type == graph.PHB && from.Type == graph.GPU &&
			l.To.CPU.Arch == topo.ArchX86 && l.To.CPU.Vendor == topo.VendorIntel {
			c.throughIntelCPU = true
		}
		c.steps = append(c.steps, s)
	}
	c.plain = plainLinks(&c)
	return c, nil
}

// plainLinks lists a path's links, nil where traffic charges more than them.
func plainLinks(p *path) []int32 {
	links := make([]int32, 0, len(p.steps))
	for _, s := range p.steps {
		if s.backUse != noBack || s.pci && p.throughIntelCPU {
			return nil
		}
		links = append(links, s.link)
	}
	return links
}

// compileCandidates ranks, for each GPU, the others by bandwidth, hops and
// index order.
func (m *machine) compileCandidates() {
	m.candidates = make([][]candidate, m.nGPU)
	for g := range m.nGPU {
		for turn := 1; turn < m.nGPU; turn++ {
			x := (g + turn) % m.nGPU
			p := &m.gpuToGPU[g*m.nGPU+x]
			if len(p.steps) > 0 {
				m.candidates[g] = append(m.candidates[g], candidate{gpu: x, hops: len(p.steps), bw: int(p.bw), turn: turn})
			}
		}
		slices.SortFunc(m.candidates[g], func(a, b candidate) int { return a.compare(b) })
	}
}

func (c candidate) compare(o candidate) int {
	switch {
	case c.bw != o.bw:
		return o.bw - c.bw
	case c.hops != o.hops:
		return c.hops - o.hops
	}
	return c.turn - o.turn
}
