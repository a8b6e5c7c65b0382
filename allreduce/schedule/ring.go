package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// Rank is a user rank: the communicator's number of a participant.
type Rank int

// Position is a place in one ring, counted from rank 0 along the flow of data.
type Position int

// Chunk is the index of a chunk within a loop, by ring position.
type Chunk int

// None stands where there is no peer.
const None Rank = -1

// Ring is one channel's cycle over all ranks.
type Ring struct {
	order []Rank
	place []Position // of each user rank
}

// NewRing takes user ranks in the order in which data flows, from any rank on.
// Every rank from 0 to len(order)-1 must come once; a ring has at least two.
func NewRing(order []int) (*Ring, error) {
	n := len(order)
	if n < 2 {
		return nil, fmt.Errorf("ring %v: want at least 2 ranks", order)
	}
	r := &Ring{order: make([]Rank, n), place: make([]Position, n)}
	for i := range r.place {
		r.place[i] = -1
	}
	for i, rank := range order {
		if rank < 0 || rank >= n {
			return nil, fmt.Errorf("ring %v: rank %d is unknown, want every rank from 0 to %d once", order, rank, n-1)
		}
		if r.place[rank] >= 0 {
			return nil, fmt.Errorf("ring %v: rank %d is repeated, want every rank from 0 to %d once", order, rank, n-1)
		}
		r.place[rank] = Position(i)
	}
	first := r.place[0]
	for rank, at := range r.place {
		at = (at - first + Position(n)) % Position(n)
		r.place[rank], r.order[at] = at, Rank(rank)
	}
	return r, nil
}

// ParseRing reads user ranks separated by blanks, commas or arrows.
func ParseRing(s string) (*Ring, error) {
	var order []int
	for _, word := range strings.Fields(strings.NewReplacer(",", " ", "->", " ").Replace(s)) {
		rank, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("ring %q: %q is no rank", s, word)
		}
		order = append(order, rank)
	}
	return NewRing(order)
}

// Len is the number of ranks.
func (r *Ring) Len() int { return len(r.order) }

// Order lists the user ranks from rank 0 on.
func (r *Ring) Order() []int {
	order := make([]int, len(r.order))
	for i, rank := range r.order {
		order[i] = int(rank)
	}
	return order
}

// At is the user rank at a position; positions wrap around.
func (r *Ring) At(p Position) Rank { return r.order[wrap(int(p), len(r.order))] }

// Position is the place of a user rank.
func (r *Ring) Position(rank Rank) Position { return r.place[rank] }

// Next is the user rank that a rank sends to.
func (r *Ring) Next(rank Rank) Rank { return r.At(r.place[rank] + 1) }

// Prev is the user rank that a rank receives from.
func (r *Ring) Prev(rank Rank) Rank { return r.At(r.place[rank] - 1) }

// Owner is the user rank that finishes a chunk's reduction.
func (r *Ring) Owner(c Chunk) Rank { return r.At(Position(c)) }

// String is the order with blanks, as NCCL prints it: 0 2 3 1.
func (r *Ring) String() string { return strings.Trim(fmt.Sprint(r.order), "[]") }

// wrap brings i, at least -n, into 0..n-1.
func wrap(i, n int) int { return (i + n) % n }
