package verify

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/connect"
)

// program is an order of combination: load inputs into registers, add registers
// up. The result is in register 0.
type program []instruction

// instruction loads a rank's input into register to, or, where rank is -1, sets
// to = to op from.
type instruction struct {
	rank     int
	to, from int
}

func load(rank, to int) instruction    { return instruction{rank: rank, to: to} }
func combine(to, from int) instruction { return instruction{rank: -1, to: to, from: from} }

// registers is how many a program uses.
func (p program) registers() int {
	n := 1
	for _, i := range p {
		n = max(n, i.to+1)
	}
	return n
}

// fold combines the inputs of ranks from the first to the last.
func fold(ranks []int) program {
	p := program{load(ranks[0], 0)}
	for _, r := range ranks[1:] {
		p = append(p, load(r, 1), combine(0, 1))
	}
	return p
}

// ringProgram starts a chunk at the rank after its owner and ends at the owner.
func ringProgram(ring []int, chunk int) program {
	order := make([]int, len(ring))
	for i := range order {
		order[i] = ring[(chunk+1+i)%len(ring)]
	}
	return fold(order)
}

// directProgram goes by user rank.
func directProgram(n int) program {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return fold(order)
}

// treeProgram combines a node's input with its children's results, in the order
// in which it has them.
func treeProgram(t connect.Tree, root int) program {
	var p program
	var visit func(rank, to int)
	visit = func(rank, to int) {
		fresh := true
		for _, child := range t.Down[rank] {
			if child < 0 {
				continue
			}
			if fresh { // the operations commute: one register less
				visit(int(child), to)
				p = append(p, load(rank, to+1), combine(to, to+1))
				fresh = false
				continue
			}
			visit(int(child), to+1)
			p = append(p, combine(to, to+1))
		}
		if fresh {
			p = append(p, load(rank, to))
		}
	}
	visit(root, 0)
	return p
}

func rootOf(t connect.Tree) int {
	for rank, up := range t.Up {
		if up < 0 {
			return rank
		}
	}
	return -1
}

// programOf is the order of a place.
func (c *Case) programOf(p place) program {
	l := c.plan.Layout
	switch {
	case l.NRanks == 1:
		return fold([]int{0})
	case c.work.Algo.Direct():
		return c.cached(-1, 0, func() program { return directProgram(l.NRanks) })
	case c.work.Algo == allreduce.Tree:
		return c.cached(p.channel, 0, func() program { return treeProgram(l.Trees[p.channel], c.roots[p.channel]) })
	}
	return c.cached(p.channel, p.chunk, func() program { return ringProgram(l.Rings[p.channel], p.chunk) })
}
