package rings_test

import (
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
)

func (l *lit) selectNets(typeInter graph.PathType, only int) (list []int) {
	add := func(i int) {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	each := func(f func(g int, n *graph.Node)) {
		for g, n := range l.gpus {
			if only == -1 || only == g {
				f(g, n)
			}
		}
	}
	each(func(_ int, n *graph.Node) {
		var own []int
		turns := l.g.LocalNets(n)
		for c := range 32 {
			id := turns[c%len(turns)].NodeID
			x := slices.IndexFunc(l.nets, func(n *graph.Node) bool { return n.NodeID == id })
			if len(own) > 0 && x == own[0] {
				break
			}
			own = append(own, x)
		}
		for _, x := range own {
			add(x)
		}
	})
	for t := graph.LOC; t <= typeInter; t++ {
		each(func(_ int, n *graph.Node) {
			for i, x := range l.nets[:min(len(l.nets), 32)] {
				if p, _ := l.g.Path(n, x); p.Type == t {
					add(i)
				}
			}
		})
	}
	return list
}

func (l *lit) recNet(backToNet, backToFirst int, time *int) {
	try, n := &l.try, len(l.gpus)
	ch, bw, found := try.nChannels, int(try.bwInter), false
	nets := l.selectNets(try.typeInter, -1)
	for i := range nets {
		if try.pattern == rings.NVLS && found {
			continue
		}
		xi := nets[(ch+i)%len(nets)]
		x := l.nets[xi]
		id := int64(x.NodeID)
		if l.netBW[xi] < float32(bw) || try.crossNic != 0 && ch%2 == 1 && id != try.inter[2*(ch-1)+1] {
			continue
		}
		try.inter[2*ch] = id
		try.latencyInter = x.Net.Latency
		l.charge(x, -float32(bw))
		if try.pattern == rings.NVLS {
			if ch < len(nets) {
				g := l.g.LocalGPU(x)
				twice := false
				for c := range ch {
					twice = twice || g != nil && g.GPU.Rank == try.intra[c*n]
				}
				if twice {
					continue // not given back
				}
				if g != nil {
					l.tryGPU(x, g.Index, 0, backToNet, backToFirst, byScore, time)
				}
				found = true
			}
			l.charge(x, float32(bw))
			continue
		}
		if ch > 0 {
			l.tryGPU(x, l.index(try.intra[(ch-1)*n]), 0, backToNet, backToFirst, replay, time)
		}
		if ch == 0 || try.sameChannels == 0 {
			l.startFrom(x, ch, bw, backToNet, backToFirst, time)
		}
		l.charge(x, float32(bw))
	}
}

func (l *lit) charge(x *graph.Node, bw float32) {
	for i, y := range l.nets {
		if y.Net.Asic == x.Net.Asic && y.Net.Port == x.Net.Port {
			l.netBW[i] = float32(l.netBW[i] + bw)
		}
	}
}

func (l *lit) startFrom(x *graph.Node, ch, bw, backToNet, backToFirst int, time *int) {
	if ch == 0 && len(l.nvs) == 0 {
		t := 1024
		l.tryGPU(x, 0, 0, backToNet, backToFirst, byPCI, &t)
		if t == -1 {
			*time = -1
		}
	}
	maxBW, minHops := float32(0), 0xfffffff
	for _, g := range l.gpus {
		e, _ := l.g.Path(x, g)
		if e.BW > maxBW {
			maxBW, minHops = e.BW, e.Hops()
		} else if e.BW == maxBW && e.Hops() < minHops {
			minHops = e.Hops()
		}
	}
	if maxBW < float32(bw) {
		return
	}
	for j := range l.gpus {
		g := (ch + j) % len(l.gpus)
		if e, _ := l.g.Path(x, l.gpus[g]); e.BW == maxBW && e.Hops() == minHops {
			l.tryGPU(x, g, 0, backToNet, backToFirst, byScore, time)
		}
	}
}
