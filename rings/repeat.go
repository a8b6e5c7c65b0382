package rings

import (
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// demands are all that a run with channels of their own depends on besides what is
// left on links and networks. Path types are the farthest that paths of the node
// have within the limit: a limit that lets no further path in asks for the same
// again.
type demands struct {
	pattern                  Pattern
	crossNIC                 int
	minChannels, maxChannels int
	bwIntra, bwInter         float32
	typeIntra, typeInter     graph.PathType
}

func (s *searcher) demands() demands {
	t := &s.try
	return demands{
		t.pattern, t.crossNIC, t.minChannels, t.maxChannels, t.bwIntra, t.bwInter,
		s.farthestIntra[t.typeIntra], s.farthestInter[t.typeInter],
	}
}

// longRun is how many steps a run takes at least that is worth being remembered.
const longRun = 256

// history holds the long runs since anything changed: the best channels, or what
// is left on links and networks. Each would now take the same steps again and find
// nothing better than it did.
type history struct {
	runs            []pastRun
	capacity, netBW []float32 // that all these runs started from and left behind
	improvements    int       // of the best channels until then
}

type pastRun struct {
	demands
	left int // of its steps
}

// runUnlessKnown is run, but for the work where its outcome is known.
func (o *outer) runUnlessKnown() {
	if o.budget() <= longRun {
		o.run()
		return
	}
	d := o.demands()
	if left, ok := o.known.find(o.searcher, d); ok {
		o.time = left
		o.globalTime -= o.budget()
		return
	}
	o.run()
	if o.budget()-o.time >= longRun {
		o.known.add(o.searcher, pastRun{d, o.time})
	}
}

// find tells how many steps a run left. It forgets all where a run would start
// differently now, and gets ready for the next.
func (h *history) find(s *searcher, d demands) (left int, ok bool) {
	if len(h.runs) > 0 && h.improvements == s.improvements && h.leaves(s) {
		i := slices.IndexFunc(h.runs, func(r pastRun) bool { return r.demands == d })
		if i < 0 {
			return 0, false
		}
		return h.runs[i].left, true
	}
	h.runs, h.improvements = h.runs[:0], s.improvements
	h.capacity = append(h.capacity[:0], s.capacity...)
	h.netBW = append(h.netBW[:0], s.netBW...)
	return 0, false
}

// leaves tells whether links and networks are as the runs left them.
func (h *history) leaves(s *searcher) bool {
	return slices.Equal(s.capacity, h.capacity) && slices.Equal(s.netBW, h.netBW)
}

// add notes a run that has just ended. One that did not leave links and networks
// as they were (it rounded them) does not count, and neither does one that ended
// early because nothing can be better: made again, it would not end there.
func (h *history) add(s *searcher, r pastRun) {
	if r.left == timePerfect || !h.leaves(s) {
		return
	}
	if h.improvements != s.improvements {
		h.runs, h.improvements = h.runs[:0], s.improvements
	}
	h.runs = append(h.runs, r)
}

// farthest gives for every limit the farthest type of any of the paths within it.
func farthest(tables ...[]path) (types [graph.DIS + 1]graph.PathType) {
	var there [graph.DIS + 1]bool
	for _, ps := range tables {
		for i := range ps {
			there[ps[i].typ] = true
		}
	}
	for limit := range types {
		switch {
		case there[limit]:
			types[limit] = graph.PathType(limit)
		case limit > 0:
			types[limit] = types[limit-1]
		}
	}
	return types
}
