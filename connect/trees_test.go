package connect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
)

// rows gives a tree as up, down0, down1, down2 by rank.
func rows(t connect.Tree) (all [][4]int32) {
	for r, up := range t.Up {
		all = append(all, [4]int32{up, t.Down[r][0], t.Down[r][1], t.Down[r][2]})
	}
	return all
}

func wantTree(t *testing.T, what string, tree connect.Tree, want ...[4]int32) {
	t.Helper()
	if d := cmp.Diff(want, rows(tree)); d != "" {
		t.Errorf("%s (-want +got)\n%s", what, d)
	}
}

// In one node a tree is the chain, and its duplicate is the same.
func TestTreesInOneNode(t *testing.T) {
	c := mustJoin(t, connect.DefaultOptions(), fake(boxOf(t, topotest.AMD, 3, 70), 0, []int{2, 0, 1}))
	for ch := range 2 {
		wantTree(t, "tree", c.Trees[ch], [4]int32{2, 1, -1, -1}, [4]int32{0, -1, -1, -1}, [4]int32{-1, 0, -1, -1})
	}
}

// With three nodes and two ranks each, by hand: the first tree is 0 over 2 over
// 1 (as second and first child), the second 1 over 0 over 2.
func TestTreesOverThreeNodes(t *testing.T) {
	g := boxOf(t, topotest.AMD, 2, 70)
	nodes := func(pattern rings.Pattern) []connect.Node {
		var list []connect.Node
		for i := range 3 {
			n := fake(g, 2*i, []int{0, 1})
			n.Search.Tree.Pattern = pattern
			list = append(list, n)
		}
		return list
	}
	// Balanced: parents talk to their first child by their second rank and to
	// their second child by their first.
	c := mustJoin(t, connect.DefaultOptions(), nodes(rings.BalancedTree)...)
	wantTree(t, "balanced, first tree", c.Trees[0],
		[4]int32{-1, 1, 4, -1}, [4]int32{0, -1, -1, -1},
		[4]int32{5, 3, -1, -1}, [4]int32{2, -1, -1, -1},
		[4]int32{0, 5, -1, -1}, [4]int32{4, 2, -1, -1})
	// In the second tree 0 is 1's second child, and 2 is 0's first.
	wantTree(t, "balanced, second tree", c.Trees[1],
		[4]int32{2, 1, -1, -1}, [4]int32{0, 4, -1, -1},
		[4]int32{-1, 3, 0, -1}, [4]int32{2, -1, -1, -1},
		[4]int32{1, 5, -1, -1}, [4]int32{4, -1, -1, -1})
	// Split: to both children by the second rank.
	c = mustJoin(t, connect.DefaultOptions(), nodes(rings.SplitTree)...)
	wantTree(t, "split, first tree", c.Trees[0],
		[4]int32{-1, 1, -1, -1}, [4]int32{0, 4, -1, -1},
		[4]int32{5, 3, -1, -1}, [4]int32{2, -1, -1, -1},
		[4]int32{1, 5, -1, -1}, [4]int32{4, 2, -1, -1})
	// Plain: all by the first rank.
	c = mustJoin(t, connect.DefaultOptions(), nodes(rings.Tree)...)
	wantTree(t, "plain, first tree", c.Trees[0],
		[4]int32{-1, 1, 4, -1}, [4]int32{0, -1, -1, -1},
		[4]int32{4, 3, -1, -1}, [4]int32{2, -1, -1, -1},
		[4]int32{0, 5, 2, -1}, [4]int32{4, -1, -1, -1})
}

// The middle node of four has two children elsewhere, after the one of its own.
func TestThreeChildren(t *testing.T) {
	g := boxOf(t, topotest.AMD, 2, 70)
	var nodes []connect.Node
	for i := range 4 {
		n := fake(g, 2*i, []int{1, 0})
		n.Search.Tree.Pattern = rings.Tree
		nodes = append(nodes, n)
	}
	c := mustJoin(t, connect.DefaultOptions(), nodes...)
	if got, want := c.Trees[0].Down[5], [3]int32{4, 3, 7}; got != want {
		t.Errorf("children of rank 5: %v, want %v: its own node's, then the first and the second", got, want)
	}
}

// Nodes may have unlike trees: each talks by the ranks of its own.
func TestUnlikeTrees(t *testing.T) {
	big, small := boxOf(t, topotest.AMD, 2, 70), boxOf(t, topotest.AMD, 1, 70)
	one := fake(small, 0, []int{0})
	one.Search.Tree.Pattern = rings.Tree
	c := mustJoin(t, connect.DefaultOptions(), one, fake(big, 1, []int{1, 0}))
	// First tree: 1 is 0's second child. Second tree: 0 is 1's.
	wantTree(t, "first", c.Trees[0], [4]int32{-1, 2, -1, -1}, [4]int32{2, -1, -1, -1}, [4]int32{0, 1, -1, -1})
	wantTree(t, "second", c.Trees[1], [4]int32{2, -1, -1, -1}, [4]int32{2, -1, -1, -1}, [4]int32{-1, 1, 0, -1})
}
