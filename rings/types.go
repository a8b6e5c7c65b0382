package rings

import "github.com/ringtopo/ringtopo/graph"

// Pattern is the shape that a channel's GPUs take, in NCCL's numbering.
type Pattern int

// Patterns.
const (
	BalancedTree  Pattern = 1
	SplitTree     Pattern = 2
	Tree          Pattern = 3
	Ring          Pattern = 4
	NVLS          Pattern = 5
	CollNetDirect Pattern = 6
)

// Set is the outcome of one search: the channels of one pattern. Ranks are
// those of the graph's GPUs.
type Set struct {
	Pattern      Pattern        `json:"pattern"`
	CrossNIC     int            `json:"crossNic"`     // 1: channels may end on another NIC than they start
	NChannels    int            `json:"nChannels"`    // len(Intra), unless read from a file that says otherwise
	SameChannels int            `json:"sameChannels"` // 1: all channels alike
	BWIntra      float32        `json:"bwIntra"`      // of one channel inside the node, GB/s
	BWInter      float32        `json:"bwInter"`      // of one channel to the network, GB/s
	LatencyInter float32        `json:"latencyInter"`
	TypeIntra    graph.PathType `json:"typeIntra"`
	TypeInter    graph.PathType `json:"typeInter"`
	NHops        int            `json:"-"`
	Intra        [][]int        `json:"intra"` // per channel, ranks in chain order; NVLS: the head, then zeros
	Inter        [][2]int64     `json:"inter"` // per channel, ids of the first and last network; empty without a network
}

// Result is what the searches of one node found.
type Result struct {
	Ring, Tree Set
	NVLS       *Set // nil where multicast is not available
}
