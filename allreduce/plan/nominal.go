package plan

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// Nominal is a communicator for rings and trees that no search found: ranks on
// one node, every channel over NVLink of 20 GB/s, compute capability 8.0. With
// it a layout given by hand can be planned for.
func Nominal(l *allreduce.Layout) *connect.Comm {
	set := func(p rings.Pattern) rings.Set {
		return rings.Set{Pattern: p, NChannels: l.Channels(), BWIntra: 20, BWInter: 20, TypeIntra: graph.NVL, TypeInter: graph.PIX}
	}
	c := &connect.Comm{NRanks: l.NRanks, NNodes: 1, RankToNode: make([]int, l.NRanks),
		NChannels: l.Channels(), CollChannels: l.Channels(), P2PChannels: l.Channels(), P2PChannelsPerPeer: l.Channels(),
		Ring: set(rings.Ring), Tree: set(rings.BalancedTree), Trees: l.Trees,
		CPU:   connect.CPU{Arch: topo.ArchX86, Vendor: topo.VendorIntel},
		MinSM: 80, MaxSM: 80}
	for _, order := range l.Rings {
		c.Rings = append(c.Rings, ringOf(order))
	}
	return c
}

// ringOf closes an order of ranks.
func ringOf(order []int) connect.Ring {
	n := len(order)
	r := connect.Ring{Next: make([]int32, n), Prev: make([]int32, n), Order: make([]int32, n), Index: make([]int32, n)}
	for i, rank := range order {
		next := order[(i+1)%n]
		r.Next[rank], r.Prev[next] = int32(next), int32(rank)
		r.Order[i], r.Index[rank] = int32(rank), int32(i)
	}
	return r
}
