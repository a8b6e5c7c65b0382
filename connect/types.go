package connect

import (
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// Node is one node of a communicator: its graph, what the search found in it,
// and which user ranks the ranks of the graph are. Nodes that are alike share
// one Graph and one Search.
type Node struct {
	Graph  *graph.Graph
	Search *rings.Result
	Ranks  []int // user rank by rank in the graph
}

// CPU is what tuning needs to know of a processor.
type CPU struct {
	Arch   topo.Arch
	Vendor topo.Vendor
}

// Comm is a communicator, as its rank 0 sees it.
type Comm struct {
	NRanks     int
	NNodes     int
	RankToNode []int
	Nodes      []Node // in the communicator's order
	// NChannels is the number of channels. CollChannels are those of the rings;
	// NVLS can raise NChannels above it.
	NChannels, CollChannels int
	NVLSChannels            int // 0 without NVLS
	NVLSHeads               int // GPUs that head an NVLS channel, in the node with fewest
	P2PChannels             int
	P2PChannelsPerPeer      int

	// Ring, Tree and NVLS are reconciled over all nodes: the least channels and
	// bandwidths, the worst types; the rest is rank 0's own. NVLS is nil without
	// NVLS.
	Ring, Tree rings.Set
	NVLS       *rings.Set

	Rings []Ring // one per channel; repeated channels share one Ring's slices
	Trees []Tree // one per channel

	CPU          CPU // over all nodes, mixed where they differ
	MinSM, MaxSM int

	// Warnings say where a setting was bent to what is possible.
	Warnings []string
}

// Ring is one channel's cycle over all ranks.
type Ring struct {
	Next  []int32 // by user rank: the rank that follows
	Prev  []int32
	Order []int32 // user ranks along Next from rank 0 on
	Index []int32 // by user rank: its position in Order
}

// From gives the cycle as a rank sees it: itself, its next, ..., its prev.
func (r Ring) From(rank int) []int32 {
	i := r.Index[rank]
	return append(append(make([]int32, 0, len(r.Order)), r.Order[i:]...), r.Order[:i]...)
}

// Tree is one channel's tree over all ranks.
type Tree struct {
	Up   []int32    // by user rank: its parent, -1 at the root
	Down [][3]int32 // by user rank: its children, -1 where there is none
}
