package verify_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

var orders = []allreduce.Algo{allreduce.Ring, allreduce.Tree, allreduce.OneShot, allreduce.TwoShot}

func int32s(b []byte) []int32 {
	v := make([]int32, len(b)/4)
	for i := range v {
		v[i] = int32(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return v
}

// Integers combine the same in any order: what is expected is what a loop over
// the inputs gives, for every algorithm, operation and pattern.
func TestIntegersByAPlainLoop(t *testing.T) {
	ops := map[allreduce.Op]func(a, b int32) int32{
		allreduce.Sum:  func(a, b int32) int32 { return a + b },
		allreduce.Prod: func(a, b int32) int32 { return a * b },
		allreduce.Min:  func(a, b int32) int32 { return min(a, b) },
		allreduce.Max:  func(a, b int32) int32 { return max(a, b) },
	}
	const count = 3001
	for _, a := range orders {
		for op, combine := range ops {
			for _, pattern := range verify.Patterns() {
				c := newCase(t, planOn(t, []int{0, 1, 2}, a, plan.Task{Count: count, DType: allreduce.Int32, Op: op}), pattern, 21)
				b := make([]byte, 4*count)
				c.Input(b, 0, 0)
				want := int32s(b)
				for rank := 1; rank < 4; rank++ {
					c.Input(b, rank, 0)
					for i, v := range int32s(b) {
						want[i] = combine(want[i], v)
					}
				}
				c.Expected(b, 0)
				if got := int32s(b); !slices.Equal(got, want) {
					t.Errorf("%v %v of %v: the plain loop gives something else", a, op, pattern)
				}
			}
		}
	}
}

// The patterns by their formulas, from any element on.
func TestPatternsByTheirFormulas(t *testing.T) {
	const count, first = 600, 123
	task := plan.Task{Count: count, DType: allreduce.Int32}
	in := make([]byte, 4*(count-first))
	ramp := newCase(t, planOn(t, []int{0}, allreduce.Ring, task), verify.Ramp, 0)
	for rank := range 4 {
		ramp.Input(in, rank, first)
		for i, v := range int32s(in) {
			if want := int32((first+i+rank)%127 + 1); v != want {
				t.Fatalf("ramp of rank %d element %d: %d, want %d", rank, first+i, v, want)
			}
		}
	}
	task.Op = allreduce.Prod
	ramp = newCase(t, planOn(t, []int{0}, allreduce.Ring, task), verify.Ramp, 0)
	ramp.Input(in, 3, first)
	if v := int32s(in); slices.Max(v) != 2 || slices.Min(v) != 1 {
		t.Errorf("factors from %d to %d, want 1 and 2, whose products stay small", slices.Min(v), slices.Max(v))
	}
	ones := newCase(t, planOn(t, []int{0}, allreduce.Ring, task), verify.Ones, 0)
	ones.Expected(in, first)
	if v := int32s(in); slices.Max(v) != 1 || slices.Min(v) != 1 {
		t.Error("the product of ones is not one")
	}
}

// The average of ones is one, whatever the type: it is divided once.
func TestAverageOfOnes(t *testing.T) {
	for _, d := range allreduce.DTypes() {
		for _, a := range orders {
			c := newCase(t, planOn(t, []int{0}, a, plan.Task{Count: 9, DType: d, Op: allreduce.Avg}), verify.Ones, 0)
			b := make([]byte, 9*d.Size())
			c.Expected(b, 0)
			last := verify.Format(b[8*d.Size():], d)
			if last != "1" && !strings.HasPrefix(last, "1 (") {
				t.Errorf("%v %v: %s, want 1", a, d, last)
			}
		}
	}
}

// Where an element is: in a part of its channel, finished by the rank that has
// the chunk's place in the ring, and all of a chunk's elements alike.
func TestPlacesOfARing(t *testing.T) {
	l := executortest.Four()
	p := planOn(t, []int{0, 1, 2}, allreduce.Ring, plan.Task{Count: 200_000, DType: allreduce.Float16})
	c := newCase(t, p, verify.Ones, 0)
	owners, loops := map[int]bool{}, 0
	// Evenly over all, since the end asks for every owner and loop to occur.
	for element := int64(0); element < 200_000; element += 37 {
		m := c.Mismatch(2, element, []byte{0, 0}, 0)
		if m.Rank != 2 || m.Element != element || m.Owner != l.Rings[m.Channel][m.Chunk] {
			t.Fatalf("%v: chunk %d of ring %v", m, m.Chunk, l.Rings[m.Channel])
		}
		part := p.Works[0].Part(m.Channel)
		if element < part.Offset || element >= part.Offset+part.Count {
			t.Fatalf("element %d is not in channel %d", element, m.Channel)
		}
		owners[m.Owner] = true
		loops = max(loops, m.Loop)
	}
	if len(owners) != 4 || loops == 0 {
		t.Errorf("owners %v, loops up to %d: want all ranks, and more than one loop", owners, loops)
	}
}

// Whoever finishes an element is its owner: the root with a tree, the rank
// itself with one shot, the share's rank with two.
func TestOwners(t *testing.T) {
	const count = 400
	zero := make([]byte, 4)
	mismatch := func(a allreduce.Algo, channel, rank int, element int64) *allreduce.Mismatch {
		p := planOn(t, []int{channel}, a, plan.Task{Count: count, DType: allreduce.Float32})
		return newCase(t, p, verify.Ones, 0).Mismatch(rank, element, zero, 0)
	}
	for channel, root := range []int{0, 2, 3} {
		if m := mismatch(allreduce.Tree, channel, 1, 7); m.Owner != root || m.Chunk != 0 || m.Channel != channel {
			t.Errorf("tree: %v, want rank %d as owner", m, root)
		}
	}
	for rank := range 4 {
		if m := mismatch(allreduce.OneShot, 0, rank, 399); m.Owner != rank {
			t.Errorf("one shot: %v, want rank %d itself", m, rank)
		}
	}
	last := -1
	for element := int64(0); element < count; element++ {
		m := mismatch(allreduce.TwoShot, 0, 0, element)
		if m.Owner != m.Chunk || m.Owner < last || m.Owner > last+1 {
			t.Fatalf("two shot: %v after rank %d's share", m, last)
		}
		last = m.Owner
	}
	if last != 3 {
		t.Errorf("the last share is rank %d's, want 3", last)
	}
}

// Sums of floats in another order, and hints of trees.
func TestHintsOfOrder(t *testing.T) {
	const count = 256
	c := newCase(t, planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: count, DType: allreduce.Float32}), verify.Random, 4)
	var x [4][]float32
	for rank := range x {
		x[rank] = float32s(c, rank, count)
	}
	bits := func(v float32) []byte { return binary.NativeEndian.AppendUint32(nil, math.Float32bits(v)) }
	want := float32s(c, -1, count)
	tried := 0
	for i := range count / 4 { // chunk 0 is added 1, 2, 3, 0
		turned := ((x[3][i] + x[0][i]) + x[1][i]) + x[2][i]
		if turned == want[i] {
			continue
		}
		hint := c.Mismatch(0, int64(i), bits(turned), 0).Hint
		if !strings.HasPrefix(hint, "all inputs, but added from rank") {
			t.Errorf("element %d: hint %q", i, hint)
		}
		tried++
	}
	if tried == 0 {
		t.Error("no element shows the order")
	}
	tree := newCase(t, planOn(t, []int{2}, allreduce.Tree, plan.Task{Count: count, DType: allreduce.Int32}), verify.Random, 4)
	var v [4]int32
	for rank := range v {
		b := make([]byte, 4)
		tree.Input(b, rank, 0)
		v[rank] = int32s(b)[0]
	}
	element := func(v int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(v)) }
	for want, found := range map[string]int32{
		"the input of rank 1 is missing":     v[0] + v[2] + v[3],
		"the input of rank 0 is there twice": 2*v[0] + v[1] + v[2] + v[3],
		"this rank's own input":              v[3],
		"the input of rank 2 alone":          v[2],
	} {
		if got := tree.Mismatch(3, 0, element(found), 0).Hint; got != want {
			t.Errorf("tree: hint %q, want %q", got, want)
		}
	}
}

// Two seeds give two inputs, one seed the same again; ranks differ too.
func TestSeeds(t *testing.T) {
	p := planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 100, DType: allreduce.Uint8})
	input := func(seed uint64, rank int) []byte {
		b := make([]byte, 100)
		newCase(t, p, verify.Random, seed).Input(b, rank, 0)
		return b
	}
	if !bytes.Equal(input(1, 2), input(1, 2)) {
		t.Error("one seed gives two inputs")
	}
	if bytes.Equal(input(1, 2), input(2, 2)) || bytes.Equal(input(1, 2), input(1, 3)) {
		t.Error("two seeds, or two ranks, give one input")
	}
}

// A case serves several goroutines at once.
func TestCaseFromSeveralGoroutines(t *testing.T) {
	const count = 50_000
	c := newCase(t, planOn(t, []int{0, 1, 2}, allreduce.Tree, plan.Task{Count: count, DType: allreduce.Float32}), verify.Random, 8)
	want := float32s(c, -1, count)
	var wg sync.WaitGroup
	got := make([][]float32, 4)
	for i := range got {
		wg.Go(func() { got[i] = float32s(c, -1, count) })
	}
	wg.Wait()
	for i := range got {
		if !slices.Equal(got[i], want) {
			t.Errorf("goroutine %d expects something else", i)
		}
	}
}
