package allreduce

import (
	"fmt"

	"github.com/ringtopo/ringtopo/connect"
)

// FIFODepth is the number of steps that a connection's FIFO holds.
const FIFODepth = 8

// MaxChannels is the most channels a layout can have: one bit each in a mask.
const MaxChannels = 64

// Layout is what an executor connects once and then runs plans on.
type Layout struct {
	NRanks int
	// Rings are the user ranks of each channel in the order of the data's flow.
	// A channel's ring starts at rank 0.
	Rings [][]int
	// Trees are the trees of each channel; empty where only rings are wanted.
	Trees []connect.Tree
	// BuffSize is the size in bytes of one connection's FIFO, by protocol, flags
	// included. One step is an eighth of it.
	BuffSize [NumProtos]int
}

// DefaultBuffSize are the FIFO sizes of an unconfigured NCCL, by protocol.
func DefaultBuffSize() [NumProtos]int {
	return [NumProtos]int{LL: 524288, LL128: 4915200, Simple: 4194304}
}

// NewLayout takes the rings and trees of a communicator.
func NewLayout(c *connect.Comm, buffSize [NumProtos]int) (*Layout, error) {
	l := &Layout{NRanks: c.NRanks, Trees: c.Trees, BuffSize: buffSize}
	for ch, r := range c.Rings {
		order, err := orderOf(r, c.NRanks)
		if err != nil {
			return nil, &LayoutError{Channel: ch, Reason: err.Error()}
		}
		l.Rings = append(l.Rings, order)
	}
	return l, l.Validate()
}

// orderOf walks a ring from rank 0.
func orderOf(r connect.Ring, n int) ([]int, error) {
	if len(r.Next) != n {
		return nil, fmt.Errorf("ring has %d ranks, the communicator %d", len(r.Next), n)
	}
	order := make([]int, 0, n)
	for at := 0; len(order) < n; {
		order = append(order, at)
		next := int(r.Next[at])
		if next < 0 || next >= n {
			return nil, fmt.Errorf("rank %d has no next rank (%d)", at, next)
		}
		at = next
	}
	return order, nil
}

// Channels is the number of channels.
func (l *Layout) Channels() int { return len(l.Rings) }

// StepBytes is the size of one FIFO step, flags included.
func (l *Layout) StepBytes(p Proto) int { return l.BuffSize[p] / FIFODepth }

// Validate says what is wrong with a layout, as a *LayoutError: every ring must
// visit every rank once, every tree must join all ranks, and there must be room
// in every FIFO for one grain per step.
func (l *Layout) Validate() error {
	if l.NRanks < 1 {
		return &LayoutError{Channel: -1, Reason: fmt.Sprintf("%d ranks: want at least 1", l.NRanks)}
	}
	if len(l.Rings) < 1 || len(l.Rings) > MaxChannels {
		return &LayoutError{Channel: -1, Reason: fmt.Sprintf("%d channels: want 1 to %d", len(l.Rings), MaxChannels)}
	}
	if len(l.Trees) != 0 && len(l.Trees) != len(l.Rings) {
		return &LayoutError{Channel: -1, Reason: fmt.Sprintf("%d trees for %d rings", len(l.Trees), len(l.Rings))}
	}
	for c, ring := range l.Rings {
		if err := checkRing(ring, l.NRanks); err != nil {
			return &LayoutError{Channel: c, Reason: err.Error()}
		}
	}
	for c, tree := range l.Trees {
		if err := checkTree(tree, l.NRanks); err != nil {
			return &LayoutError{Channel: c, Reason: err.Error()}
		}
	}
	return l.checkBuffers()
}

func (l *Layout) checkBuffers() error {
	for _, p := range Protos() {
		// LL keeps half of a step for flags, LL128 a sixteenth.
		least := FIFODepth * [...]int{32, 2048, 512}[p]
		if l.BuffSize[p] < least {
			return &LayoutError{Channel: -1, Reason: fmt.Sprintf("%s buffer of %d bytes: want at least %d", p, l.BuffSize[p], least)}
		}
	}
	return nil
}

// checkRing says which rank is unknown, repeated or missing.
func checkRing(ring []int, n int) error {
	seen := make([]bool, n)
	for _, r := range ring {
		if r < 0 || r >= n {
			return fmt.Errorf("ring %v: rank %d is unknown, want 0 to %d", ring, r, n-1)
		}
		if seen[r] {
			return fmt.Errorf("ring %v: rank %d is repeated", ring, r)
		}
		seen[r] = true
	}
	for r, ok := range seen {
		if !ok {
			return fmt.Errorf("ring %v: rank %d is missing", ring, r)
		}
	}
	if ring[0] != 0 {
		return fmt.Errorf("ring %v: want it written from rank 0 on", ring)
	}
	return nil
}

// checkTree sees that parents and children agree and that there is one root
// above all.
func checkTree(t connect.Tree, n int) error {
	if len(t.Up) != n || len(t.Down) != n {
		return fmt.Errorf("tree of %d and %d entries for %d ranks", len(t.Up), len(t.Down), n)
	}
	for r := range n {
		for _, d := range t.Down[r] {
			if d >= 0 && (int(d) >= n || t.Up[d] != int32(r)) {
				return fmt.Errorf("tree: rank %d has child %d, which does not have it as parent", r, d)
			}
		}
		at, steps := r, 0
		for ; t.Up[at] >= 0; steps++ {
			up := int(t.Up[at])
			if up >= n || steps > n {
				return fmt.Errorf("tree: rank %d does not reach the root", r)
			}
			if d := t.Down[up]; d[0] != int32(at) && d[1] != int32(at) && d[2] != int32(at) {
				return fmt.Errorf("tree: rank %d has parent %d, which does not have it as child", at, up)
			}
			at = up
		}
	}
	roots := 0
	for _, up := range t.Up {
		if up < 0 {
			roots++
		}
	}
	if roots != 1 {
		return fmt.Errorf("tree: %d roots, want 1", roots)
	}
	return nil
}
