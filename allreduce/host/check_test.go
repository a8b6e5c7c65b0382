package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

func TestCan(t *testing.T) {
	x, err := New(executortest.Four(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	flat := executortest.Four()
	flat.Trees = nil
	y, err := New(flat, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	for _, c := range []struct {
		x    *Executor
		a    allreduce.Algo
		p    allreduce.Proto
		want string // of the reason; "": it can
	}{
		{x, allreduce.Ring, allreduce.LL128, ""},
		{x, allreduce.Tree, allreduce.LL, ""},
		{x, allreduce.TwoShot, allreduce.Simple, ""},
		{x, allreduce.OneShot, allreduce.LL, "want Simple"},
		{x, allreduce.NVLS, allreduce.Simple, "hardware that reduces"},
		{x, allreduce.CollNetChain, allreduce.Simple, "hardware that reduces"},
		{x, allreduce.Ring, allreduce.NumProtos, "unknown protocol"},
		{y, allreduce.Tree, allreduce.Simple, "no trees"},
	} {
		err := c.x.Can(c.a, c.p)
		var u *allreduce.UnsupportedError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v/%v: %v", c.a, c.p, err)
		case c.want != "" && (!errors.As(err, &u) || !strings.Contains(u.Reason, c.want) || u.Executor != "host"):
			t.Errorf("%v/%v: %v, want %q", c.a, c.p, err, c.want)
		}
	}
}

// Plans that do not fit the FIFOs are refused, and the executor works on.
func TestBadPlans(t *testing.T) {
	good, layout := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 5000, DType: allreduce.Float32}}})
	x, err := New(layout, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, good, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*allreduce.Plan){
		"another layout":   func(p *allreduce.Plan) { p.Layout = executortest.Four() },
		"step of 1024":     func(p *allreduce.Plan) { p.Works[0].StepBytes = 1024 },
		"slices of 3":      func(p *allreduce.Plan) { p.Works[0].SliceSteps = 3 },
		"chunks of 16 ste": func(p *allreduce.Plan) { p.Works[0].ChunkSteps = 16 },
		"slices of 0":      func(p *allreduce.Plan) { p.Works[0].SliceSteps = 0 },
		"chunks of 40 byt": func(p *allreduce.Plan) { p.Works[0].Parts[0].ChunkBytes = 40 },
		"up to 8192":       func(p *allreduce.Plan) { p.Works[0].Parts[0].ChunkBytes = 1 << 20 },
		"reduces":          func(p *allreduce.Plan) { p.Works[0].Algo = allreduce.NVLSTree },
		"not active":       func(p *allreduce.Plan) { p.Mask = 0 },
	} {
		bad := *good
		bad.Works = append([]allreduce.Work(nil), good.Works...)
		bad.Works[0].Parts = append([]allreduce.Part(nil), good.Works[0].Parts...)
		spoil(&bad)
		if _, err := x.Run(context.Background(), &bad, trial.Args()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := executortest.RunPlan(x, good, verify.Options{}, 2); err != nil {
		t.Error(err)
	}
}

// What a chunk's steps hold: half of LL's, fifteen sixteenths of whole groups of
// LL128's, and of Simple's as much as slices can cut evenly.
func TestChunkRoom(t *testing.T) {
	for _, c := range []struct {
		w    allreduce.Work
		want int
	}{
		{allreduce.Work{Proto: allreduce.LL, StepBytes: 65536, ChunkSteps: 1, SliceSteps: 1}, 32768},
		{allreduce.Work{Proto: allreduce.LL128, StepBytes: 614400, ChunkSteps: 1, SliceSteps: 1}, 576000},
		{allreduce.Work{Proto: allreduce.LL128, StepBytes: 3000, ChunkSteps: 1, SliceSteps: 1}, 1920},
		{allreduce.Work{Proto: allreduce.Simple, DType: allreduce.Float32, StepBytes: 524288, ChunkSteps: 4, SliceSteps: 2}, 2097152},
		{allreduce.Work{Proto: allreduce.Simple, DType: allreduce.Int8, StepBytes: 1000, ChunkSteps: 4, SliceSteps: 2}, 4000},
		{allreduce.Work{Proto: allreduce.Simple, DType: allreduce.Float64, StepBytes: 524288, ChunkSteps: 1, SliceSteps: 1}, 524288},
	} {
		if got := chunkRoom(&c.w); got != c.want {
			t.Errorf("%v, steps of %d: %d bytes, want %d", c.w.Proto, c.w.StepBytes, got, c.want)
		}
	}
}

// The slices of specification 08, section 4.2.
func TestSliceBytes(t *testing.T) {
	for _, c := range []struct {
		step, elements, want int
	}{
		{524288, 524288, 262144}, {524288, 349528, 174768}, {524288, 20836, 10432}, {524288, 20824, 10416},
		{524288, 256, 8192}, {8192, 8192, 4096}, {8192, 5464, 2736}, {8192, 100, 128}, {131072, 131072, 65536},
	} {
		w := allreduce.Work{DType: allreduce.Float32, StepBytes: c.step, ChunkSteps: 4, SliceSteps: 2}
		if got := sliceBytes(&w, c.elements*4) / 4; got != c.want {
			t.Errorf("steps of %d, chunk of %d elements: slices of %d, want %d", c.step, c.elements, got, c.want)
		}
	}
}
