package rings

// order is how the next GPU of a channel is chosen.
type order int

const (
	orderByScore order = iota
	orderPCI           // in index order
	orderReplay        // as in the channel before
)

// plan is what does not change along a channel: when it returns to the network
// or to its first GPU, at which step, -1 for never; and how it chooses GPUs.
type plan struct {
	backToNet, backToFirst int
	order                  order
}

func (s *searcher) channelPlan() plan {
	p := plan{backToNet: -1, backToFirst: -1}
	switch {
	case s.nNet > 0 && s.try.pattern == Ring:
		p.backToNet = s.nGPU - 1
	case s.nNet > 0 && s.try.pattern == SplitTree:
		p.backToNet = 1
	case s.nNet > 0:
		p.backToNet = 0
	case s.try.pattern == Ring:
		p.backToFirst = s.nGPU - 1
	}
	return p
}

func (p plan) with(o order) plan {
	p.order = o
	return p
}

// startChannel searches for one more channel, and from there for all further.
// time is a budget of steps; it ends at 0 or, when nothing better can exist, at
// timePerfect.
func (s *searcher) startChannel(time *int) {
	p := s.channelPlan()
	if s.nNet > 0 {
		s.startFromNets(p, time)
		return
	}
	ch := s.try.nChannels
	if s.try.pattern == NVLS {
		s.enter(ch, 0, p, time)
		return
	}
	if ch == 0 {
		s.enter(0, 0, p.with(orderPCI), time)
	} else {
		s.enter(s.try.intra[(ch-1)*s.nGPU], 0, p.with(orderReplay), time)
	}
	if s.try.sameChannels == 0 || ch == 0 {
		for g := range s.nGPU {
			s.enter(g, 0, p, time)
		}
	}
}

// enter puts a GPU at a step of the current channel and searches on from it.
func (s *searcher) enter(g, step int, p plan, time *int) {
	bit := uint64(1) << s.try.nChannels
	s.used[g] ^= bit
	s.visit(g, step, p, time)
	s.used[g] ^= bit
}

// tryGPU goes along a leg to a GPU, if it has the room.
func (s *searcher) tryGPU(l leg, g, step int, p plan, time *int) {
	if !s.follow(l, 1) {
		return
	}
	s.enter(g, step, p, time)
	s.follow(l, -1)
}

// tryNext goes from one GPU to another, if the way has the room.
func (s *searcher) tryNext(from, to, step int, p plan, time *int) {
	l := s.leg(from, to)
	links, bw := l.there.plain, s.try.bwIntra
	if links == nil {
		s.tryGPU(l, to, step, p, time)
		return
	}
	// What follow does, for this case.
	if s.tooFar(l) || !s.takeAll(links, bw) {
		return
	}
	s.try.nHops += len(links)
	s.enter(to, step, p, time)
	s.giveAll(links, bw)
	s.try.nHops -= len(links)
}

// visit records a GPU in the current channel and goes on to the next, back to
// the network, or back to the first GPU; past the last step the channel is
// complete.
func (s *searcher) visit(g, step int, p plan, time *int) {
	if *time <= 0 {
		return
	}
	*time--
	if step == s.nGPU {
		s.complete(time)
		return
	}
	ch := s.try.nChannels
	s.try.intra[ch*s.nGPU+step] = g
	switch {
	case step == p.backToNet:
		s.backToNet(g, step, p, time)
	case s.try.pattern == NVLS:
		s.visitNVLS(g, time)
	case step < s.nGPU-1:
		s.visitNext(g, step, p, time)
	case step == p.backToFirst:
		first := s.try.intra[ch*s.nGPU]
		l := s.leg(g, first)
		if s.follow(l, 1) {
			s.visit(first, step+1, plan{-1, -1, p.order}, time)
			s.follow(l, -1)
		}
	default:
		s.visit(g, s.nGPU, plan{-1, -1, p.order}, time)
	}
}

// complete keeps the channels so far if they are the best, then adds more.
func (s *searcher) complete(time *int) {
	s.try.nChannels++
	if better(&s.try, &s.best, s.nGPU) {
		s.best.copyFrom(&s.try, s.nGPU)
		s.improvements++
		if s.try.nChannels == s.try.maxChannels {
			*time = timePerfect
		}
	}
	if s.try.nChannels < s.try.maxChannels {
		s.startChannel(time)
	}
	s.try.nChannels--
}

func (s *searcher) visitNext(g, step int, p plan, time *int) {
	switch p.order {
	case orderPCI:
		s.tryNext(g, step+1, step+1, p, time)
	case orderReplay:
		next := s.try.intra[(s.try.nChannels-1)*s.nGPU+step+1]
		s.tryNext(g, next, step+1, p, time)
	default:
		if s.nNVS == 0 && p.backToNet == -1 {
			s.visitCandidates(g, step, p, time)
			return
		}
		base := len(s.scratch)
		s.nextGPUs(g, step, p)
		for i := base; i < len(s.scratch); i++ {
			next := s.scratch[i].gpu
			s.tryNext(g, next, step+1, p, time)
		}
		s.scratch = s.scratch[:base]
	}
}

// visitCandidates goes on to each free GPU, where no network has a say in their
// order.
func (s *searcher) visitCandidates(g, step int, p plan, time *int) {
	bit := uint64(1) << s.try.nChannels
	cs := s.candidates[g]
	for i := range cs {
		if next := cs[i].gpu; s.used[next]&bit == 0 {
			s.tryNext(g, next, step+1, p, time)
		}
	}
}

// visitNVLS takes every GPU's share of a multicast channel headed by g: to and
// from the switch, the head's twice.
func (s *searcher) visitNVLS(g int, time *int) {
	share := func(d int) int {
		if d == g {
			return 2
		}
		return 1
	}
	down := func(d int) leg { return leg{&s.nvsToGPU[d], &s.gpuToNVS[d], true} }
	up := func(d int) leg { return leg{&s.gpuToNVS[d], &s.nvsToGPU[d], true} }
	takeAll := func(l func(int) leg) int {
		for d := range s.nGPU {
			if !s.follow(l(d), share(d)) {
				return d
			}
		}
		return s.nGPU
	}
	giveBack := func(l func(int) leg, n int) {
		for d := n - 1; d >= 0; d-- {
			s.follow(l(d), -share(d))
		}
	}
	n := takeAll(down)
	if n == s.nGPU {
		m := takeAll(up)
		if m == s.nGPU {
			s.visit(-1, s.nGPU, plan{-1, -1, orderByScore}, time)
		}
		giveBack(up, m)
	}
	giveBack(down, n)
}
