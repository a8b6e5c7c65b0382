package rings

import "slices"

// nextGPUs appends to the scratch list the GPUs that may follow g at a step,
// best first, where an NVSwitch or a network decides what is best.
func (s *searcher) nextGPUs(g, step int, p plan) {
	if s.nNVS > 0 {
		s.nextNeighbours(g)
		return
	}
	base := len(s.scratch)
	bit := uint64(1) << s.try.nChannels
	start := s.startNet(s.try.nChannels)
	for _, c := range s.candidates[g] {
		if s.used[c.gpu]&bit == 0 {
			s.insertByNet(base, start, c)
		}
	}
	if p.backToNet != step+1 && alike(s.scratch[base:]) {
		slices.Reverse(s.scratch[base:])
	}
}

// insertByNet keeps the scratch list from base on sorted by how well each GPU
// reaches the network the channel started from, and only then by candidate
// order, in which they arrive.
func (s *searcher) insertByNet(base, net int, c candidate) {
	s.scratch = append(s.scratch, c)
	i := len(s.scratch) - 1
	k := s.netScore(net, c.gpu)
	for ; i > base && k.before(s.netScore(net, s.scratch[i-1].gpu)); i-- {
		s.scratch[i] = s.scratch[i-1]
	}
	s.scratch[i] = c
}

// netScore says how well a GPU reaches a network; its own PCI link counts with
// what is left on it.
type netScore struct{ bw, pciBW, hops int }

func (s *searcher) netScore(net, gpu int) netScore {
	q := s.interPath(net, gpu)
	k := netScore{bw: int(q.bw), pciBW: -1, hops: len(q.steps)}
	if l := s.pciLinks[gpu]; l[0] >= 0 {
		k.pciBW = int(min(s.capacity[l[0]], s.capacity[l[1]]))
	}
	return k
}

func (k netScore) before(o netScore) bool {
	switch {
	case k.bw != o.bw:
		return k.bw > o.bw
	case k.pciBW != o.pciBW:
		return k.pciBW > o.pciBW
	}
	return k.hops < o.hops
}

func alike(cs []candidate) bool {
	for i := range cs {
		if cs[i].bw != cs[0].bw || cs[i].hops != cs[0].hops {
			return false
		}
	}
	return true
}

// nextNeighbours offers only the neighbours in index order: behind an NVSwitch
// all are equally near. Rings go down, split trees up first.
func (s *searcher) nextNeighbours(g int) {
	prev, next := (g-1+s.nGPU)%s.nGPU, (g+1)%s.nGPU
	switch s.try.pattern {
	case Ring:
		s.offer(g, prev)
		if next != prev {
			s.offer(g, next)
		}
	case SplitTree, BalancedTree:
		s.offer(g, next)
		if next != prev {
			s.offer(g, prev)
		}
	default:
		s.offer(g, next)
	}
}

func (s *searcher) offer(g, x int) {
	free := s.used[x]&(1<<s.try.nChannels) == 0
	if x != g && free && len(s.gpuToGPU[g*s.nGPU+x].steps) > 0 {
		s.scratch = append(s.scratch, candidate{gpu: x})
	}
}
