package graph

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/ringtopo/ringtopo/topo"
)

// adjustGPUPaths sends GPU pairs that may not talk directly through a CPU, and
// marks pairs that only the network can join.
func (g *Graph) adjustGPUPaths() error {
	gpus := g.nodes[GPU]
	for _, to := range gpus {
		for _, from := range gpus {
			allowed, err := g.p2pAllowed(from, to)
			if err != nil {
				return err
			}
			if allowed {
				continue
			}
			if err := g.detourByCPU(from, to, to); err != nil {
				return err
			}
		}
		if g.opt.KeepUnreachable {
			continue
		}
		for _, from := range gpus {
			if from == to || g.canSHM(from, to) {
				continue
			}
			direct, err := g.canP2P(from, to)
			if err != nil {
				return err
			}
			if !direct {
				from.paths[GPU][to.Index].Type = PathNET
			}
		}
	}
	return nil
}

// p2pLevel is the farthest path over which GPUs may address each other.
func (g *Graph) p2pLevel() PathType {
	if g.opt.P2PLevel != nil {
		return *g.opt.P2PLevel
	}
	c := g.firstCPU()
	slowRoot := c.Arch == topo.ArchARM ||
		c.Arch == topo.ArchX86 && (c.Vendor == topo.VendorIntel || c.Vendor == topo.VendorZhaoxin)
	if slowRoot {
		return PXB
	}
	return SYS
}

// p2pAllowed tells whether GPUs may address each other over the path that they
// have: it must not be too far, and the driver must not deny it.
func (g *Graph) p2pAllowed(from, to *Node) (bool, error) {
	p := from.paths[GPU][to.Index]
	if p.Type > g.p2pLevel() {
		return false, nil
	}
	a, b := from, to
	if relay := relayOf(p); relay != nil && g.blocked(from, relay) {
		b = relay
	} else if relay != nil {
		a = relay
	}
	if !g.blocked(a, b) {
		return true, nil
	}
	if p.Type <= NVB && !g.opt.AllowBlocked {
		return false, fmt.Errorf("%w: the driver denies peer access between %s and %s, which NVLink joins; "+
			"NCCL_IGNORE_DISABLED_P2P=1 goes on without it", ErrNonsense, a, b)
	}
	return false, nil
}

// relayOf is the GPU in the middle of a path of two hops, or nil.
func relayOf(p Path) *Node {
	if p.Hops() == 2 && p.Links[0].To.Type == GPU {
		return p.Links[0].To
	}
	return nil
}

func (g *Graph) blocked(a, b *Node) bool {
	pair := [2]int{a.GPU.Rank, b.GPU.Rank}
	return a != b && (slices.Contains(g.opt.Blocked, pair) || slices.Contains(g.opt.Blocked, [2]int{pair[1], pair[0]}))
}

// canP2P tells whether ranks on these GPUs would write to each other directly.
// A relay over NVLink is never given up for the network.
func (g *Graph) canP2P(from, to *Node) (bool, error) {
	allowed, err := g.p2pAllowed(from, to)
	if err != nil || !allowed {
		return false, err
	}
	return relayOf(from.paths[GPU][to.Index]) != nil || !g.netBetter(from, to), nil
}

func (g *Graph) canSHM(from, to *Node) bool { return !g.opt.NoSHM && !g.netBetter(from, to) }

// netBetter tells whether both GPUs have a NIC nearby that is faster than the
// path between them.
func (g *Graph) netBetter(a, b *Node) bool {
	if g.opt.NoNetIntra {
		return false
	}
	bw := a.paths[GPU][b.Index].BW
	return bestNearbyNet(a) > bw && bestNearbyNet(b) > bw
}

func bestNearbyNet(n *Node) (bw float32) {
	for _, p := range n.paths[NET] {
		if p.Type <= PXB {
			bw = max(bw, p.BW)
		}
	}
	return bw
}

// adjustNetPaths routes GPUs to networks through a better placed GPU (PXN), and
// through the CPU where GPUDirect does not reach.
func (g *Graph) adjustNetPaths() error {
	for _, n := range g.nodes[NET] {
		for _, gpu := range g.nodes[GPU] {
			if err := g.adjustNetPath(n, gpu); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Graph) adjustNetPath(n, gpu *Node) error {
	if relay := g.pxnRelay(n, gpu); relay != nil {
		if err := g.detour(gpu, n, relay); err != nil {
			return err
		}
	}
	if gpu.paths[NET][n.Index].Type >= PHB {
		return nil
	}
	usable, err := g.gdrUsable(gpu, n)
	if err != nil || usable {
		return err
	}
	if err := g.detourByCPU(n, gpu, gpu); err != nil {
		return err
	}
	return g.detourByCPU(gpu, n, gpu)
}

// pxnRelay is the GPU through which gpu had better reach the network, or nil.
func (g *Graph) pxnRelay(n, gpu *Node) *Node {
	if g.opt.NoPXN {
		return nil
	}
	x := g.LocalGPU(n)
	if x == nil || x == gpu || x.NodeID.System() != gpu.NodeID.System() {
		return nil
	}
	via, direct := x.paths[NET][n.Index], gpu.paths[NET][n.Index]
	if via.Type > PXB || x.paths[GPU][gpu.Index].Type > NVL {
		return nil
	}
	if via.BW > direct.BW || direct.Type > PXB {
		return x
	}
	return nil
}

// gdrUsable tells whether the network can write to the GPU without a stop in
// host memory.
func (g *Graph) gdrUsable(gpu, n *Node) (bool, error) {
	if !n.Net.GDR || !gpu.GPU.GDR {
		return false, nil
	}
	level := PXB
	if g.opt.GDRLevel != nil {
		level = *g.opt.GDRLevel
	}
	p := gpu.paths[NET][n.Index]
	if p.Type != PXN {
		return p.Type <= level, nil
	}
	for _, l := range p.Links {
		if l.To.Type == NVS {
			continue
		}
		if l.To.Type != GPU {
			break
		}
		return l.To.paths[NET][n.Index].Type <= level, nil
	}
	return false, fmt.Errorf("%w: the path of %s to %s through another GPU leads over a CPU; "+
		"set NCCL_PXN_DISABLE=1", ErrNonsense, gpu, n)
}

// Local gives the nodes of a type that are nearest to n: the best bandwidth,
// among those the best path type.
func (g *Graph) Local(n *Node, t NodeType) []*Node {
	var best []*Node
	bw, typ := float32(0), DIS
	for i, p := range n.paths[t] {
		if p.BW > bw || p.BW == bw && p.Type < typ {
			bw, typ, best = p.BW, p.Type, best[:0]
		}
		if p.BW == bw && p.Type == typ {
			best = append(best, g.nodes[t][i])
		}
	}
	return best
}

// LocalNets gives the networks that a GPU uses for channels 0, 1, ... in turn:
// channel c uses entry c modulo the length. GPUs that share NICs start at
// different ones. Nil without a network.
func (g *Graph) LocalNets(gpu *Node) []*Node {
	nets := g.Local(gpu, NET)
	if len(nets) == 0 {
		return nil
	}
	sharers := g.Local(nets[0], GPU)
	k := gpu.GPU.Dev
	if w := bits.Len(uint(len(nets))) - 1; 1<<w == len(nets) {
		k = int(bits.Reverse32(uint32(k)) >> (32 - w)) // low w bits mirrored
	}
	turns := 1
	if len(sharers) > 0 {
		turns = (len(nets) + len(sharers) - 1) / len(sharers)
	}
	order := make([]*Node, turns)
	for c := range order {
		order[c] = nets[(k+c)%len(nets)]
	}
	return order
}

// channelLimit is the most channels a communicator has.
const channelLimit = 32

// LocalGPU is the GPU that is nearest to a network and uses it for the lowest
// channel, or nil.
func (g *Graph) LocalGPU(n *Node) *Node {
	gpus := g.Local(n, GPU)
	nets := make([][]*Node, len(gpus))
	for i, x := range gpus {
		nets[i] = g.LocalNets(x)
	}
	for c := range channelLimit {
		for i, x := range gpus {
			if own := nets[i]; len(own) > 0 && own[c%len(own)].NodeID == n.NodeID {
				return x
			}
		}
	}
	return nil
}
