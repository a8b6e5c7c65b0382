package rings_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

const (
	byScore = 0
	byPCI   = 1
	replay  = 2
)

func (l *lit) index(rank int) int {
	return slices.IndexFunc(l.gpus, func(n *graph.Node) bool { return n.GPU.Rank == rank })
}

func litBetter(try, best *litGraph, nGPU int) bool {
	if try.nChannels < try.minChannels {
		return false
	}
	if try.pattern == rings.NVLS {
		return try.nChannels > best.nChannels && try.nChannels <= nGPU ||
			float32(float32(try.nChannels)*try.bwInter) > float32(float32(best.nChannels)*best.bwInter)
	}
	a, b := float32(float32(try.nChannels)*try.bwIntra), float32(float32(best.nChannels)*best.bwIntra)
	if a > b {
		return true
	}
	if a < b {
		return false
	}
	return try.pattern == best.pattern && try.crossNic == best.crossNic && try.nHops < best.nHops
}

func litTake(x *float32, bw float32) {
	t := float32(float32(*x-bw) * 1000)
	*x = float32(float32(math.Round(float64(t))) / 1000)
}

func (l *lit) walk(p graph.Path, start *graph.Node, steps int, bw float32) int {
	pciBW := bw
	for _, k := range p.Links {
		if k.To.Type == graph.CPU && p.Type == graph.PHB && start.Type == graph.GPU &&
			k.To.CPU.Arch == topo.ArchX86 && k.To.CPU.Vendor == topo.VendorIntel {
			pciBW = float32(float32(bw*6) / 5)
		}
	}
	for step := range steps {
		k := p.Links[step]
		f, v := bw, float32(0)
		if k.Type == graph.LinkPCI {
			f = pciBW
		}
		if k.To.Type == graph.GPU && k.To.GPU.SM < 80 && start.Type != graph.GPU {
			v += f / 8
		}
		if k.To.Type == graph.CPU && k.To.CPU.Arch == topo.ArchPOWER && k.Type == graph.LinkNVL {
			v += f
		}
		var back *graph.Link
		if v != 0 {
			i := slices.IndexFunc(k.To.Links, func(b *graph.Link) bool { return b.To == k.From && b.Type == k.Type })
			back = k.To.Links[i]
		}
		if l.bw[k] < f || v != 0 && l.bw[back] < v {
			return step
		}
		left := l.bw[k]
		litTake(&left, f)
		l.bw[k] = left
		if v != 0 {
			left := l.bw[back]
			litTake(&left, v)
			l.bw[back] = left
		}
	}
	return steps
}

// follow takes (mult 1) or gives back (mult -1) along the path from a to b; a
// nil a costs nothing.
func (l *lit) follow(a, b *graph.Node, mult float32) bool {
	if a == nil {
		return true
	}
	p, _ := l.g.Path(a, b)
	q, _ := l.g.Path(b, a)
	inside := func(n *graph.Node) bool { return n.Type == graph.GPU || n.Type == graph.NVS }
	bw, limit := l.try.bwInter, l.try.typeInter
	if inside(a) && inside(b) {
		bw, limit = l.try.bwIntra, l.try.typeIntra
	}
	tree := l.try.pattern == rings.BalancedTree || l.try.pattern == rings.SplitTree || l.try.pattern == rings.Tree
	if mult == 1 && (p.Type > limit || tree && q.Type > limit) {
		return false
	}
	bw = float32(bw * mult)
	if steps := l.walk(p, a, p.Hops(), bw); steps < p.Hops() {
		l.walk(p, a, steps, -bw)
		return false
	}
	l.try.nHops = int(float32(float32(l.try.nHops) + mult*float32(p.Hops())))
	return true
}

func (l *lit) tryGPU(from *graph.Node, g, step, backToNet, backToFirst, order int, time *int) {
	if !l.follow(from, l.gpus[g], 1) {
		return
	}
	bit := uint64(1) << l.try.nChannels
	l.used[g] ^= bit
	l.recGPU(g, step, backToNet, backToFirst, order, time)
	l.used[g] ^= bit
	l.follow(from, l.gpus[g], -1)
}

func (l *lit) rec(time *int) {
	try, n := &l.try, len(l.gpus)
	backToNet, backToFirst := -1, -1
	switch net := len(l.nets) > 0; {
	case net && try.pattern == rings.Ring:
		backToNet = n - 1
	case net && try.pattern == rings.SplitTree:
		backToNet = 1
	case net:
		backToNet = 0
	case try.pattern == rings.Ring:
		backToFirst = n - 1
	}
	ch := try.nChannels
	if len(l.nets) > 0 {
		l.recNet(backToNet, backToFirst, time)
		return
	}
	if try.pattern == rings.NVLS {
		l.tryGPU(nil, ch, 0, backToNet, backToFirst, byScore, time)
		return
	}
	if ch == 0 {
		l.tryGPU(nil, 0, 0, backToNet, backToFirst, byPCI, time)
	} else {
		l.tryGPU(nil, l.index(try.intra[(ch-1)*n]), 0, backToNet, backToFirst, replay, time)
	}
	if try.sameChannels == 0 || ch == 0 {
		for g := range n {
			l.tryGPU(nil, g, 0, backToNet, backToFirst, byScore, time)
		}
	}
}

func (l *lit) recGPU(g, step, backToNet, backToFirst, order int, time *int) {
	if *time <= 0 {
		return
	}
	*time--
	try, n := &l.try, len(l.gpus)
	if step == n {
		try.nChannels++
		if litBetter(try, &l.best, n) {
			l.best = *try
			if try.nChannels == try.maxChannels {
				*time = -1
			}
		}
		if try.nChannels < try.maxChannels {
			l.rec(time)
		}
		try.nChannels--
		return
	}
	ch := try.nChannels
	try.intra[ch*n+step] = l.gpus[g].GPU.Rank
	switch {
	case step == backToNet:
		l.toNet(g, step, backToFirst, order, time)
	case try.pattern == rings.NVLS:
		l.tryNVLS(g, time)
	case step < n-1:
		next := []int{step + 1}
		if order == replay {
			next = []int{l.index(try.intra[(ch-1)*n+step+1])}
		}
		if order == byScore {
			mode := -1
			if backToNet == -1 {
				mode = 0
			} else if backToNet == step+1 {
				mode = 1
			}
			next = l.nextGPUs(g, mode)
		}
		for _, x := range next {
			l.tryGPU(l.gpus[g], x, step+1, backToNet, backToFirst, order, time)
		}
	case step == backToFirst:
		f := l.index(try.intra[ch*n])
		if l.follow(l.gpus[g], l.gpus[f], 1) {
			l.recGPU(f, step+1, backToNet, -1, order, time)
			l.follow(l.gpus[g], l.gpus[f], -1)
		}
	default:
		l.recGPU(g, n, -1, -1, order, time)
	}
}

func (l *lit) toNet(g, step, backToFirst, order int, time *int) {
	try := &l.try
	ch := try.nChannels
	start := l.nets[slices.IndexFunc(l.nets, func(n *graph.Node) bool { return int64(n.NodeID) == try.inter[2*ch] })]
	for _, i := range l.selectNets(try.typeInter, g) {
		x := l.nets[i]
		id := int64(x.NodeID)
		if try.pattern == rings.Tree && x.NodeID != start.NodeID ||
			try.crossNic != 1 && (x.Net.Asic != start.Net.Asic || x.Net.Port != start.Net.Port) ||
			try.crossNic != 0 && ch%2 == 1 && id != try.inter[2*(ch-1)] {
			continue
		}
		nextBack, saved := -1, try.bwInter
		if try.pattern == rings.BalancedTree {
			if step == 0 {
				nextBack = 1
			} else if id != try.inter[2*ch+1] {
				continue
			}
			try.bwInter /= 2
		}
		ok := l.follow(l.gpus[g], x, 1)
		try.bwInter = saved
		if !ok {
			continue
		}
		try.inter[2*ch+1] = id
		l.recGPU(g, step, nextBack, backToFirst, order, time)
		if try.pattern == rings.BalancedTree {
			try.bwInter /= 2
		}
		l.follow(l.gpus[g], x, -1)
		try.bwInter = saved
	}
}

func (l *lit) tryNVLS(g int, time *int) {
	nvs, n := l.nvs[0], len(l.gpus)
	mult := func(d int) float32 {
		if d == g {
			return 2
		}
		return 1
	}
	down := 0
	for down < n && l.follow(nvs, l.gpus[down], mult(down)) {
		down++
	}
	up := 0
	for down == n && up < n && l.follow(l.gpus[up], nvs, mult(up)) {
		up++
	}
	if up == n {
		l.recGPU(-1, n, -1, -1, byScore, time)
	}
	for d := up - 1; d >= 0; d-- {
		l.follow(l.gpus[d], nvs, -mult(d))
	}
	for d := down - 1; d >= 0; d-- {
		l.follow(nvs, l.gpus[d], -mult(d))
	}
}

type litScore struct{ g, startIndex, intraHops, intraBW, interHops, interBW, pciBW int }

func (l *lit) nextGPUs(g, mode int) []int {
	n, ch := len(l.gpus), l.try.nChannels
	var scores []litScore
	for i := 1; i < n; i++ {
		x := (g + i) % n
		p, _ := l.g.Path(l.gpus[g], l.gpus[x])
		if p.Hops() == 0 || l.used[x]>>ch&1 == 1 {
			continue
		}
		s := litScore{g: x, startIndex: i, intraHops: p.Hops(), intraBW: int(p.BW)}
		if mode != 0 {
			start := slices.IndexFunc(l.nets, func(n *graph.Node) bool { return int64(n.NodeID) == l.try.inter[2*ch] })
			e, _ := l.g.Path(l.nets[start], l.gpus[x])
			s.interHops, s.interBW, s.pciBW = e.Hops(), int(e.BW), l.pciBW(l.gpus[x])
		}
		scores = append(scores, s)
	}
	slices.SortFunc(scores, func(a, b litScore) int {
		return cmp.Or(cmp.Compare(b.interBW, a.interBW), cmp.Compare(b.pciBW, a.pciBW), cmp.Compare(a.interHops, b.interHops),
			cmp.Compare(b.intraBW, a.intraBW), cmp.Compare(a.intraHops, b.intraHops), cmp.Compare(a.startIndex, b.startIndex))
	})
	if mode == -1 && !slices.ContainsFunc(scores, func(s litScore) bool {
		return s.intraBW != scores[0].intraBW || s.intraHops != scores[0].intraHops
	}) {
		slices.Reverse(scores)
	}
	var list []int
	for _, s := range scores {
		list = append(list, s.g)
	}
	if len(l.nvs) == 0 {
		return list
	}
	prev, next := (g-1+n)%n, (g+1)%n
	candidates := []int{next}
	switch l.try.pattern {
	case rings.Ring:
		candidates = []int{next, prev}
	case rings.SplitTree, rings.BalancedTree:
		candidates = []int{prev, next}
	}
	if next == prev {
		candidates = candidates[:1]
	}
	count := 0
	for _, c := range candidates {
		if i := slices.Index(list, c); i >= 0 {
			list = slices.Insert(slices.Delete(list, i, i+1), 0, c)
			count++
		}
	}
	return list[:count]
}

func (l *lit) pciBW(x *graph.Node) int {
	for _, k := range x.Links {
		if k.Type != graph.LinkPCI {
			continue
		}
		for _, b := range k.To.Links {
			if b.To == x {
				return int(min(l.bw[k], l.bw[b]))
			}
		}
	}
	return -1
}
