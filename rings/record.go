package rings

import "github.com/ringtopo/ringtopo/graph"

// record is a set of channels in the making.
type record struct {
	pattern                  Pattern
	crossNIC                 int
	minChannels, maxChannels int
	nChannels                int
	sameChannels             int
	bwIntra, bwInter         float32
	latencyInter             float32
	typeIntra, typeInter     graph.PathType
	nHops                    int
	intra                    []int   // GPU indexes, nGPU per channel
	inter                    []int64 // network ids, two per channel
}

func newRecord(nGPU int) record {
	return record{intra: make([]int, MaxChannels*nGPU), inter: make([]int64, 2*MaxChannels)}
}

// copyFrom makes r equal to o; ranks and networks as far as o has channels.
func (r *record) copyFrom(o *record, nGPU int) {
	intra, inter := r.intra, r.inter
	*r = *o
	r.intra, r.inter = intra, inter
	copy(r.intra, o.intra[:o.nChannels*nGPU])
	copy(r.inter, o.inter[:2*o.nChannels])
}

// better tells whether try beats best: more bandwidth in all, then fewer hops.
func better(try, best *record, nGPU int) bool {
	if try.nChannels < try.minChannels {
		return false
	}
	if try.pattern == NVLS {
		return try.nChannels > best.nChannels && try.nChannels <= nGPU ||
			float32(try.nChannels)*try.bwInter > float32(best.nChannels)*best.bwInter
	}
	a, b := float32(try.nChannels)*try.bwIntra, float32(best.nChannels)*best.bwIntra
	if a != b {
		return a > b
	}
	return try.pattern == best.pattern && try.crossNIC == best.crossNIC && try.nHops < best.nHops
}

// duplicate splits fast channels in two, for more parallelism.
func (r *record) duplicate(m *machine) {
	if r.nChannels == 0 || r.pattern == NVLS || r.bwIntra < 25 {
		return
	}
	if m.minSM > 80 && r.bwIntra < 50 && r.nChannels > 4 {
		return
	}
	n := min(2*r.nChannels, r.maxChannels)
	if n > r.nChannels {
		copy(r.intra[r.nChannels*m.nGPU:n*m.nGPU], r.intra)
		copy(r.inter[2*r.nChannels:2*n], r.inter)
	}
	k := float32((n + r.nChannels - 1) / r.nChannels)
	r.bwIntra /= k
	r.bwInter /= k
	r.nChannels = n
}

// simpleOrder is what remains where no channel was found: one, in index order.
func (r *record) simpleOrder(nGPU int) {
	for g := range nGPU {
		r.intra[g] = g
	}
	r.inter[0], r.inter[1] = 0, 0
	r.bwIntra, r.bwInter = 0.1, 0.1
	r.typeIntra, r.typeInter = graph.SYS, graph.SYS
	r.nChannels = 1
}

func (r *record) set(m *machine) Set {
	s := Set{
		Pattern: r.pattern, CrossNIC: r.crossNIC, NChannels: r.nChannels, SameChannels: r.sameChannels,
		BWIntra: r.bwIntra, BWInter: r.bwInter, LatencyInter: r.latencyInter,
		TypeIntra: r.typeIntra, TypeInter: r.typeInter, NHops: r.nHops,
		Intra: make([][]int, r.nChannels), Inter: [][2]int64{},
	}
	for c := range s.Intra {
		s.Intra[c] = make([]int, m.nGPU)
		for i, g := range r.intra[c*m.nGPU : (c+1)*m.nGPU] {
			if i == 0 || r.pattern != NVLS {
				s.Intra[c][i] = m.ranks[g]
			}
		}
		if m.nNet > 0 {
			s.Inter = append(s.Inter, [2]int64{r.inter[2*c], r.inter[2*c+1]})
		}
	}
	return s
}
