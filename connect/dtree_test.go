package connect

import (
	"fmt"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func (b branch) String() string {
	typ := "x"
	if b.up >= 0 {
		typ = "0"
		if b.second {
			typ = "1"
		}
	}
	return fmt.Sprintf("%d/%d/%d/%s", b.up, b.down0, b.down1, typ)
}

// The check table that comes with the rules.
func TestDoubleTreeTable(t *testing.T) {
	for _, c := range []struct {
		n, r          int
		first, second string
	}{
		{1, 0, "-1/-1/-1/x", "-1/-1/-1/x"},
		{2, 0, "-1/-1/1/x", "1/-1/-1/1"},
		{2, 1, "0/-1/-1/1", "-1/-1/0/x"},
		{3, 0, "-1/-1/2/x", "1/2/-1/1"},
		{3, 1, "2/-1/-1/0", "-1/-1/0/x"},
		{3, 2, "0/1/-1/1", "0/-1/-1/0"},
		{4, 0, "-1/-1/2/x", "1/-1/-1/1"},
		{4, 1, "2/-1/-1/0", "3/2/0/1"},
		{4, 2, "0/1/3/1", "1/-1/-1/0"},
		{4, 3, "2/-1/-1/1", "-1/-1/1/x"},
		{5, 0, "-1/-1/4/x", "1/3/-1/1"},
		{5, 1, "2/-1/-1/0", "-1/-1/0/x"},
		{5, 2, "4/1/3/0", "3/-1/-1/0"},
		{5, 3, "2/-1/-1/1", "0/2/4/0"},
		{5, 4, "0/2/-1/1", "3/-1/-1/1"},
		{6, 4, "0/2/5/1", "3/-1/-1/0"},
		{8, 3, "2/-1/-1/1", "7/5/1/1"},
		{14, 12, "8/10/13/1", "11/-1/-1/0"},
		{14, 5, "6/-1/-1/0", "13/9/1/1"},
	} {
		b := doubleTree(c.n, c.r)
		if b[0].String() != c.first || b[1].String() != c.second {
			t.Errorf("%d of %d: %s and %s, want %s and %s", c.r, c.n, b[0], b[1], c.first, c.second)
		}
	}
}

// Both trees reach every node; parents and children agree on each other and on
// who is first and second; they are as flat as binary trees can be; and no node
// has children in both, except the ends where the trees meet.
func TestDoubleTreesSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		inner := make([]int, n)
		for tree := range 2 {
			checkTree(t, n, tree, inner)
		}
		both := 0
		for _, k := range inner {
			if k == 2 {
				both++
			}
		}
		if both > 1 {
			t.Fatalf("%d of %d nodes have children in both trees", both, n)
		}
	})
}

func checkTree(t *rapid.T, n, tree int, inner []int) {
	at := make([]branch, n)
	roots := 0
	for r := range n {
		at[r] = doubleTree(n, r)[tree]
		if at[r].up < 0 {
			roots++
		}
	}
	if roots != 1 {
		t.Fatalf("%d roots", roots)
	}
	for r, b := range at {
		if b.down0 >= 0 && (at[b.down0].up != r || at[b.down0].second) {
			t.Fatalf("first child of %d is %d, which has %s", r, b.down0, at[b.down0])
		}
		if b.down1 >= 0 && (at[b.down1].up != r || !at[b.down1].second) {
			t.Fatalf("second child of %d is %d, which has %s", r, b.down1, at[b.down1])
		}
		if b.down0 >= 0 || b.down1 >= 0 {
			inner[r]++
		}
		depth := 0
		for x := r; at[x].up >= 0; x = at[x].up {
			if depth++; depth > bits.Len(uint(n)) {
				t.Fatalf("%d lies more than %d below the root", r, bits.Len(uint(n)))
			}
		}
	}
}

// A rank has room for a child in its own node and two in others.
func TestAdopt(t *testing.T) {
	tree := Tree{Down: [][3]int32{{7, -1, -1}}}
	for _, child := range []int32{8, 9} {
		if err := tree.adopt(0, child); err != nil {
			t.Fatal(err)
		}
	}
	if tree.Down[0] != [3]int32{7, 8, 9} {
		t.Errorf("children %v", tree.Down[0])
	}
	if err := tree.adopt(0, 10); err == nil {
		t.Error("a fourth child was taken")
	}
}
