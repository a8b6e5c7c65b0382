package connect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
)

func TestBuildRing(t *testing.T) {
	r, err := connect.BuildRing(3, []int32{3, 0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][2][]int32{
		"order": {r.Order, {0, 3, 2, 1}}, "index": {r.Index, {0, 3, 2, 1}},
		"prev": {r.Prev, {1, 2, 3, 0}}, "from 3": {r.From(3), {3, 2, 1, 0}}, "from 0": {r.From(0), {0, 3, 2, 1}},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
	if r, err = connect.BuildRing(0, []int32{0}); err != nil || !slices.Equal(r.From(0), []int32{0}) {
		t.Errorf("a ring of one: %v, %v", r, err)
	}
}

// What From gives belongs to the caller.
func TestFromIsACopy(t *testing.T) {
	r, err := connect.BuildRing(0, []int32{1, 2, 0})
	if err != nil {
		t.Fatal(err)
	}
	r.From(0)[1] = 9
	if !slices.Equal(r.Order, []int32{0, 1, 2}) {
		t.Errorf("order %v", r.Order)
	}
}

func TestBrokenRings(t *testing.T) {
	for name, c := range map[string]struct {
		next []int32
		rank int
		word string
	}{
		"a loop that leaves one out": {[]int32{1, 0, 2}, 1, "does not loop back"},
		"two loops of one length":    {[]int32{1, 0, 3, 2}, 2, "does not contain rank 2"},
		"runs into a loop":           {[]int32{1, 2, 1}, 1, "does not loop back"},
		"a rank without next":        {[]int32{1, -1, 0}, 1, "rank 1 has no next rank (the table says -1)"},
		"a next that is not there":   {[]int32{1, 2, 3}, 2, "the table says 3"},
		"stays where it is":          {[]int32{0, 2, 1}, 1, "does not contain rank 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connect.BuildRing(7, c.next)
			var ring *connect.RingError
			if !errors.As(err, &ring) {
				t.Fatalf("got %v", err)
			}
			if ring.Channel != 7 || ring.Rank != c.rank || !strings.Contains(err.Error(), c.word) || !strings.HasPrefix(err.Error(), "channel 7: ") {
				t.Errorf("channel %d, rank %d, %q; want 7, %d, %q", ring.Channel, ring.Rank, err, c.rank, c.word)
			}
		})
	}
}

// Any order of ranks comes back from its table, and any table that is no
// cycle over all ranks is refused.
func TestBuildRingOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i
		}
		order := rapid.Permutation(ranks).Draw(t, "order")
		next := make([]int32, n)
		for i, r := range order {
			next[r] = int32(order[(i+1)%n])
		}
		r, err := connect.BuildRing(0, next)
		if err != nil {
			t.Fatal(err)
		}
		for rank := range n {
			from := r.From(rank)
			if r.Order[r.Index[rank]] != int32(rank) || from[0] != int32(rank) || from[1%n] != next[rank] || from[n-1] != r.Prev[rank] {
				t.Fatalf("rank %d: index %d, from there %v", rank, r.Index[rank], from)
			}
		}
		i := rapid.IntRange(0, n-1).Draw(t, "broken")
		to := rapid.Int32Range(-2, int32(n+1)).Draw(t, "to")
		if to == next[i] {
			return
		}
		broken := slices.Clone(next)
		broken[i] = to
		if _, err := connect.BuildRing(0, broken); err == nil {
			t.Fatalf("next of %d changed to %d: still a ring", i, to)
		}
	})
}

// Nodes follow each other in order, each channel by its own chains.
func TestStitching(t *testing.T) {
	g := boxOf(t, topotest.AMD, 3, 70)
	c := mustJoin(t, connect.DefaultOptions(),
		fake(g, 0, []int{0, 2, 1}, []int{1, 0, 2}), fake(g, 3, []int{2, 1, 0}, []int{0, 1, 2}))
	for ch, want := range [][]int32{{0, 2, 1, 5, 4, 3}, {0, 2, 3, 4, 5, 1}} {
		if !slices.Equal(c.Rings[ch].Order, want) {
			t.Errorf("channel %d: %v, want %v", ch, c.Rings[ch].Order, want)
		}
		if !slices.Equal(c.Rings[ch+2].Order, want) {
			t.Errorf("channel %d, the duplicate: %v, want %v", ch+2, c.Rings[ch+2].Order, want)
		}
	}
}

// Where channels change rails every other node runs the two of a pair swapped,
// but not with an odd number of channels.
func TestAlternatingRails(t *testing.T) {
	g := boxOf(t, topotest.AMD, 2, 70)
	forth, back := []int{0, 1}, []int{1, 0}
	cross := func(n connect.Node) connect.Node { n.Search.Ring.CrossNIC = 1; return n }
	c := mustJoin(t, connect.DefaultOptions(),
		fake(g, 0, forth, back), cross(fake(g, 2, forth, back)), fake(g, 4, forth, back)) // one node is enough
	for ch, want := range [][]int32{{0, 1, 3, 2, 4, 5}, {0, 2, 3, 5, 4, 1}} {
		if !slices.Equal(c.Rings[ch].Order, want) {
			t.Errorf("channel %d: %v, want %v", ch, c.Rings[ch].Order, want)
		}
	}
	// The trees of node 1 stay as they are: channel 0 goes down from its rank 2.
	if c.Trees[0].Up[3] != 2 {
		t.Errorf("tree 0: rank 3 hangs below %d, want 2", c.Trees[0].Up[3])
	}
	c = mustJoin(t, connect.DefaultOptions(), cross(fake(g, 0, forth, back, forth)), cross(fake(g, 2, forth, back, forth)))
	for ch, want := range [][]int32{{0, 1, 2, 3}, {0, 3, 2, 1}, {0, 1, 2, 3}} {
		if !slices.Equal(c.Rings[ch].Order, want) {
			t.Errorf("of three, channel %d: %v, want %v", ch, c.Rings[ch].Order, want)
		}
	}
	// The number of channels that all have decides: here two of three.
	c = mustJoin(t, connect.DefaultOptions(), cross(fake(g, 0, forth, back, forth)), cross(fake(g, 2, forth, back)))
	if want := []int32{0, 1, 3, 2}; !slices.Equal(c.Rings[0].Order, want) {
		t.Errorf("of two in common: %v, want %v", c.Rings[0].Order, want)
	}
}

// A chain that names a GPU twice makes no ring: the error says who is missing.
func TestChainThatIsNoRing(t *testing.T) {
	g := boxOf(t, topotest.AMD, 3, 70)
	bad := fake(g, 0, []int{0, 1, 2}, []int{0, 1, 1})
	_, err := connect.Join([]connect.Node{bad}, connect.DefaultOptions())
	var ring *connect.RingError
	if !errors.As(err, &ring) || ring.Channel != 1 {
		t.Fatalf("got %v, want a RingError of channel 1", err)
	}
	bad.Search.Ring = channels(rings.Ring, []int{0, 1, 2, 0})
	if _, err = connect.Join([]connect.Node{bad}, connect.DefaultOptions()); !errors.Is(err, connect.ErrNodes) {
		t.Errorf("four ranks of three GPUs: %v", err)
	}
}
