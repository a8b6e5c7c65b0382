package nccllog

import (
	"cmp"
	"slices"
)

// Comm is a communicator, put together from what its ranks logged.
type Comm struct {
	ID     string  // "" in a log that names none
	NRanks int     // 0 if no line says
	NNodes int     // 0 if no line says
	Ranks  []*Rank // those that logged, by rank
}

// Comms sorts the ranks of a log into communicators, in order of appearance.
// Ranks belong together that name the same communicator and number of ranks;
// where that is not unique, a rank's first lines go to the first one, its next
// lines to the next.
func (l *Log) Comms() []Comm {
	type key struct {
		id     string
		nRanks int
	}
	type member struct {
		key
		rank int
	}
	var order []*Comm
	comms := map[key][]*Comm{}
	seen := map[member]int{}
	for _, r := range l.Ranks {
		k := key{r.CommID, r.NRanks}
		nth := seen[member{k, r.Rank}]
		if r.Rank >= 0 {
			seen[member{k, r.Rank}]++
		}
		if nth == len(comms[k]) {
			c := &Comm{ID: r.CommID, NRanks: r.NRanks}
			comms[k] = append(comms[k], c)
			order = append(order, c)
		}
		c := comms[k][nth]
		c.Ranks = append(c.Ranks, r)
		c.NNodes = cmp.Or(c.NNodes, r.NNodes)
	}
	out := make([]Comm, len(order))
	for i, c := range order {
		slices.SortStableFunc(c.Ranks, func(a, b *Rank) int { return a.Rank - b.Rank })
		out[i] = *c
	}
	return out
}

// NChannels is the number of channels, 0 if no line says.
func (c Comm) NChannels() int {
	n := 0
	for _, r := range c.Ranks {
		for _, ch := range r.Channels {
			n = max(n, ch.Of, ch.ID+1)
		}
		n = max(n, len(r.Rings), len(r.Trees))
	}
	return n
}

// Ring gives a channel's ring from rank 0 on, and whether that is all of it.
// Where a Channel line was cut, the Ring lines of the other ranks complete it.
func (c Comm) Ring(channel int) (ring []int, whole bool) {
	for _, r := range c.Ranks {
		for _, ch := range r.Channels {
			if ch.ID == channel {
				ring = ch.Ring
			}
		}
	}
	if len(ring) == c.NRanks || c.NRanks == 0 && len(ring) > 0 && len(ring) != maxListed {
		return ring, true
	}
	if followed := c.follow(channel); followed != nil {
		return followed, true
	}
	return ring, false
}

// follow goes from rank to rank along the Ring lines, back to rank 0; it is
// nil where a rank's line is missing.
func (c Comm) follow(channel int) []int {
	next := map[int]int{}
	for _, r := range c.Ranks {
		for _, l := range r.Rings {
			if l.Channel == channel {
				next[l.Rank] = l.Next
			}
		}
	}
	var ring []int
	for at := 0; len(ring) <= len(next); {
		to, ok := next[at]
		if !ok {
			return nil
		}
		ring = append(ring, at)
		if at = to; at == 0 {
			break
		}
	}
	if len(ring) > len(next) || c.NRanks != 0 && len(ring) != c.NRanks {
		return nil
	}
	return ring
}
