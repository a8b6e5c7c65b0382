package rings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// MaxChannels is the most channels a communicator has.
const MaxChannels = 32

// CrossNIC says whether a channel may leave a node by another network card
// than it came in by.
type CrossNIC int

// Settings of NCCL_CROSS_NIC.
const (
	CrossNever CrossNIC = iota
	CrossAlways
	CrossAuto
)

// Multicast says whether NVLS is to be searched for.
type Multicast int

// Settings of NCCL_NVLS_ENABLE: by the hardware, never, or even where the
// hardware seems not to have it.
const (
	MulticastAuto Multicast = iota
	MulticastNever
	MulticastForced
)

// Compat names a version of NCCL whose results come out.
type Compat string

// NCCL2223 is NCCL 2.22.3.
const NCCL2223 Compat = "nccl-2.22.3"

// Options are the settings of a search; use [DefaultOptions] as a start.
type Options struct {
	Compat    Compat
	CrossNIC  CrossNIC
	Multicast Multicast
	// Preset holds what a graph file says. A set with channels is taken as it
	// is; one without is where its search starts from.
	Preset Preset
}

// DefaultOptions are NCCL's.
func DefaultOptions() Options { return Options{Compat: NCCL2223, CrossNIC: CrossAuto} }

// ErrCompat is returned for a version that is not known.
var ErrCompat = errors.New("unknown version to be compatible with")

// Search finds the rings, trees and NVLS heads of one node, in NCCL's order.
// All searches run on one private copy of the capacities, because each leaves
// roundings behind that the next one sees.
func Search(g *graph.Graph, opt Options) (*Result, error) {
	if opt.Compat != NCCL2223 {
		return nil, fmt.Errorf("%w: %q (there is %q)", ErrCompat, opt.Compat, NCCL2223)
	}
	m, err := compile(g)
	if err != nil {
		return nil, err
	}
	if err := opt.Preset.check(m); err != nil {
		return nil, err
	}
	s := &searcher{machine: m, crossSetting: opt.CrossNIC}
	ring := s.compute(request{pattern: Ring, minChannels: 1, maxChannels: MaxChannels / 2, preset: opt.Preset.Ring})
	tree := s.compute(request{pattern: BalancedTree, minChannels: ring.NChannels, maxChannels: ring.NChannels, preset: opt.Preset.Tree})
	res := &Result{Ring: ring, Tree: tree}
	if wantsNVLS(g, opt.Multicast) {
		nvls := s.compute(request{pattern: NVLS, minChannels: 1, maxChannels: MaxChannels, preset: opt.Preset.NVLS})
		res.NVLS = &nvls
	}
	return res, nil
}

// wantsNVLS tells whether any GPU can multicast; two GPUs gain nothing by it.
func wantsNVLS(g *graph.Graph, m Multicast) bool {
	gpus := g.NodesOf(graph.GPU)
	if m == MulticastNever || len(gpus) <= 2 {
		return false
	}
	if m == MulticastForced {
		return true
	}
	return len(g.NodesOf(graph.NVS)) > 0 &&
		slices.ContainsFunc(gpus, func(n *graph.Node) bool { return n.GPU.SM >= 90 })
}
