package draw

import (
	"cmp"
	"math"
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// branch is a CPU or PCI switch with what hangs below it.
type branch struct {
	node     *graph.Node // nil: devices that hang nowhere
	up       *graph.Link // to what it hangs from; nil for a CPU
	level    int         // 0 for a CPU
	leaves   []leaf      // its own GPUs and NICs
	branches []*branch
	minRank  int // lowest user rank below it
	first    int // its columns are first..last
	last     int
	area     rect // of its box
	frame    rect // of a CPU's socket
}

// leaf is a GPU or a NIC; up is its link to what it hangs from.
type leaf struct {
	node *graph.Node
	up   *graph.Link
	rank int // user rank of a GPU, noRank for a NIC
}

// noRank sorts what has no GPU behind all that has.
const noRank = math.MaxInt

// treeOf gives the host's CPUs, each with its PCI tree, all in rank order.
func treeOf(h *Host) ([]*branch, error) {
	b := treeBuilder{host: h, seen: map[*graph.Node]bool{}}
	var roots []*branch
	for _, cpu := range h.Graph.NodesOf(graph.CPU) {
		roots = append(roots, b.grow(cpu, nil, 0))
	}
	if lost := b.lost(); lost != nil {
		roots = append(roots, lost)
	}
	sortBranches(roots)
	return roots, b.err
}

type treeBuilder struct {
	host *Host
	seen map[*graph.Node]bool
	err  error
}

func (b *treeBuilder) grow(n *graph.Node, up *graph.Link, level int) *branch {
	b.seen[n] = true
	br := &branch{node: n, up: up, level: level, minRank: noRank}
	for _, l := range n.Links {
		if l.Type != graph.LinkPCI || b.seen[l.To] {
			continue
		}
		switch l.To.Type {
		case graph.PCI:
			br.branches = append(br.branches, b.grow(l.To, l, level+1))
		case graph.GPU, graph.NIC:
			br.leaves = append(br.leaves, b.leaf(l.To, l))
		}
	}
	br.sort()
	return br
}

func (b *treeBuilder) leaf(n *graph.Node, up *graph.Link) leaf {
	b.seen[n] = true
	l := leaf{node: n, up: up, rank: noRank}
	if n.Type == graph.GPU {
		rank, err := b.host.rank(n)
		if err != nil {
			b.err = err
		}
		l.rank = rank
	}
	return l
}

// lost gathers GPUs and NICs that no CPU leads to.
func (b *treeBuilder) lost() *branch {
	br := &branch{minRank: noRank}
	for _, t := range []graph.NodeType{graph.GPU, graph.NIC} {
		for _, n := range b.host.Graph.NodesOf(t) {
			if !b.seen[n] {
				br.leaves = append(br.leaves, b.leaf(n, nil))
			}
		}
	}
	if len(br.leaves) == 0 {
		return nil
	}
	br.sort()
	return br
}

func (br *branch) sort() {
	slices.SortStableFunc(br.leaves, func(a, c leaf) int { return cmp.Compare(a.rank, c.rank) })
	sortBranches(br.branches)
	if len(br.leaves) > 0 {
		br.minRank = br.leaves[0].rank
	}
	if len(br.branches) > 0 {
		br.minRank = min(br.minRank, br.branches[0].minRank)
	}
}

func sortBranches(bs []*branch) {
	slices.SortStableFunc(bs, func(a, c *branch) int { return cmp.Compare(a.minRank, c.minRank) })
}

// walk visits the branch and all below it.
func (br *branch) walk(visit func(*branch)) {
	visit(br)
	for _, sub := range br.branches {
		sub.walk(visit)
	}
}
