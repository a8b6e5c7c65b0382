package rings

import "github.com/ringtopo/ringtopo/graph"

// Speeds that a channel may have, GB/s, by network and GPU generation.
var (
	speedsLocal     = []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	speedsNet       = []float32{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}
	speedsLocalSM90 = []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	speedsNetSM90   = []float32{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}
)

// A search is given up after so many steps: with all channels alike, with
// channels of their own, and in all before a worse solution is accepted.
const (
	timeoutSame   = 256
	timeoutOwn    = 16384
	timeoutGlobal = 524288
	timeoutPCI    = 1024 // of the very first try, GPUs in index order
	timePerfect   = -1   // left by a search that cannot be improved upon
)

func (m *machine) speeds() []float32 {
	switch {
	case m.nNet == 0 && m.minSM < 90:
		return speedsLocal
	case m.nNet == 0:
		return speedsLocalSM90
	case m.minSM < 90:
		return speedsNet
	}
	return speedsNetSM90
}

// request is one search to be made.
type request struct {
	pattern                  Pattern
	minChannels, maxChannels int
	preset                   *Set
}

// searcher runs the searches of one node, one after the other.
type searcher struct {
	*machine
	crossSetting CrossNIC
	try, best    record
	improvements int      // how often best was replaced
	used         []uint64 // per GPU, one bit per channel
	scratch      []candidate
}

// compute runs one search: first by lowering demands until something is found
// and cannot be improved by lowering them further, then by raising the speed of
// what was found.
func (s *searcher) compute(r request) Set {
	o := s.begin(r)
	if r.preset != nil {
		s.best.load(r.preset, s.machine)
		if s.best.nChannels > 0 {
			return s.best.set(s.machine)
		}
	}
	if s.best.pattern == NVLS && (s.nNVS == 0 || s.minSM < 90) {
		return s.best.set(s.machine)
	}
	o.prepare()
	o.lowerDemands()
	s.best.duplicate(s.machine)
	o.raiseSpeed()
	if s.best.nChannels == 0 && s.best.pattern != NVLS {
		s.best.simpleOrder(s.nGPU)
	}
	return s.best.set(s.machine)
}

// outer is the state of one search around its runs.
type outer struct {
	*searcher
	cross       CrossNIC
	sameDefault int
	startIntra  graph.PathType
	speeds      []float32
	si          int // index of the speed being tried
	time        int // left by the last run
	globalTime  int
	known       history
}

func (s *searcher) begin(r request) *outer {
	s.try, s.best = newRecord(s.nGPU), newRecord(s.nGPU)
	s.used = make([]uint64, s.nGPU)
	o := &outer{searcher: s, sameDefault: 1, startIntra: graph.NVL, speeds: s.machine.speeds(), globalTime: timeoutGlobal}
	if s.nNet > 1 && (r.pattern == Ring || r.pattern == BalancedTree || r.pattern == SplitTree) {
		o.cross = s.crossSetting
	}
	if r.pattern == NVLS {
		o.sameDefault = 0
	}
	if s.nGPU == 1 {
		o.startIntra = graph.LOC
	}
	b := &s.best
	b.pattern, b.minChannels, b.maxChannels = r.pattern, r.minChannels, r.maxChannels
	b.typeIntra, b.typeInter, b.sameChannels = o.startIntra, graph.PIX, o.sameDefault
	b.crossNIC = o.alwaysCross()
	return o
}

func (o *outer) alwaysCross() int {
	if o.cross == CrossAlways {
		return 1
	}
	return 0
}

func (o *outer) prepare() {
	b := &o.best
	if b.pattern == NVLS {
		b.maxChannels = min(o.nGPU, MaxChannels)
	}
	if o.nGPU == 1 && b.pattern != Ring {
		b.pattern = Tree
	}
	if o.nNet == 0 && b.pattern == NVLS {
		b.minChannels = b.maxChannels
	}
	o.try.copyFrom(b, o.nGPU)
	total := o.totalBW
	if o.nGPU > 1 && b.pattern != Ring {
		total = float32(float64(total) * (float64(o.nGPU) / float64(o.nGPU-1)))
	}
	for o.si < len(o.speeds)-1 && (o.speeds[o.si] > o.maxBW || o.speeds[o.si]*float32(b.minChannels) > total) {
		o.si++
	}
	o.setSpeed()
}

func (o *outer) setSpeed() { o.try.bwIntra, o.try.bwInter = o.speeds[o.si], o.speeds[o.si] }

// run makes one search with the demands as they stand in try.
func (o *outer) run() {
	o.time = o.budget()
	o.globalTime -= o.time
	o.try.nChannels = 0
	o.startChannel(&o.time)
}

func (o *outer) budget() int {
	if o.try.sameChannels != 0 {
		return timeoutSame
	}
	return timeoutOwn
}

// lowerDemands is the first pass: it relaxes one demand after the other, in a
// fixed order, until the best found cannot be beaten.
func (o *outer) lowerDemands() {
	for {
		o.runUnlessKnown()
		if o.time == timePerfect || float32(o.best.nChannels)*o.best.bwInter >= o.totalBW {
			return
		}
		if o.try.sameChannels == 1 && !(o.amd && o.try.typeIntra == graph.SYS) {
			o.try.sameChannels = 0
			continue
		}
		o.try.sameChannels = o.sameDefault
		o.globalTime += o.time
		if o.globalTime < 0 && o.best.nChannels > 0 || !o.relax() {
			return
		}
	}
}

// relax lowers the next demand; false when all are at their lowest.
func (o *outer) relax() bool {
	t, b := &o.try, &o.best
	if o.minSM >= 90 && t.pattern == BalancedTree {
		t.pattern = Tree
		return true
	}
	t.pattern = b.pattern

	maxIntra := graph.SYS
	if o.nNet > 0 {
		maxIntra = t.typeInter
	}
	if t.typeIntra < maxIntra && (b.nChannels == 0 || t.typeIntra < b.typeIntra) {
		t.typeIntra++
		return true
	}
	t.typeIntra = o.startIntra

	if o.nNet > 0 && t.typeInter < graph.SYS &&
		(b.nChannels == 0 || t.typeInter < b.typeInter || t.typeInter < graph.PXN) {
		t.typeInter++
		return true
	}
	t.typeInter = graph.PIX

	if o.cross == CrossAuto && t.crossNIC == 0 {
		t.crossNIC = 1
		return true
	}
	t.crossNIC = o.alwaysCross()

	if o.si < len(o.speeds)-1 && (b.nChannels == 0 || float64(o.speeds[o.si+1]/b.bwInter) > 0.49) {
		o.si++
		o.setSpeed()
		return true
	}
	return false
}

// raiseSpeed is the second pass: it keeps the channels' number and kind, and
// tries higher speeds.
func (o *outer) raiseSpeed() {
	t, b := &o.try, &o.best
	o.time = timePerfect
	t.copyFrom(b, o.nGPU)
	o.si = 0
	for o.si < len(o.speeds)-1 && o.speeds[o.si] > b.bwInter {
		o.si++
	}
	o.setSpeed()
	t.minChannels = b.nChannels
	for o.time != 0 && o.si > 0 && o.raise() {
		o.run()
	}
}

func (o *outer) raise() bool {
	t, b := &o.try, &o.best
	switch {
	case b.pattern == Ring:
		o.si--
		o.setSpeed()
	case b.pattern == NVLS && t.bwInter == b.bwInter && t.bwInter < t.bwIntra*2:
		t.minChannels, t.maxChannels = b.nChannels, b.nChannels
		o.si--
		t.bwInter = o.speeds[o.si]
	case t.bwIntra == b.bwIntra && t.bwIntra < t.bwInter*2:
		o.si--
		t.bwIntra = o.speeds[o.si]
	default:
		return false
	}
	return true
}
