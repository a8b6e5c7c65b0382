package rings

import "github.com/ringtopo/ringtopo/graph"

// startFromNets starts a channel at each network device in turn.
func (s *searcher) startFromNets(p plan, time *int) {
	ch := s.try.nChannels
	bw := float32(int(s.try.bwInter)) // the device is charged in whole GB/s
	nets := s.chooseNets(s.try.typeInter, -1)
	for i := range nets {
		x := nets[(ch+i)%len(nets)]
		if s.netBW[x] < bw {
			continue
		}
		if s.try.crossNIC != 0 && ch&1 == 1 && s.nets[x].id != s.try.inter[2*(ch-1)+1] {
			continue // an odd channel starts where the one before it ended
		}
		s.try.inter[2*ch] = s.nets[x].id
		s.try.latencyInter = s.nets[x].latency
		s.chargePort(x, -bw)
		if s.try.pattern == NVLS {
			head := s.localGPUs[x]
			if ch >= len(nets) {
				s.chargePort(x, bw)
				continue
			}
			if head >= 0 && s.heads(head, ch) {
				continue // NCCL forgets to give the port's bandwidth back here
			}
			if head >= 0 {
				s.tryGPU(s.legFromNet(x, head), head, 0, p, time)
			}
			s.chargePort(x, bw)
			return
		}
		s.startFromNet(x, bw, p, time)
		s.chargePort(x, bw)
	}
}

// chargePort adds bw to what is left on every device that shares x's port.
func (s *searcher) chargePort(x int, bw float32) {
	for y := range s.nets {
		if s.nets[y].asic == s.nets[x].asic && s.nets[y].port == s.nets[x].port {
			s.netBW[y] += bw
		}
	}
}

// heads tells whether a GPU heads one of the first n channels.
func (s *searcher) heads(g, n int) bool {
	for c := range n {
		if s.try.intra[c*s.nGPU] == g {
			return true
		}
	}
	return false
}

func (s *searcher) startFromNet(x int, bw float32, p plan, time *int) {
	ch := s.try.nChannels
	if ch > 0 {
		g := s.try.intra[(ch-1)*s.nGPU]
		s.tryGPU(s.legFromNet(x, g), g, 0, p.with(orderReplay), time)
	}
	if ch > 0 && s.try.sameChannels != 0 {
		return
	}
	if ch == 0 && s.nNVS == 0 {
		budget := timeoutPCI
		s.tryGPU(s.legFromNet(x, 0), 0, 0, p.with(orderPCI), &budget)
		if budget == timePerfect {
			*time = timePerfect
		}
	}
	s.startNearby(x, bw, p, time)
}

// startNearby starts at each GPU that is nearest to the network.
func (s *searcher) startNearby(x int, bw float32, p plan, time *int) {
	var maxBW float32
	minHops := 0xfffffff
	for g := range s.nGPU {
		q := s.interPath(x, g)
		if q.bw > maxBW {
			maxBW, minHops = q.bw, len(q.steps)
		} else if q.bw == maxBW {
			minHops = min(minHops, len(q.steps))
		}
	}
	if maxBW < bw {
		return
	}
	ch := s.try.nChannels
	for j := range s.nGPU {
		g := (ch + j) % s.nGPU
		if q := s.interPath(x, g); q.bw == maxBW && len(q.steps) == minHops {
			s.tryGPU(s.legFromNet(x, g), g, 0, p, time)
		}
	}
}

// backToNet leaves the node from a GPU, by each device that fits in turn.
func (s *searcher) backToNet(g, step int, p plan, time *int) {
	ch := s.try.nChannels
	start := s.startNet(ch)
	for _, x := range s.chooseNets(s.try.typeInter, g) {
		if !s.mayEndAt(x, start, ch) {
			continue
		}
		next := plan{-1, p.backToFirst, p.order}
		saved := s.try.bwInter
		balanced := s.try.pattern == BalancedTree
		if balanced {
			// Two GPUs share the way out, half each: the first and the second.
			if step == 0 {
				next.backToNet = 1
			} else if s.nets[x].id != s.try.inter[2*ch+1] {
				continue
			}
			s.try.bwInter /= 2
		}
		l := s.legToNet(g, x)
		ok := s.follow(l, 1)
		s.try.bwInter = saved
		if !ok {
			continue
		}
		s.try.inter[2*ch+1] = s.nets[x].id
		s.visit(g, step, next, time)
		if balanced {
			s.try.bwInter /= 2
		}
		s.follow(l, -1)
		s.try.bwInter = saved
	}
}

// startNet is the index of the network that channel ch starts from.
func (s *searcher) startNet(ch int) int {
	for i := range s.nets {
		if s.nets[i].id == s.try.inter[2*ch] {
			return i
		}
	}
	return 0
}

func (s *searcher) mayEndAt(x, start, ch int) bool {
	a, b := &s.nets[x], &s.nets[start]
	if s.try.pattern == Tree && a.id != b.id {
		return false
	}
	if s.try.crossNIC != 1 && (a.asic != b.asic || a.port != b.port) {
		return false
	}
	return s.try.crossNIC == 0 || ch&1 == 0 || a.id == s.try.inter[2*(ch-1)]
}

// chooseNets lists the networks to try up to a path type: each GPU's own first,
// then by path type. gpu is an index, or -1 for all.
func (m *machine) chooseNets(limit graph.PathType, gpu int) []int {
	key := int(limit)*(m.nGPU+1) + gpu + 1
	if nets, ok := m.netChoices[key]; ok {
		return nets
	}
	gpus := []int{gpu}
	if gpu < 0 {
		gpus = gpus[:0]
		for g := range m.nGPU {
			gpus = append(gpus, g)
		}
	}
	var nets []int
	seen := make([]bool, m.nNet)
	add := func(n int) {
		if !seen[n] {
			seen[n] = true
			nets = append(nets, n)
		}
	}
	for _, g := range gpus {
		for _, n := range m.localNets[g] {
			add(n)
		}
	}
	for t := graph.LOC; t <= limit; t++ {
		for _, g := range gpus {
			for n := range min(m.nNet, MaxChannels) {
				if m.gpuToNet[g*m.nNet+n].typ == t {
					add(n)
				}
			}
		}
	}
	m.netChoices[key] = nets
	return nets
}
