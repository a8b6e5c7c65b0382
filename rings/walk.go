package rings

// take reduces a capacity and rounds what is left to three decimals, halves
// away from zero, as NCCL does; results depend on these roundings.
func take(capacity *float32, bw float32) {
	t := (*capacity - bw) * 1000
	if t < 0 {
		*capacity = -float32(int64(0.5-float64(t))) / 1000
		return
	}
	*capacity = float32(int64(float64(t)+0.5)) / 1000
}

// walk takes bw (given back if negative) from the first links of a path, up to
// n of them, and tells how many had enough.
func (m *machine) walk(p *path, n int, bw float32) int {
	pciBW := bw
	if p.throughIntelCPU {
		pciBW = bw * 6 / 5
	}
	for i := range n {
		s := &p.steps[i]
		use := bw
		if s.pci {
			use = pciBW
		}
		forth := &m.capacity[s.link]
		if s.backUse == noBack {
			if *forth < use {
				return i
			}
			take(forth, use)
			continue
		}
		backUse := use
		if s.backUse == eighthBack {
			backUse = use / 8
		}
		back := &m.capacity[s.back]
		if *forth < use || backUse != 0 && *back < backUse {
			return i
		}
		take(forth, use)
		if backUse != 0 {
			take(back, backUse)
		}
	}
	return n
}

// takeAll takes bw from every link, or from none where one has too little.
func (m *machine) takeAll(links []int32, bw float32) bool {
	for i, l := range links {
		c := &m.capacity[l]
		if *c < bw {
			m.giveAll(links[:i], bw)
			return false
		}
		take(c, bw)
	}
	return true
}

func (m *machine) giveAll(links []int32, bw float32) {
	for _, l := range links {
		take(&m.capacity[l], -bw)
	}
}

// leg is a way that a channel takes, and the opposite way.
type leg struct {
	there, back *path
	inside      bool // the node, rather than to or from a network
}

func (s *searcher) leg(from, to int) leg {
	return leg{&s.gpuToGPU[from*s.nGPU+to], &s.gpuToGPU[to*s.nGPU+from], true}
}

func (s *searcher) legFromNet(net, gpu int) leg {
	return leg{&s.netToGPU[net*s.nGPU+gpu], &s.gpuToNet[gpu*s.nNet+net], false}
}

func (s *searcher) legToNet(gpu, net int) leg {
	return leg{&s.gpuToNet[gpu*s.nNet+net], &s.netToGPU[net*s.nGPU+gpu], false}
}

// tooFar tells whether a leg's path type is worse than allowed; trees are used
// both ways.
func (s *searcher) tooFar(l leg) bool {
	limit := s.try.typeInter
	if l.inside {
		limit = s.try.typeIntra
	}
	return l.there.typ > limit || s.try.pattern <= Tree && l.back.typ > limit
}

// follow takes a channel's bandwidth along a leg, mult times; it is false, and
// nothing is taken, where the leg is too far or too narrow.
func (s *searcher) follow(l leg, mult int) bool {
	if mult == 1 && s.tooFar(l) {
		return false
	}
	bw := s.try.bwInter
	if l.inside {
		bw = s.try.bwIntra
	}
	bw = float32(bw * float32(mult))
	n := len(l.there.steps)
	if done := s.walk(l.there, n, bw); done < n {
		s.walk(l.there, done, -bw)
		return false
	}
	s.try.nHops += mult * n
	return true
}

// interPath is how far and how wide a network is from a GPU.
func (s *searcher) interPath(net, gpu int) *path { return &s.netToGPU[net*s.nGPU+gpu] }
