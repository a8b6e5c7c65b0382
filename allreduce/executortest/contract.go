package executortest

import (
	"context"
	"fmt"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/connect"
)

// Contract runs all tests that every executor must pass.
func Contract(t *testing.T, open New) {
	t.Run("every type and operation", func(t *testing.T) { testTypes(t, open) })
	t.Run("awkward sizes", func(t *testing.T) { testSizes(t, open) })
	t.Run("patterns", func(t *testing.T) { testPatterns(t, open) })
	t.Run("some channels", func(t *testing.T) { testMasks(t, open) })
	t.Run("one rank", func(t *testing.T) { testOneRank(t, open) })
	t.Run("groups", func(t *testing.T) { testGroups(t, open) })
	t.Run("mixed back to back", func(t *testing.T) { testMixed(t, open) })
	t.Run("bad arguments", func(t *testing.T) { testBadArguments(t, open) })
	t.Run("ended context", func(t *testing.T) { testEndedContext(t, open) })
	t.Run("close", func(t *testing.T) { testClose(t, open) })
}

// Four is a layout of four ranks with three unlike rings, a tree of each kind
// (chain, split, three children), and small buffers, so that short messages
// take several loops.
func Four() *allreduce.Layout {
	return &allreduce.Layout{NRanks: 4, BuffSize: [3]int{16384, 16384, 16384},
		Rings: [][]int{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}},
		Trees: []connect.Tree{
			{Up: []int32{-1, 0, 1, 2}, Down: [][3]int32{{1, -1, -1}, {2, -1, -1}, {3, -1, -1}, {-1, -1, -1}}},
			{Up: []int32{1, 2, -1, 1}, Down: [][3]int32{{-1, -1, -1}, {0, 3, -1}, {1, -1, -1}, {-1, -1, -1}}},
			{Up: []int32{3, 3, 3, -1}, Down: [][3]int32{{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}, {2, 0, 1}}},
		}}
}

var algos = []allreduce.Algo{allreduce.Ring, allreduce.Tree, allreduce.OneShot, allreduce.TwoShot}

// each opens an executor on four ranks and goes through what it can run.
func each(t *testing.T, open New, test func(t *testing.T, h *harness)) {
	h := newHarness(t, open, Four())
	ran := 0
	for _, a := range algos {
		for _, p := range allreduce.Protos() {
			if h.ex.Can(a, p) != nil {
				continue
			}
			ran++
			h.algo, h.proto = a, p
			t.Run(fmt.Sprintf("%s/%s", a, p), func(t *testing.T) { test(t, h) })
		}
	}
	if ran == 0 {
		t.Error("the executor can run nothing")
	}
}

// harness is an open executor with a planner for it.
type harness struct {
	ex      allreduce.Executor
	planner *plan.Planner
	algo    allreduce.Algo
	proto   allreduce.Proto
}

func newHarness(t *testing.T, open New, l *allreduce.Layout, opts ...plan.Option) *harness {
	t.Helper()
	s := plan.DefaultSettings()
	s.BuffSize = l.BuffSize
	p, err := plan.New(plan.Nominal(l), s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	ex, err := open(p.Layout())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ex.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return &harness{ex: ex, planner: p}
}

// plan lays tasks out for the algorithm and protocol at hand.
func (h *harness) plan(t *testing.T, tasks ...plan.Task) *allreduce.Plan {
	t.Helper()
	launches, err := h.planner.Plan(tasks, plan.Force{Algo: &h.algo, Proto: &h.proto})
	if err != nil {
		t.Fatal(err)
	}
	if len(launches) != 1 {
		t.Fatalf("%d launches, want 1", len(launches))
	}
	return launches[0].Plan
}

func (h *harness) run(t *testing.T, p *allreduce.Plan, o verify.Options, rounds int) {
	t.Helper()
	if err := RunPlan(h.ex, p, o, rounds); err != nil {
		w := &p.Works[0]
		t.Fatalf("%s/%s, %d works, first %s %s of %d, %+v: %v", h.algo, h.proto, len(p.Works), w.DType, w.Op, w.Count, o, err)
	}
}

func testTypes(t *testing.T, open New) {
	each(t, open, func(t *testing.T, h *harness) {
		for _, d := range allreduce.DTypes() {
			for _, op := range allreduce.Ops() {
				p := h.plan(t, plan.Task{Count: 1027, DType: d, Op: op})
				for _, inPlace := range []bool{false, true} {
					h.run(t, p, verify.Options{Seed: 1, InPlace: inPlace}, 1)
				}
			}
		}
	})
}

// From one element to several loops, with sizes that leave parts, chunks and
// lines short or empty.
func testSizes(t *testing.T, open New) {
	each(t, open, func(t *testing.T, h *harness) {
		for _, count := range []int64{1, 2, 3, 5, 7, 31, 511, 1025, 40009} {
			for _, d := range []allreduce.DType{allreduce.Int8, allreduce.BFloat16, allreduce.Float32} {
				for shift := range 2 {
					h.run(t, h.plan(t, plan.Task{Count: count, DType: d}), verify.Options{Seed: 2, Shift: shift, InPlace: shift == 1}, 1)
				}
			}
		}
	})
}

func testPatterns(t *testing.T, open New) {
	each(t, open, func(t *testing.T, h *harness) {
		for _, pattern := range verify.Patterns() {
			for _, op := range allreduce.Ops() {
				h.run(t, h.plan(t, plan.Task{Count: 9001, DType: allreduce.Float16, Op: op}), verify.Options{Pattern: pattern}, 1)
			}
		}
	})
}

// Masks with holes.
func testMasks(t *testing.T, open New) {
	for _, list := range [][]int{{0}, {2}, {0, 2}, {1, 2}} {
		h := newHarness(t, open, Four(), plan.OnChannels(list))
		h.algo, h.proto = allreduce.Ring, allreduce.Simple
		if h.ex.Can(h.algo, h.proto) != nil {
			t.Skip("no ring")
		}
		h.run(t, h.plan(t, plan.Task{Count: 20003, DType: allreduce.Int32}), verify.Options{Seed: 3}, 2)
	}
}

// One rank alone copies.
func testOneRank(t *testing.T, open New) {
	l := &allreduce.Layout{NRanks: 1, Rings: [][]int{{0}}, BuffSize: allreduce.DefaultBuffSize()}
	h := newHarness(t, open, l)
	h.algo, h.proto = allreduce.Ring, allreduce.Simple
	for _, op := range allreduce.Ops() {
		for _, inPlace := range []bool{false, true} {
			h.run(t, h.plan(t, plan.Task{Count: 1001, DType: allreduce.Float16, Op: op}), verify.Options{InPlace: inPlace}, 1)
		}
	}
}

// Several operations in one launch.
func testGroups(t *testing.T, open New) {
	each(t, open, func(t *testing.T, h *harness) {
		p := h.plan(t,
			plan.Task{Count: 3, DType: allreduce.Float32}, plan.Task{Count: 8021, DType: allreduce.Float32},
			plan.Task{Count: 1000, DType: allreduce.Int8, Op: allreduce.Max}, plan.Task{Count: 0, DType: allreduce.Int8},
			plan.Task{Count: 5000, DType: allreduce.Float64, Op: allreduce.Avg})
		if len(p.Works) != 4 {
			t.Fatalf("%d works, want 4", len(p.Works))
		}
		h.run(t, p, verify.Options{Seed: 4}, 3)
	})
}

// Protocols, algorithms, sizes and types follow each other on the same
// connections, whose counters go on.
func testMixed(t *testing.T, open New) {
	h := newHarness(t, open, Four())
	var plans []*allreduce.Plan
	for i, a := range algos {
		for j, proto := range allreduce.Protos() {
			if h.ex.Can(a, proto) == nil {
				h.algo, h.proto = a, proto
				d := allreduce.DType((3*i + j) % allreduce.NumDTypes)
				plans = append(plans, h.plan(t, plan.Task{Count: int64(1 + 9973*i + 31*j), DType: d}))
			}
		}
	}
	for round := range 12 {
		for i := range plans {
			p := plans[(i*5+round)%len(plans)]
			h.run(t, p, verify.Options{Seed: uint64(round), InPlace: (i+round)%2 == 0}, 1)
		}
	}
}

// Wrong arguments are refused, and the executor works on.
func testBadArguments(t *testing.T, open New) {
	h := newHarness(t, open, Four())
	h.algo, h.proto = allreduce.Ring, allreduce.Simple
	p := h.plan(t, plan.Task{Count: 1000, DType: allreduce.Float32})
	trial, err := verify.NewTrial(h.ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	good := trial.Args()[0]
	local := h.ex.Local()[0]
	short, shifted := clone(good), clone(good)
	short.Recv[local].Off = short.Recv[local].Buf.Size() - 8
	shifted.Send[local].Off++
	missing := clone(good)
	missing.Send[local] = allreduce.Span{}
	for name, args := range map[string][]allreduce.Args{
		"none": nil, "too many": {good, good}, "a buffer too small": {short}, "a part of an element": {shifted},
		"a buffer missing": {missing}, "too few ranks": {{Send: good.Send[:1], Recv: good.Recv}},
	} {
		if _, err := h.ex.Run(context.Background(), p, args); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	h.run(t, p, verify.Options{}, 1)
	if _, err := h.ex.Alloc(99, 16); err == nil {
		t.Error("memory of rank 99 of 4")
	}
	if _, err := h.ex.Alloc(local, -1); err == nil {
		t.Error("memory of -1 bytes")
	}
}

func clone(a allreduce.Args) allreduce.Args {
	return allreduce.Args{Send: append([]allreduce.Span(nil), a.Send...), Recv: append([]allreduce.Span(nil), a.Recv...)}
}

func testEndedContext(t *testing.T, open New) {
	h := newHarness(t, open, Four())
	h.algo, h.proto = allreduce.Ring, allreduce.Simple
	trial, err := verify.NewTrial(h.ex, h.plan(t, plan.Task{Count: 10, DType: allreduce.Float32}), verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := trial.Run(ctx); err == nil {
		t.Error("ran although the context had ended")
	}
}

func testClose(t *testing.T, open New) {
	l := Four()
	ex, err := open(l)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ex.Alloc(ex.Local()[0], 1024)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Free(); err != nil {
			t.Error("free:", err)
		}
	}
	for range 2 {
		if err := ex.Close(); err != nil {
			t.Error("close:", err)
		}
	}
	if _, err := ex.Run(context.Background(), &allreduce.Plan{Layout: l}, nil); err == nil {
		t.Error("ran after it was closed")
	}
}
