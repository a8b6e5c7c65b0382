package connect

import (
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// Node is one node of a communicator: what its search found, and which user
// ranks its local ranks are. Nodes that are alike share one Result.
type Node struct {
	Search *rings.Result
	Ranks  []int // user rank of each local rank that Search names
	CPU    CPU   // of its first NUMA domain
	MinSM  int
	MaxSM  int
}

// CPU is what tuning needs to know of a node's processor.
type CPU struct {
	Arch   topo.Arch
	Vendor topo.Vendor
	Model  topo.CPUModel
}

// Comm is a communicator, as every rank of it sees it.
type Comm struct {
	NRanks     int
	NNodes     int
	RankToNode []int
	// NChannels is the number of channels; CollChannels the part of them that
	// the search asked for (NVLS can raise NChannels above it).
	NChannels, CollChannels int
	NVLSChannels            int // 0 without NVLS
	NVLSHeads               int // GPUs that head an NVLS channel, over the node with fewest
	P2PChannels             int
	P2PChannelsPerPeer      int

	// Ring, Tree and NVLS are reconciled over all nodes: the least channels and
	// bandwidths, the worst types. NVLS is nil without NVLS.
	Ring, Tree rings.Set
	NVLS       *rings.Set

	Rings []Ring // one per channel
	Trees []Tree // one per channel

	CPU          CPU // over all nodes, mixed where they differ
	MinSM, MaxSM int
}

// Ring is one channel's cycle over all ranks.
type Ring struct {
	Next []int32 // user rank that follows each user rank
	Prev []int32
}

// Tree is one channel's tree over all ranks.
type Tree struct {
	Up   []int32    // parent of each user rank, -1 at the root
	Down [][3]int32 // children, -1 where there is none
}
