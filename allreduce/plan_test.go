package allreduce_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
)

// goodPlan is one work of 100 floats on channels 0 and 2, with memory for it.
func goodPlan(t *testing.T) (*allreduce.Plan, []allreduce.Args) {
	t.Helper()
	p := &allreduce.Plan{Layout: executortest.Four(), Mask: 0b101, Threads: 128, Works: []allreduce.Work{{
		Count: 100, DType: allreduce.Float32, Algo: allreduce.Ring, Proto: allreduce.Simple, Threads: 96, StepBytes: 8192, ChunkSteps: 4, SliceSteps: 2,
		Parts: []allreduce.Part{{Channel: 0, Count: 48, ChunkBytes: 32768, Loops: 1}, {Channel: 2, Offset: 48, Count: 52, ChunkBytes: 32768, Loops: 1}},
	}}}
	ex, err := executortest.NewSerial(p.Layout)
	if err != nil {
		t.Fatal(err)
	}
	a := allreduce.Args{Send: make([]allreduce.Span, 4), Recv: make([]allreduce.Span, 4)}
	for rank := range 4 {
		b, err := ex.Alloc(rank, 400)
		if err != nil {
			t.Fatal(err)
		}
		a.Send[rank], a.Recv[rank] = allreduce.Span{Buf: b}, allreduce.Span{Buf: b}
	}
	return p, []allreduce.Args{a}
}

func TestPlanHelpers(t *testing.T) {
	p, _ := goodPlan(t)
	w := &p.Works[0]
	if c := p.Channels(); !slices.Equal(c, []int{0, 2}) {
		t.Errorf("channels %v", c)
	}
	if w.Bytes() != 400 || w.SliceBytes() != 16384 || w.Part(2).Offset != 48 || w.Part(1) != nil {
		t.Errorf("%d bytes, slices of %d, parts %v and %v", w.Bytes(), w.SliceBytes(), w.Part(2), w.Part(1))
	}
}

func TestPlanCheck(t *testing.T) {
	local := []int{0, 1, 2, 3}
	p, args := goodPlan(t)
	if err := p.Check(args, local); err != nil {
		t.Fatal(err)
	}
	if err := p.Check(nil, local); err == nil {
		t.Error("no arguments pass")
	}
	for want, damage := range map[string]func(p *allreduce.Plan, a *allreduce.Args){
		"without a layout":             func(p *allreduce.Plan, _ *allreduce.Args) { p.Layout = nil },
		"channel 3 is not active":      func(p *allreduce.Plan, _ *allreduce.Args) { p.Works[0].Parts[1].Channel = 3 },
		"channel 2 is not active":      func(p *allreduce.Plan, _ *allreduce.Args) { p.Mask = 1 },
		"elements 47 to 99 of 100":     func(p *allreduce.Plan, _ *allreduce.Args) { p.Works[0].Parts[1].Offset-- },
		"elements 48 to 101 of 100":    func(p *allreduce.Plan, _ *allreduce.Args) { p.Works[0].Parts[1].Count++ },
		"parts end at element 99":      func(p *allreduce.Plan, _ *allreduce.Args) { p.Works[0].Parts[1].Count-- },
		"chunks of 8 bytes":            func(p *allreduce.Plan, _ *allreduce.Args) { p.Works[0].Parts[0].ChunkBytes = 8 },
		"DType(99)":                    func(p *allreduce.Plan, _ *allreduce.Args) { p.Works[0].DType = 99 },
		"400 bytes at 4 of a buffer":   func(_ *allreduce.Plan, a *allreduce.Args) { a.Recv[1].Off = 4 },
		"400 bytes at -4 of a buffer":  func(_ *allreduce.Plan, a *allreduce.Args) { a.Send[1].Off = -4 },
		"rank 1: a buffer of its own":  func(_ *allreduce.Plan, a *allreduce.Args) { a.Send[1].Buf = nil },
		"rank 2: a buffer of its own":  func(_ *allreduce.Plan, a *allreduce.Args) { a.Send[2] = a.Send[1] },
		"3 inputs and 4 outputs for 4": func(_ *allreduce.Plan, a *allreduce.Args) { a.Send = a.Send[:3] },
	} {
		p, args := goodPlan(t)
		damage(p, &args[0])
		if err := p.Check(args, local); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// Another process's ranks are not looked at.
	args[0].Send[1].Buf = nil
	if err := p.Check(args, []int{0, 2, 3}); err != nil {
		t.Error(err)
	}
}

func TestBusBW(t *testing.T) {
	if got := allreduce.BusBW(4, 1<<30, 1000); math.Abs(got-1610.612736) > 1e-9 {
		t.Errorf("%v GB/s", got)
	}
	if allreduce.BusBW(4, 1, 0) != 0 || allreduce.BusBW(1, 100, 1) != 0 {
		t.Error("no time or no peers must make no bandwidth")
	}
}

func TestMismatchText(t *testing.T) {
	m := &allreduce.Mismatch{Rank: 1, Channel: 2, Loop: 3, Chunk: 0, Owner: 4, Element: 5, Expected: "6", Found: "7", Hint: "never written"}
	if got, want := m.String(), "rank 1 channel 2 loop 3 chunk 0 (owner rank 4) element 5: expected 6, found 7 (never written)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestUnsupportedText(t *testing.T) {
	e := &allreduce.UnsupportedError{Executor: "gpu", Algo: allreduce.NVLS, Proto: allreduce.Simple, Reason: "no switch"}
	if got := e.Error(); got != "gpu does not run NVLS/Simple: no switch" {
		t.Error(got)
	}
}
