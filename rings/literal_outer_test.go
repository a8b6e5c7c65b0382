package rings_test

import (
	"math"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// What follows searches word by word as the rules are written: on the graph
// itself, ranks looked up each time, records copied whole, nothing prepared.
// The package must give the same on any machine.

type litGraph struct {
	pattern          rings.Pattern
	crossNic         int
	minChannels      int
	maxChannels      int
	nChannels        int
	bwIntra, bwInter float32
	latencyInter     float32
	typeIntra        graph.PathType
	typeInter        graph.PathType
	sameChannels     int
	nHops            int
	intra            [32 * 16]int
	inter            [64]int64
}

type lit struct {
	g          *graph.Graph
	gpus, nets []*graph.Node
	nvs        []*graph.Node
	cross      int // NCCL_CROSS_NIC
	bw         map[*graph.Link]float32
	netBW      []float32
	used       []uint64
	try, best  litGraph
	ccMin      int
}

func newLit(g *graph.Graph, cross int) *lit {
	l := &lit{
		g: g, gpus: g.NodesOf(graph.GPU), nets: g.NodesOf(graph.NET), nvs: g.NodesOf(graph.NVS),
		cross: cross, bw: map[*graph.Link]float32{}, ccMin: math.MaxInt,
	}
	for _, k := range g.Links() {
		l.bw[k] = k.BW
	}
	for _, n := range l.nets {
		l.netBW = append(l.netBW, n.Net.BW)
	}
	l.used = make([]uint64, len(l.gpus))
	for _, n := range l.gpus {
		l.ccMin = min(l.ccMin, n.GPU.SM)
	}
	return l
}

// search runs all patterns, one after the other.
func (l *lit) search(nvls bool, preset rings.Preset) rings.Result {
	ring := l.compute(litGraph{pattern: rings.Ring, minChannels: 1, maxChannels: 16}, preset.Ring)
	n := ring.NChannels
	tree := l.compute(litGraph{pattern: rings.BalancedTree, minChannels: n, maxChannels: n}, preset.Tree)
	res := rings.Result{Ring: ring, Tree: tree}
	if nvls {
		s := l.compute(litGraph{pattern: rings.NVLS, minChannels: 1, maxChannels: 32}, preset.NVLS)
		res.NVLS = &s
	}
	return res
}

func (l *lit) table() []float32 {
	switch net := len(l.nets) > 0; {
	case !net && l.ccMin < 90:
		return []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	case net && l.ccMin < 90:
		return []float32{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}
	case !net:
		return []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	}
	return []float32{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}
}

func (l *lit) compute(asked litGraph, preset *rings.Set) rings.Set {
	best, try := &l.best, &l.try
	*best = asked
	nGPU, nNET := len(l.gpus), len(l.nets)
	cross := 0
	if nNET > 1 && (asked.pattern == rings.Ring || asked.pattern == rings.BalancedTree || asked.pattern == rings.SplitTree) {
		cross = l.cross
	}
	one := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	best.crossNic = one(cross == 1)
	startIntra := graph.NVL
	if nGPU == 1 {
		startIntra = graph.LOC
	}
	best.typeIntra, best.typeInter = startIntra, graph.PIX
	sameDefault := one(asked.pattern != rings.NVLS)
	best.sameChannels = sameDefault
	amd := false
	if cpus := l.g.NodesOf(graph.CPU); len(cpus) > 0 {
		amd = cpus[0].CPU.Arch == topo.ArchX86 && cpus[0].CPU.Vendor == topo.VendorAMD
	}
	if preset != nil {
		l.load(preset)
		if best.nChannels > 0 {
			return l.set()
		}
	}
	if best.pattern == rings.NVLS && (len(l.nvs) == 0 || l.ccMin < 90) {
		return l.set()
	}
	if best.pattern == rings.NVLS {
		best.maxChannels = nGPU
	}
	if nGPU == 1 && best.pattern != rings.Ring {
		best.pattern = rings.Tree
	}
	if nNET == 0 && best.pattern == rings.NVLS {
		best.minChannels, best.maxChannels = nGPU, nGPU
	}
	*try = *best
	s := l.table()
	last := len(s) - 1
	total := l.g.TotalBW
	if nGPU > 1 && best.pattern != rings.Ring {
		total = float32(float64(total) * (float64(nGPU) * 1.0 / float64(nGPU-1)))
	}
	si := 0
	for (s[si] > l.g.MaxBW || float32(s[si]*float32(best.minChannels)) > total) && si < last {
		si++
	}
	try.bwIntra, try.bwInter = s[si], s[si]
	pass, globalTime, time := 1, 524288, 0

	for again := true; again; {
		again = false
		time = 16384
		if try.sameChannels != 0 {
			time = 256
		}
		try.nChannels = 0
		globalTime -= time
		l.rec(&time)
		if pass == 1 && time != -1 && float32(float32(best.nChannels)*best.bwInter) < l.g.TotalBW {
			switch {
			case try.sameChannels == 1 && !(amd && try.typeIntra == graph.SYS):
				try.sameChannels = 0
				again = true
			default:
				try.sameChannels = sameDefault
				globalTime += time
				if globalTime < 0 && best.nChannels > 0 {
					break
				}
				again = l.relax(cross, startIntra, s, &si)
			}
			if again {
				continue
			}
		}
		if pass == 1 {
			time = -1
			l.duplicate()
			*try = *best
			si = 0
			for s[si] > best.bwInter && si < last {
				si++
			}
			try.bwIntra, try.bwInter = s[si], s[si]
			try.minChannels = best.nChannels
			pass = 2
		}
		again = time != 0 && si > 0 && l.raise(s, &si)
	}
	if best.nChannels == 0 && best.pattern != rings.NVLS {
		for i, n := range l.gpus {
			best.intra[i] = n.GPU.Rank
		}
		best.inter[0], best.inter[1] = 0, 0
		best.bwIntra, best.bwInter = 0.1, 0.1
		best.typeIntra, best.typeInter = graph.SYS, graph.SYS
		best.nChannels = 1
	}
	return l.set()
}

// relax is steps d to l of the first pass.
func (l *lit) relax(cross int, startIntra graph.PathType, s []float32, si *int) bool {
	best, try := &l.best, &l.try
	if l.ccMin >= 90 && try.pattern == rings.BalancedTree {
		try.pattern = rings.Tree
		return true
	}
	try.pattern = best.pattern
	maxIntra := graph.SYS
	if len(l.nets) > 0 {
		maxIntra = try.typeInter
	}
	if try.typeIntra < maxIntra && (best.nChannels == 0 || try.typeIntra < best.typeIntra) {
		try.typeIntra++
		return true
	}
	try.typeIntra = startIntra
	if len(l.nets) > 0 && try.typeInter < graph.SYS &&
		(best.nChannels == 0 || try.typeInter < best.typeInter || try.typeInter < graph.PXN) {
		try.typeInter++
		return true
	}
	try.typeInter = graph.PIX
	if cross == 2 && try.crossNic == 0 {
		try.crossNic = 1
		return true
	}
	try.crossNic = 0
	if cross == 1 {
		try.crossNic = 1
	}
	if *si < len(s)-1 && (best.nChannels == 0 || float64(float32(s[*si+1]/best.bwInter)) > 0.49) {
		*si++
		try.bwInter, try.bwIntra = s[*si], s[*si]
		return true
	}
	return false
}

// raise is the second pass.
func (l *lit) raise(s []float32, si *int) bool {
	best, try := &l.best, &l.try
	if best.pattern == rings.Ring {
		*si--
		try.bwIntra, try.bwInter = s[*si], s[*si]
		return true
	}
	if best.pattern == rings.NVLS && try.bwInter == best.bwInter && try.bwInter < try.bwIntra*2 {
		try.minChannels, try.maxChannels = best.nChannels, best.nChannels
		*si--
		try.bwInter = s[*si]
		return true
	}
	if try.bwIntra == best.bwIntra && try.bwIntra < try.bwInter*2 {
		*si--
		try.bwIntra = s[*si]
		return true
	}
	return false
}

func (l *lit) duplicate() {
	b, nGPU := &l.best, len(l.gpus)
	if b.nChannels == 0 || b.pattern == rings.NVLS || b.bwIntra < 25 || l.ccMin > 80 && b.bwIntra < 50 && b.nChannels > 4 {
		return
	}
	d := min(2*b.nChannels, b.maxChannels)
	for c := b.nChannels; c < d; c++ {
		for i := range nGPU {
			b.intra[c*nGPU+i] = b.intra[(c-b.nChannels)*nGPU+i]
		}
		for i := range 2 {
			b.inter[2*c+i] = b.inter[2*(c-b.nChannels)+i]
		}
	}
	k := float32((d + b.nChannels - 1) / b.nChannels)
	b.bwIntra, b.bwInter, b.nChannels = b.bwIntra/k, b.bwInter/k, d
}

func (l *lit) load(p *rings.Set) {
	b := &l.best
	b.pattern, b.crossNic, b.nChannels, b.sameChannels = p.Pattern, p.CrossNIC, p.NChannels, p.SameChannels
	b.bwIntra, b.bwInter, b.latencyInter = p.BWIntra, p.BWInter, p.LatencyInter
	b.typeIntra, b.typeInter = p.TypeIntra, p.TypeInter
	for c, ranks := range p.Intra {
		copy(b.intra[c*len(l.gpus):], ranks)
	}
	for c, nets := range p.Inter {
		copy(b.inter[2*c:], nets[:])
	}
}

func (l *lit) set() rings.Set {
	b, n := &l.best, len(l.gpus)
	s := rings.Set{
		Pattern: b.pattern, CrossNIC: b.crossNic, NChannels: b.nChannels, SameChannels: b.sameChannels,
		BWIntra: b.bwIntra, BWInter: b.bwInter, LatencyInter: b.latencyInter,
		TypeIntra: b.typeIntra, TypeInter: b.typeInter, NHops: b.nHops,
		Intra: [][]int{}, Inter: [][2]int64{},
	}
	for c := range b.nChannels {
		s.Intra = append(s.Intra, append([]int{}, b.intra[c*n:(c+1)*n]...))
		if len(l.nets) > 0 {
			s.Inter = append(s.Inter, [2]int64{b.inter[2*c], b.inter[2*c+1]})
		}
	}
	return s
}
