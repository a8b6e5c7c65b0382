package connect

import (
	"fmt"
	"math"
)

// RingError says where a channel's table of next ranks makes no ring.
type RingError struct {
	Channel int
	Rank    int    // where it shows: the end of the walk, or the rank left out
	Msg     string // what is missing
}

func (e *RingError) Error() string { return fmt.Sprintf("channel %d: %s", e.Channel, e.Msg) }

// BuildRing follows a table of next ranks from rank 0 and checks that it comes
// back there after visiting every rank once.
func BuildRing(channel int, next []int32) (Ring, error) {
	n := len(next)
	r := Ring{Next: next, Prev: make([]int32, n), Order: make([]int32, n), Index: make([]int32, n)}
	for i := range r.Index {
		r.Index[i] = -1
	}
	cur := int32(0)
	for i := range n {
		r.Order[i] = cur
		if r.Index[cur] < 0 {
			r.Index[cur] = int32(i)
		}
		after := next[cur]
		if after < 0 || int(after) >= n {
			return Ring{}, &RingError{channel, int(cur), fmt.Sprintf("rank %d has no next rank (the table says %d)", cur, after)}
		}
		r.Prev[after] = cur
		cur = after
	}
	if cur != 0 {
		return Ring{}, &RingError{channel, int(cur), fmt.Sprintf("the ring does not loop back to its start (it ends at rank %d, not 0)", cur)}
	}
	for rank, i := range r.Index {
		if i < 0 {
			return Ring{}, &RingError{channel, rank, fmt.Sprintf("the ring does not contain rank %d", rank)}
		}
	}
	return r, nil
}

// makeRings stitches each channel's chains, node after node, and closes them.
func (c *Comm) makeRings(n int) error {
	if c.NRanks > math.MaxInt32 {
		return fmt.Errorf("%w: %d ranks are too many", ErrNodes, c.NRanks)
	}
	swap := c.Ring.CrossNIC != 0 && n%2 == 0
	for ch := range n {
		r, err := BuildRing(ch, c.stitch(ch, swap))
		if err != nil {
			return err
		}
		c.Rings = append(c.Rings, r)
	}
	return nil
}

// stitch gives a channel's table of next ranks. Where channels change rails
// between nodes, every other node runs the two channels of a pair swapped.
func (c *Comm) stitch(channel int, swap bool) []int32 {
	next := make([]int32, c.NRanks)
	for i := range next {
		next[i] = -1
	}
	last, first := int32(-1), int32(-1)
	for k, n := range c.Nodes {
		ch := channel
		if swap && k%2 == 1 {
			ch ^= 1
		}
		for i, local := range n.Search.Ring.Intra[ch] {
			r := int32(n.Ranks[local])
			if k == 0 && i == 0 {
				first = r
			} else {
				next[last] = r
			}
			last = r
		}
	}
	next[last] = first
	return next
}
