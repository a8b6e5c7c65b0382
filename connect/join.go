package connect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// ErrNodes is wrapped by errors about nodes that make no communicator.
var ErrNodes = errors.New("these nodes make no communicator")

// Join makes a communicator of nodes. Their user ranks together must be
// 0..n-1, each once.
func Join(nodes []Node, opt Options) (*Comm, error) {
	c := &Comm{Nodes: slices.Clone(nodes), NNodes: len(nodes)}
	if err := c.numberNodes(); err != nil {
		return nil, err
	}
	c.describe()
	n, err := c.reconcile()
	if err != nil {
		return nil, err
	}
	if err := c.makeRings(n); err != nil {
		return nil, err
	}
	if err := c.makeTrees(n); err != nil {
		return nil, err
	}
	c.countChannels(opt)
	return c, nil
}

// userRanks lists the user ranks of a node's GPUs.
func (n *Node) userRanks() ([]int, error) {
	gpus := n.Graph.NodesOf(graph.GPU)
	ranks := make([]int, len(gpus))
	for i, g := range gpus {
		r := g.GPU.Rank
		if r < 0 || r >= len(n.Ranks) {
			return nil, fmt.Errorf("%w: no user rank is given for rank %d of a node", ErrNodes, r)
		}
		ranks[i] = n.Ranks[r]
	}
	return ranks, nil
}

// numberNodes orders nodes by their lowest rank and fills RankToNode.
func (c *Comm) numberNodes() error {
	if len(c.Nodes) == 0 {
		return fmt.Errorf("%w: there are none", ErrNodes)
	}
	type member struct {
		node  Node
		ranks []int
		low   int
	}
	members := make([]member, len(c.Nodes))
	for i, n := range c.Nodes {
		ranks, err := n.userRanks()
		if err != nil {
			return err
		}
		members[i] = member{n, ranks, slices.Min(ranks)}
		c.NRanks += len(ranks)
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.low, b.low) })
	c.RankToNode = make([]int, c.NRanks)
	for r := range c.RankToNode {
		c.RankToNode[r] = -1
	}
	for i, m := range members {
		c.Nodes[i] = m.node
		for _, r := range m.ranks {
			if r < 0 || r >= c.NRanks || c.RankToNode[r] >= 0 {
				return fmt.Errorf("%w: user rank %d is out of 0..%d or given twice", ErrNodes, r, c.NRanks-1)
			}
			c.RankToNode[r] = i
		}
	}
	return nil
}

// describe sums up processors and GPUs.
func (c *Comm) describe() {
	for i, n := range c.Nodes {
		cpu := nodeCPU(n.Graph)
		if i == 0 {
			c.CPU = cpu
			c.MinSM = n.Graph.NodesOf(graph.GPU)[0].GPU.SM
			c.MaxSM = c.MinSM
		}
		if cpu.Arch != c.CPU.Arch {
			c.CPU.Arch = topo.ArchMixed
		}
		if cpu.Vendor != c.CPU.Vendor {
			c.CPU.Vendor = topo.VendorMixed
		}
		for _, g := range n.Graph.NodesOf(graph.GPU) {
			c.MinSM, c.MaxSM = min(c.MinSM, g.GPU.SM), max(c.MaxSM, g.GPU.SM)
		}
	}
}

func nodeCPU(g *graph.Graph) CPU {
	cpus := g.NodesOf(graph.CPU)
	if len(cpus) == 0 {
		return CPU{Vendor: topo.VendorUndefined}
	}
	return CPU{Arch: cpus[0].CPU.Arch, Vendor: cpus[0].CPU.Vendor}
}

// reconcile makes one Ring, Tree and NVLS set of all nodes' and gives the
// number of channels that all have.
func (c *Comm) reconcile() (int, error) {
	first := c.Nodes[0].Search
	c.Ring, c.Tree = first.Ring, first.Tree
	nvls := rings.Set{}
	if first.NVLS != nil {
		nvls = *first.NVLS
	}
	for _, n := range c.Nodes[1:] {
		merge(&c.Ring, &n.Search.Ring)
		merge(&c.Tree, &n.Search.Tree)
		other := n.Search.NVLS
		if other == nil {
			other = &rings.Set{}
		}
		merge(&nvls, other)
	}
	n := min(c.Ring.NChannels, c.Tree.NChannels)
	c.Ring.NChannels, c.Tree.NChannels = n, n
	if nvls.NChannels > 0 {
		c.NVLS = &nvls
		c.NVLSHeads = c.leastHeads()
	}
	if n < 1 || n > rings.MaxChannels {
		return 0, fmt.Errorf("%w: the nodes have %d channels in common; there must be 1 to %d", ErrNodes, n, rings.MaxChannels)
	}
	return n, c.checkChains(n)
}

func merge(a, b *rings.Set) {
	a.NChannels, a.SameChannels = min(a.NChannels, b.NChannels), min(a.SameChannels, b.SameChannels)
	a.BWIntra, a.BWInter = min(a.BWIntra, b.BWIntra), min(a.BWInter, b.BWInter)
	a.TypeIntra, a.TypeInter = max(a.TypeIntra, b.TypeIntra), max(a.TypeInter, b.TypeInter)
	a.CrossNIC = max(a.CrossNIC, b.CrossNIC)
}

// leastHeads counts the distinct heads of NVLS channels, in the node with
// fewest.
func (c *Comm) leastHeads() int {
	least := rings.MaxChannels
	for _, n := range c.Nodes {
		heads := map[int]bool{}
		for _, ranks := range n.Search.NVLS.Intra {
			heads[ranks[0]] = true
		}
		least = min(least, len(heads))
	}
	return least
}

// checkChains makes sure that each node's channels name as many ranks as it has
// GPUs, and only ranks it has. Whether they make rings is checked later.
func (c *Comm) checkChains(n int) error {
	for i, node := range c.Nodes {
		size := len(node.Graph.NodesOf(graph.GPU))
		for _, s := range []*rings.Set{&node.Search.Ring, &node.Search.Tree} {
			if len(s.Intra) < n {
				return fmt.Errorf("%w: node %d lists %d channels of %d", ErrNodes, i, len(s.Intra), n)
			}
			for ch, chain := range s.Intra[:n] {
				if len(chain) != size {
					return fmt.Errorf("%w: node %d, channel %d names %d ranks, not %d", ErrNodes, i, ch, len(chain), size)
				}
				for _, r := range chain {
					if r < 0 || r >= len(node.Ranks) {
						return fmt.Errorf("%w: node %d, channel %d names rank %d, which the node has not", ErrNodes, i, ch, r)
					}
				}
			}
		}
	}
	return nil
}
