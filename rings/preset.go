package rings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// Preset is the content of a graph file for one node; absent sets are nil.
type Preset struct{ Ring, Tree, NVLS *Set }

// ErrPreset is wrapped by errors about a preset that does not fit the node.
var ErrPreset = errors.New("the preset does not fit the node")

func (p Preset) check(m *machine) error {
	for _, s := range []*Set{p.Ring, p.Tree, p.NVLS} {
		if s == nil {
			continue
		}
		if err := s.check(m); err != nil {
			return err
		}
	}
	return nil
}

// check makes sure that a set can be taken over or, without channels, be
// searched from.
func (s *Set) check(m *machine) error {
	if s.NChannels > MaxChannels || len(s.Intra) > MaxChannels || len(s.Inter) > MaxChannels {
		return fmt.Errorf("%w: it has more than %d channels", ErrPreset, MaxChannels)
	}
	if s.NChannels <= 0 && (s.Pattern < BalancedTree || s.Pattern > NVLS) {
		return fmt.Errorf("%w: it has no channels, and those of pattern %d cannot be searched for", ErrPreset, s.Pattern)
	}
	if farthest := max(s.TypeIntra, s.TypeInter); farthest > graph.DIS {
		return fmt.Errorf("%w: there is no path type %d", ErrPreset, uint8(farthest))
	}
	for c, ranks := range s.Intra {
		if len(ranks) > m.nGPU {
			return fmt.Errorf("%w: channel %d names %d ranks, but the node has %d GPUs", ErrPreset, c, len(ranks), m.nGPU)
		}
		for i, rank := range ranks {
			if s.counts(i) && !slices.Contains(m.ranks, rank) {
				return fmt.Errorf("%w: channel %d names rank %d; the node has %v", ErrPreset, c, rank, m.ranks)
			}
		}
	}
	return nil
}

// counts tells whether the rank at a place of a channel means something.
func (s *Set) counts(i int) bool { return i == 0 || s.Pattern != NVLS }

// load takes over a set from a graph file.
func (r *record) load(s *Set, m *machine) {
	r.pattern, r.crossNIC, r.sameChannels = s.Pattern, s.CrossNIC, s.SameChannels
	r.nChannels = max(0, s.NChannels)
	r.bwIntra, r.bwInter, r.latencyInter = s.BWIntra, s.BWInter, s.LatencyInter
	r.typeIntra, r.typeInter = s.TypeIntra, s.TypeInter
	for c, ranks := range s.Intra {
		for i, rank := range ranks {
			if s.counts(i) {
				r.intra[c*m.nGPU+i] = slices.Index(m.ranks, rank)
			}
		}
	}
	for c, nets := range s.Inter {
		copy(r.inter[2*c:], nets[:])
	}
}
