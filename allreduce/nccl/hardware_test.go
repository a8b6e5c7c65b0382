package nccl_test

import (
	"context"
	"errors"

	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
)

// These tests need two GPUs and NCCL; RINGTOPO_NCCL is the library's path.

func peers(t *testing.T) (*cuda.Driver, *nccl.API) {
	t.Helper()
	drv, err := cuda.Open()
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(drv.Devices()) < 2 {
		t.Skip("one GPU")
	}
	api, err := nccl.Open(os.Getenv("RINGTOPO_NCCL"))
	if errors.Is(err, nccl.ErrNoLibrary) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return drv, api
}

func twoRanks(t *testing.T) *plan.Planner {
	t.Helper()
	l := &allreduce.Layout{NRanks: 2, BuffSize: allreduce.DefaultBuffSize()}
	for range 24 {
		l.Rings = append(l.Rings, []int{0, 1})
	}
	p, err := plan.New(plan.Nominal(l), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planOne(t *testing.T, p *plan.Planner, task plan.Task, a allreduce.Algo, proto allreduce.Proto) *allreduce.Plan {
	t.Helper()
	launches, err := p.Plan([]plan.Task{task}, plan.Force{Algo: &a, Proto: &proto})
	if err != nil {
		t.Fatal(err)
	}
	return launches[0].Plan
}

// Two ranks leave no choice in the order of a sum: NCCL must give our bits.
func TestNCCLGivesTheSameBits(t *testing.T) {
	drv, api := peers(t)
	pl := twoRanks(t)
	for _, symmetric := range []bool{false, true} {
		ex, err := nccl.New(pl.Layout(), nccl.Options{Driver: drv, API: api, Symmetric: symmetric})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []allreduce.DType{allreduce.Float32, allreduce.Int8, allreduce.Float64, allreduce.BFloat16} {
			for _, op := range allreduce.Ops() {
				if d == allreduce.BFloat16 && op == allreduce.Avg {
					continue // scaled in another precision there
				}
				trial := start(t, ex, planOne(t, pl, plan.Task{Count: 100003, DType: d, Op: op}, allreduce.Ring, allreduce.Simple), false)
				if r, err := trial.Check(); err != nil || !r.OK() {
					t.Errorf("%s %s, symmetric %v: %v, %d wrong, first %v", d, op, symmetric, err, r.Wrong, r.First)
				}
				trial.Close()
			}
		}
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}

// start fills and runs once.
func start(t *testing.T, ex allreduce.Executor, p *allreduce.Plan, inPlace bool) *verify.Trial {
	t.Helper()
	trial, err := verify.NewTrial(ex, p, verify.Options{Seed: 3, InPlace: inPlace})
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return trial
}

// contestant is one way to do an AllReduce again and again.
type contestant struct {
	run   func(n int) (device, host time.Duration)
	close func() error
	us    []float64
	host  []float64
}

func (c *contestant) median() float64 { return middle(c.us) }

func middle(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return s[len(s)/2]
}

// TestCompare runs ours and NCCL's in turn. It runs where RINGTOPO_COMPARE says
// how: graph or stream, with in place and a type behind it, as in
// "graph,inplace,bfloat16".
func TestCompare(t *testing.T) {
	how := os.Getenv("RINGTOPO_COMPARE")
	if how == "" {
		t.Skip("RINGTOPO_COMPARE is not set")
	}
	drv, api := peers(t)
	version, err := api.Version()
	if err != nil {
		t.Fatal(err)
	}
	pl := twoRanks(t)
	arena := &arena{t: t, planner: pl, graph: contains(how, "graph"), inPlace: contains(how, "inplace"), dtype: allreduce.Float32}
	for _, d := range allreduce.DTypes() {
		if contains(how, d.String()) {
			arena.dtype = d
		}
	}
	if arena.ours, err = gpu.New(pl.Layout(), gpu.Options{Driver: drv}); err != nil {
		t.Fatal(err)
	}
	defer arena.ours.Close()
	if arena.plain, err = nccl.New(pl.Layout(), nccl.Options{Driver: drv, API: api}); err != nil {
		t.Fatal(err)
	}
	defer arena.plain.Close()
	if arena.symmetric, err = nccl.New(pl.Layout(), nccl.Options{Driver: drv, API: api, Symmetric: true}); err != nil {
		t.Fatal(err)
	}
	defer arena.symmetric.Close()
	t.Logf("NCCL %s, %s sum, %s; us, median of 5 rounds in turn", version, arena.dtype, how)
	t.Logf("%11s %9s %-8s %9s %9s %6s %9s %9s", "bytes", "ours", "by", "plain", "symmetric", "ratio", "ring", "busbw")
	for bytes := int64(8); bytes <= 1<<30; bytes *= arena.factor(bytes) {
		arena.meet(bytes)
	}
}

func contains(how, what string) bool {
	return slices.Contains(splitWords(how), what)
}

func splitWords(s string) (list []string) {
	for word := range strings.SplitSeq(s, ",") {
		list = append(list, word)
	}
	return list
}

type arena struct {
	t                *testing.T
	planner          *plan.Planner
	ours             *gpu.Executor
	plain, symmetric *nccl.Executor
	graph, inPlace   bool
	dtype            allreduce.DType
}

// factor takes every power of two from 1 KiB on, or every other one in short.
func (a *arena) factor(bytes int64) int64 {
	if bytes < 1<<12 {
		return 8
	}
	if testing.Short() || bytes >= 4<<20 {
		return 4
	}
	return 2
}

// meet lets all contestants do one size.
func (a *arena) meet(bytes int64) {
	t := a.t
	task := plan.Task{Count: max(1, bytes/int64(a.dtype.Size())), DType: a.dtype}
	algo, proto := allreduce.OneShot, allreduce.LL
	if bytes > 512<<10 {
		algo, proto = allreduce.TwoShot, allreduce.Simple
	}
	direct := planOne(t, a.planner, task, algo, proto)
	ring := planOne(t, a.planner, task, allreduce.Ring, ringProto(bytes))
	trial := start(t, a.ours, direct, a.inPlace)
	defer trial.Close()
	check := func(when string, trial *verify.Trial) {
		if r, err := trial.Check(); err != nil || !r.OK() {
			t.Errorf("%d bytes, %s: %v, %d wrong, first %v", bytes, when, err, r.Wrong, r.First)
		}
	}
	check("ours", trial)
	sym := start(t, a.symmetric, direct, a.inPlace)
	defer sym.Close()
	a.register(sym)
	if _, err := sym.Run(context.Background()); err != nil { // NCCL loads the kernels for windows on first use
		t.Fatal(err)
	}
	if _, err := a.plain.Run(context.Background(), ring, trial.Args()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	list := []*contestant{a.enter(a.ours, direct, trial), a.peer(a.plain, ring, trial), a.peer(a.symmetric, ring, sym), a.enter(a.ours, ring, trial)}
	n := int(max(1, min(50, (128<<20)/bytes)))
	for round := range 6 {
		for _, c := range list {
			device, host := c.run(n)
			if round > 0 { // the first warms up
				c.us = append(c.us, float64(device.Nanoseconds())/1e3)
				c.host = append(c.host, float64(host.Nanoseconds())/1e3)
			}
		}
	}
	for _, c := range list {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
	if !a.inPlace { // repeated in place, a sum has no known value any more
		check("after all", trial)
	}
	best := min(list[1].median(), list[2].median())
	t.Logf("%11d %9.2f %-8s %9.2f %9.2f %6.2f %9.2f %9.1f  host us ours %.2f nccl %.2f (%v)", bytes, list[0].median(), algo, list[1].median(), list[2].median(),
		best/list[0].median(), list[3].median(), allreduce.BusBW(2, bytes, list[0].median()), middle(list[0].host), middle(list[1].host), time.Since(begin).Round(time.Millisecond))
}

func ringProto(bytes int64) allreduce.Proto {
	switch {
	case bytes <= 1<<20:
		return allreduce.LL
	case bytes <= 2<<20:
		return allreduce.LL128
	}
	return allreduce.Simple
}

// register makes windows of a trial's buffers.
func (a *arena) register(trial *verify.Trial) {
	args := trial.Args()[0]
	for _, spans := range [][]allreduce.Span{args.Send, args.Recv} {
		var list []allreduce.Buffer
		for _, s := range spans {
			list = append(list, s.Buf)
		}
		if err := a.symmetric.Register(list); err != nil {
			a.t.Fatal(err)
		}
		if a.inPlace {
			return
		}
	}
}

const timesPerGraph = 10

func (a *arena) enter(ex *gpu.Executor, p *allreduce.Plan, trial *verify.Trial) *contestant {
	r, err := ex.Capture(p, trial.Args(), timesPerGraph, a.graph)
	if err != nil {
		a.t.Fatal(err)
	}
	return &contestant{close: r.Close, run: func(n int) (time.Duration, time.Duration) {
		pace, err := r.Run(context.Background(), n)
		if err != nil {
			a.t.Fatal(err)
		}
		return pace.Device, pace.Host
	}}
}

func (a *arena) peer(ex *nccl.Executor, p *allreduce.Plan, trial *verify.Trial) *contestant {
	r, err := ex.Capture(p, trial.Args(), timesPerGraph, a.graph)
	if err != nil {
		a.t.Fatal(err)
	}
	return &contestant{close: r.Close, run: func(n int) (time.Duration, time.Duration) {
		pace, err := r.Run(context.Background(), n)
		if err != nil {
			a.t.Fatal(err)
		}
		return pace.Device, pace.Host
	}}
}
