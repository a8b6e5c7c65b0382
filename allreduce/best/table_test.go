package best_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
)

var (
	oneShot = best.Choice{Engine: best.Ours, Algo: allreduce.OneShot, Proto: allreduce.LL}
	twoShot = best.Choice{Engine: best.Ours, Algo: allreduce.TwoShot, Proto: allreduce.Simple}
	ring    = best.Choice{Engine: best.Ours, Algo: allreduce.Ring, Proto: allreduce.Simple}
	peer    = best.Choice{Engine: best.NCCL}
	h200x2  = best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: 2, Ranks: 2, Link: best.NVLink}
)

func sized(bytes int64, us map[best.Choice]float64) best.Size {
	s := best.Size{Bytes: bytes}
	for _, c := range []best.Choice{oneShot, twoShot, ring, peer} { // an order that does not change
		if v, ok := us[c]; ok {
			s.Candidates = append(s.Candidates, best.Candidate{Choice: c, Median: v})
		}
	}
	return s
}

func TestFit(t *testing.T) {
	rows := best.Fit([]best.Size{
		sized(1<<10, map[best.Choice]float64{oneShot: 2, twoShot: 5}),
		sized(1<<14, map[best.Choice]float64{oneShot: 3, twoShot: 2.99}), // a tie: the choice before stays
		sized(1<<16, map[best.Choice]float64{oneShot: 9, twoShot: 6}),
		sized(1<<18, map[best.Choice]float64{}), // nothing was measured
		sized(1<<20, map[best.Choice]float64{twoShot: 20, peer: 10}),
	}, 0.02)
	want := []best.Row{{UpTo: 1 << 15, Choice: oneShot}, {UpTo: 1 << 18, Choice: twoShot}, {Choice: peer}}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	if best.Fit(nil, 0.02) != nil {
		t.Error("rows of nothing")
	}
}

// Whatever was measured: rows are in order and without end, a size that was
// measured gets a choice within the tie of the best, and without ties the best.
func TestFitIsNeverFarFromTheBest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tie := rapid.SampledFrom([]float64{0, 0.02, 0.3}).Draw(rt, "tie")
		var sizes []best.Size
		at := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "sizes") {
			at += rapid.Int64Range(1, 1<<uint(rapid.IntRange(1, 30).Draw(rt, "magnitude"))).Draw(rt, "more")
			us := map[best.Choice]float64{}
			for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom([]best.Choice{oneShot, twoShot, ring, peer}), 1, 4, rapid.ID).Draw(rt, "candidates") {
				us[c] = rapid.Float64Range(1, 3).Draw(rt, "us")
			}
			sizes = append(sizes, sized(at, us))
		}
		f := &best.File{}
		f.Put(best.Table{Class: h200x2, Rows: best.Fit(sizes, tie)})
		back := reread(rt, f)
		s := best.For(h200x2, back)
		for _, size := range sizes {
			c, from, ok := s.Choose(size.Bytes)
			if !ok || from.Kind != best.FromTable {
				rt.Fatalf("%d bytes: %v from %v", size.Bytes, ok, from)
			}
			least, mine := math.Inf(1), math.Inf(1)
			for _, x := range size.Candidates {
				least = min(least, x.Median)
				if x.Choice == c {
					mine = x.Median
				}
			}
			if mine > least*(1+tie) {
				rt.Fatalf("%d bytes: %v takes %v us, the best %v", size.Bytes, c, mine, least)
			}
		}
		for i, r := range back.Tables[0].Rows {
			if i > 0 && r.Choice == back.Tables[0].Rows[i-1].Choice {
				rt.Fatalf("rows %d and %d have one choice", i-1, i)
			}
		}
	})
}

// With a seed for every class that has a way between its ranks.
func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		class best.Class
		bytes int64
		want  best.Choice
		name  string
	}{
		{h200x2, 8, oneShot, "two H200"},
		{h200x2, 512 << 10, oneShot, "two H200"},
		{h200x2, 1 << 40, twoShot, "two H200"},
		{best.Class{Engine: "gpu", Device: "NVIDIA H100", Devices: 2, Ranks: 2, Link: best.NVLink}, 1024, oneShot, "two GPUs"},
		{best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: 8, Ranks: 8, Link: best.NVLink}, 1 << 20, twoShot, "GPUs over NVLink"},
		{best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: 2, Ranks: 8, Link: best.NVLink}, 8, oneShot, "several ranks"},
		{best.Class{Engine: "gpu", Device: "NVIDIA L4", Devices: 1, Ranks: 4, Link: best.Memory}, 1 << 30, twoShot, "several ranks"},
		{best.Class{Engine: "gpu", Device: "NVIDIA L4", Devices: 4, Ranks: 4, Link: best.PCIe}, 64 << 10, twoShot, "PCIe"},
		{best.Class{Engine: "host", Device: "a processor", Devices: 2, Ranks: 4, Link: best.Memory}, 8, twoShot, "CPU"},
	} {
		got, from, ok := best.For(c.class, nil).Choose(c.bytes)
		if !ok || from.Kind != best.FromSeed || !strings.Contains(from.String(), c.name) {
			t.Errorf("%s: from %s", c.class, from)
		}
		if got.Algo != c.want.Algo || got.Engine != best.Ours {
			t.Errorf("%s, %d bytes: %s, want %s", c.class, c.bytes, got, c.want)
		}
	}
	for _, c := range []best.Class{
		{Engine: "gpu", Device: "NVIDIA L4", Devices: 4, Ranks: 4, Link: best.Staged},
		{Engine: "gpu", Device: "NVIDIA L4", Devices: 1, Ranks: 1, Link: best.Memory},
	} {
		if got, from, ok := best.For(c, nil).Choose(8); ok || from.String() != "NCCL's model" {
			t.Errorf("%s: %s from %s", c, got, from)
		}
	}
}

// Seeds are tables like those of files: they would be read.
func TestSeedsAreProperTables(t *testing.T) {
	for _, link := range []best.Link{best.Memory, best.NVLink, best.PCIe} {
		for _, devices := range []int{1, 2, 8} {
			for _, ranks := range []int{2, 8} {
				c := best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: devices, Ranks: ranks, Link: link}
				s := best.For(c, nil)
				if _, _, ok := s.Choose(1); !ok {
					continue
				}
				f := &best.File{}
				f.Put(best.Table{Class: c, Rows: best.SeedRows(s)})
				reread(t, f)
			}
		}
	}
}

func TestOrigins(t *testing.T) {
	for want, o := range map[string]best.Origin{
		"seed: two H200":            {Kind: best.FromSeed, Name: "two H200"},
		"table t.json of 2026-11-3": {Kind: best.FromTable, Name: "t.json", Date: "2026-11-3"},
		"table t.json":              {Kind: best.FromTable, Name: "t.json"},
		"forced":                    {Kind: best.Forced},
		"NCCL's model":              {Kind: best.FromModel},
	} {
		if o.String() != want {
			t.Errorf("%+v is %q, want %q", o, o, want)
		}
	}
}

func TestChoicesHaveNames(t *testing.T) {
	tuned := twoShot
	tuned.Blocks, tuned.Threads, tuned.Pieces = 64, 512, 2
	for want, c := range map[string]best.Choice{
		"OneShot/LL": oneShot, "NCCL": peer, "NCCL with symmetric windows": {Engine: best.NCCL, Symmetric: true},
		"TwoShot/Simple x 64 blocks, 512 threads, 2 pieces": tuned,
	} {
		if c.String() != want {
			t.Errorf("%+v is %q, want %q", c, c, want)
		}
	}
}
