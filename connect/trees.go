package connect

import (
	"fmt"

	"github.com/ringtopo/ringtopo/rings"
)

// joints are a node's ranks that talk to other nodes in a channel's trees: to
// the parent, and to the first and second child.
type joints struct{ parent, child0, child1 int32 }

func (n *Node) joints(channel int) joints {
	chain := n.Search.Tree.Intra[channel]
	at := func(i int) int32 {
		// NCCL reads on into the next channel where a chain has only one rank.
		return int32(n.Ranks[chain[min(i, len(chain)-1)]])
	}
	switch n.Search.Tree.Pattern {
	case rings.Tree:
		return joints{at(0), at(0), at(0)}
	case rings.SplitTree:
		return joints{at(0), at(1), at(1)}
	}
	return joints{at(0), at(1), at(0)}
}

// makeTrees joins the chains of each channel to two trees over the nodes: the
// first for channels 0..n-1, the second for their duplicates.
func (c *Comm) makeTrees(n int) error {
	places := make([][2]branch, c.NNodes)
	for k := range places {
		places[k] = doubleTree(c.NNodes, k)
	}
	c.Trees = make([]Tree, 2*n)
	js := make([]joints, c.NNodes)
	for ch := range n {
		for k := range c.Nodes {
			js[k] = c.Nodes[k].joints(ch)
		}
		for t := range 2 {
			tree, err := c.makeTree(ch, t, places, js)
			if err != nil {
				return err
			}
			c.Trees[ch+t*n] = tree
		}
	}
	return nil
}

func (c *Comm) makeTree(ch, t int, places [][2]branch, js []joints) (Tree, error) {
	tree := c.chains(ch)
	for k := range c.Nodes {
		b, own := places[k][t], js[k]
		if b.up >= 0 {
			to := js[b.up].child0
			if b.second {
				to = js[b.up].child1
			}
			tree.Up[own.parent] = to
		}
		if b.down0 >= 0 {
			if err := tree.adopt(own.child0, js[b.down0].parent); err != nil {
				return Tree{}, err
			}
		}
		if b.down1 >= 0 {
			if err := tree.adopt(own.child1, js[b.down1].parent); err != nil {
				return Tree{}, err
			}
		}
	}
	return tree, nil
}

// chains makes every node's chain a tree of its own.
func (c *Comm) chains(ch int) Tree {
	tree := Tree{Up: make([]int32, c.NRanks), Down: make([][3]int32, c.NRanks)}
	for i := range tree.Up {
		tree.Up[i], tree.Down[i] = -1, [3]int32{-1, -1, -1}
	}
	for _, n := range c.Nodes {
		above := int32(-1)
		for _, local := range n.Search.Tree.Intra[ch] {
			r := int32(n.Ranks[local])
			tree.Up[r] = above
			if above >= 0 {
				tree.Down[above][0] = r
			}
			above = r
		}
	}
	return tree
}

// adopt puts a child into the first free place.
func (t Tree) adopt(rank, child int32) error {
	for i, d := range t.Down[rank] {
		if d < 0 {
			t.Down[rank][i] = child
			return nil
		}
	}
	return fmt.Errorf("%w: rank %d would get child %d, but its tree already has 3 children %v", ErrNodes, rank, child, t.Down[rank])
}
