package verify

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
)

// Poison fills output buffers before a run.
const Poison = 0xdb

// Mismatch describes a wrong element of a rank's output. before is the seed of
// the run before, to tell an old result from a wrong one; 0: there was none.
func (c *Case) Mismatch(rank int, element int64, found []byte, before uint64) *allreduce.Mismatch {
	p := c.place(element)
	if c.work.Algo == allreduce.OneShot {
		p.owner = rank
	}
	t := c.work.DType
	want := c.one(element)
	return &allreduce.Mismatch{
		Work: c.index, Rank: rank, Channel: p.channel, Loop: p.loop, Chunk: p.chunk, Owner: p.owner, Element: element,
		Expected: Format(want, t), Found: Format(found, t), Hint: c.hint(rank, element, p, found, before),
	}
}

// one is the expected value of an element.
func (c *Case) one(element int64) []byte {
	b := make([]byte, c.work.DType.Size())
	c.expectRange(b, element)
	return b
}

// hint says what a wrong value looks like, "" if like nothing known.
func (c *Case) hint(rank int, element int64, p place, found []byte, before uint64) string {
	if bytes.Count(found, []byte{Poison}) == len(found) {
		return "never written"
	}
	if before != 0 && c.pattern == Random {
		old := c.withSeed(before)
		if bytes.Equal(old.one(element), found) {
			return "the result of the run before"
		}
		if h := c.mixture(element, p, found, old); h != "" {
			return h
		}
	}
	input := make([]byte, len(found))
	c.Input(input, rank, element)
	if bytes.Equal(input, found) {
		return "this rank's own input"
	}
	if h := c.wrongRanks(element, p, found); h != "" {
		return h
	}
	return c.wrongPlace(element, p, found)
}

// withSeed is the same work with other data.
func (c *Case) withSeed(seed uint64) *Case {
	return &Case{plan: c.plan, work: c.work, index: c.index, pattern: c.pattern, seed: seed, shape: c.shape, roots: c.roots, programs: map[[2]int]program{}}
}

// try evaluates an order of ranks for one element.
func (c *Case) try(element int64, order program) []byte {
	b := make([]byte, c.work.DType.Size())
	c.evaluate(b, element, order)
	return b
}

// wrongRanks looks for results with an input missing, doubled, or with the
// first or last ones only.
func (c *Case) wrongRanks(element int64, p place, found []byte) string {
	order := c.programOf(p).ranks()
	if c.work.Algo == allreduce.Tree {
		return c.wrongSets(element, order, found)
	}
	for n := 1; n < len(order); n++ {
		if bytes.Equal(c.try(element, fold(order[:n])), found) {
			return fmt.Sprintf("has the inputs of rank %v only", order[:n])
		}
	}
	return c.wrongSets(element, order, found)
}

func (c *Case) wrongSets(element int64, order []int, found []byte) string {
	if len(order) < 2 {
		return ""
	}
	for i, r := range order {
		if bytes.Equal(c.try(element, fold(slices.Delete(slices.Clone(order), i, i+1))), found) {
			return fmt.Sprintf("the input of rank %d is missing", r)
		}
		if bytes.Equal(c.try(element, fold(slices.Insert(slices.Clone(order), i, r))), found) {
			return fmt.Sprintf("the input of rank %d is there twice", r)
		}
		if bytes.Equal(c.try(element, fold([]int{r})), found) {
			return fmt.Sprintf("the input of rank %d alone", r)
		}
	}
	for i := 1; i < len(order); i++ {
		if bytes.Equal(c.try(element, fold(slices.Concat(order[i:], order[:i]))), found) {
			return fmt.Sprintf("all inputs, but added from rank %d on", order[i])
		}
	}
	return ""
}

// mixture looks for results that begin with old data: a rank took what a
// connection held from the run before.
func (c *Case) mixture(element int64, p place, found []byte, old *Case) string {
	order := c.programOf(p).ranks()
	if c.work.Algo == allreduce.Tree {
		return ""
	}
	for n := 1; n < len(order); n++ {
		acc := make([]byte, len(found))
		old.combine(acc, element, fold(order[:n]))
		c.addInputs(acc, element, order[n:])
		if bytes.Equal(acc, found) {
			return fmt.Sprintf("rank %d took data of the run before from rank %d", order[n], order[n-1])
		}
	}
	return ""
}

// addInputs adds inputs to a partial result and finishes it.
func (c *Case) addInputs(acc []byte, element int64, ranks []int) {
	t, input := c.work.DType, make([]byte, len(acc))
	for _, r := range ranks {
		c.scaled(input, r, element)
		reduce.Reduce(acc, acc, input, t, c.work.Op)
	}
	if reduce.Divides(t, c.work.Op) {
		reduce.Divide(acc, acc, t, c.plan.Layout.NRanks)
	}
}

// wrongPlace looks for the value of the same element of another chunk.
func (c *Case) wrongPlace(element int64, p place, found []byte) string {
	if p.count <= 0 || c.work.Algo == allreduce.OneShot {
		return ""
	}
	whole := c.placeOf(c.work.Part(p.channel), element)
	for chunk := range c.plan.Layout.NRanks {
		other := element + int64(chunk-p.chunk)*whole.count
		if chunk == p.chunk || other < 0 || other >= c.work.Count {
			continue
		}
		if bytes.Equal(c.one(other), found) {
			return fmt.Sprintf("the value of chunk %d", chunk)
		}
	}
	return ""
}

// ranks is the order in which a program loads inputs.
func (p program) ranks() []int {
	var list []int
	for _, i := range p {
		if i.rank >= 0 {
			list = append(list, i.rank)
		}
	}
	return list
}
