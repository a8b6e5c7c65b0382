package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// borne are calls that can fail without harm: what they tell of is then taken to
// be absent, or the thread that makes them ends anyway.
var borne = map[string]bool{
	"cuDeviceGetP2PAttribute": true, // no NVLink
	"cuCtxEnablePeerAccess":   true, // through host memory
	"cuCtxSetCurrent":         true,
}

// everyFailure has a scenario on a fake machine go wrong at its first, its
// second, its k-th call of the driver until it comes to its end. Each time it
// must end with an error that names the call, and leave nothing behind.
func everyFailure(t *testing.T, gpus int, code cuda.Result, scenario func(*cudafake.Driver, *cuda.Driver) error) {
	t.Helper()
	for k := 1; ; k++ {
		m := cudafake.New(gpus)
		drv, err := cuda.New(m.API())
		if err != nil {
			t.Fatal(err)
		}
		m.FailNext(k, code)
		err = scenario(m, drv)
		call := m.Failed()
		if left := m.Left(); left != "" {
			t.Errorf("call %d, %s, fails: left are %s", k, call, left)
		}
		if call == "" {
			if err != nil {
				t.Errorf("nothing fails: %v", err)
			}
			t.Logf("%d calls", k-1)
			return
		}
		if !borne[call] && (!cuda.HasCode(err, code) || !strings.Contains(err.Error(), call)) {
			t.Errorf("call %d, %s, fails, and the error is %v", k, call, err)
		}
	}
}

// life of an executor: buffers, capacity, runs, a replay and a hop.
func life(l *allreduce.Layout, o Options, p *allreduce.Plan) func(*cudafake.Driver, *cuda.Driver) error {
	return func(_ *cudafake.Driver, drv *cuda.Driver) (err error) {
		o.Driver = drv
		ex, err := New(l, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ex.Close()) }()
		args, err := someArgs(ex)
		if err != nil {
			return err
		}
		if _, err := ex.MostChannels(p); err != nil {
			return err
		}
		if _, err := ex.Run(context.Background(), p, args); err != nil {
			return err
		}
		if _, err := ex.MeasureHop(context.Background(), 0, 1, 1024); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		for _, graph := range []bool{false, true} {
			if err := replayed(ex, p, args, graph); err != nil {
				return err
			}
		}
		return nil
	}
}

// twoRanks is a small layout: the fake machine's memory is cleared many times.
func twoRanks() *allreduce.Layout {
	return &allreduce.Layout{NRanks: 2, BuffSize: [3]int{16384, 61440, 16384}, Rings: [][]int{{0, 1}, {0, 1}}}
}

// someArgs are buffers of two ranks, used a little.
func someArgs(ex *Executor) ([]allreduce.Args, error) {
	var a allreduce.Args
	for rank := range 2 {
		b, err := ex.Alloc(rank, 8000)
		if err != nil {
			return nil, err
		}
		got := make([]byte, 5)
		if err := errors.Join(b.Write([]byte("hello"), 8), b.Read(got, 8), b.(allreduce.Setter).Set(0, 0, 8000)); err != nil {
			return nil, err
		}
		if !bytes.Equal(got, []byte("hello")) {
			return nil, fmt.Errorf("rank %d: read %q", rank, got)
		}
		a.Send, a.Recv = append(a.Send, allreduce.Span{Buf: b}), append(a.Recv, allreduce.Span{Buf: b, Off: 4000})
	}
	b, err := ex.Alloc(0, 1)
	if err != nil {
		return nil, err
	}
	return []allreduce.Args{a}, b.Free()
}

func replayed(ex *Executor, p *allreduce.Plan, args []allreduce.Args, graph bool) error {
	r, err := ex.Capture(p, args, 2, graph)
	if err != nil {
		return err
	}
	_, err = r.Run(context.Background(), 2)
	return errors.Join(err, r.Close())
}

// small is a message of 1000 numbers by an algorithm.
func small(t *testing.T, l *allreduce.Layout, a allreduce.Algo) *allreduce.Plan {
	t.Helper()
	p := onChannels(t, l, a, 0, 1)
	for i := range p.Works {
		w := &p.Works[i]
		w.Count = 1000
		for j := range w.Parts {
			w.Parts[j].Offset, w.Parts[j].Count = int64(j)*500, 500
		}
	}
	return p
}

func TestEveryFailureOfAnExecutor(t *testing.T) {
	l := twoRanks()
	for name, c := range map[string]struct {
		gpus int
		o    Options
		algo allreduce.Algo
	}{
		"two GPUs": {2, Options{}, allreduce.Ring}, "host memory": {2, Options{NoP2P: true}, allreduce.Ring}, "direct": {1, Options{}, allreduce.TwoShot},
	} {
		t.Run(name, func(t *testing.T) {
			everyFailure(t, c.gpus, 999, life(l, c.o, small(t, l, c.algo)))
		})
	}
}

// Memory that runs out anywhere, on a GPU or pinned on the host, is told as that.
func TestEveryOutOfMemory(t *testing.T) {
	l := twoRanks()
	scenario := life(l, Options{NoP2P: true}, small(t, l, allreduce.Ring))
	for k, tried := 1, 0; ; k++ {
		m := cudafake.New(2)
		drv, err := cuda.New(m.API())
		if err != nil {
			t.Fatal(err)
		}
		m.FailNext(k, cuda.OutOfMemory, "MemAlloc", "MemHostAlloc")
		err = scenario(m, drv)
		if m.Failed() == "" {
			if tried < 15 || err != nil {
				t.Errorf("%d allocations failed, then %v", tried, err)
			}
			return
		}
		tried++
		if !errors.Is(err, syscall.ENOMEM) || !strings.Contains(err.Error(), m.Failed()) || m.Left() != "" {
			t.Errorf("allocation %d, %s: %v; left %q", k, m.Failed(), err, m.Left())
		}
	}
}

func TestEveryFailureOfPeers(t *testing.T) {
	everyFailure(t, 2, 999, func(m *cudafake.Driver, drv *cuda.Driver) (err error) {
		bouncing(&machine{Driver: m}, 0)
		p, err := OpenPeers(Options{Driver: drv}, 1<<12)
		if err != nil {
			return err
		}
		_, err = p.Measure(context.Background(), 1)
		return errors.Join(err, p.Close())
	})
}

// Of processes, each hears of what went wrong in one of them before it begins,
// and none waits for one that has left.
func TestEveryFailureOfProcesses(t *testing.T) {
	l := twoRanks()
	p := small(t, l, allreduce.Ring)
	everyFailure(t, 2, 999, func(_ *cudafake.Driver, drv *cuda.Driver) error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		r := newRoom(2)
		var list [2]*Executor
		err := together(func(rank int) (err error) {
			list[rank], err = Join(l, Options{Driver: drv}, &guest{r, rank, ctx}, rank)
			return err
		})
		if (list[0] == nil) != (list[1] == nil) {
			t.Errorf("one process goes on without the other: %v", err)
		}
		if list[0] != nil && list[1] != nil {
			err = lifeOfTwo(list, p)
		}
		if ctx.Err() != nil {
			t.Error("a process waits for ever")
		}
		return err
	})
}

// together does something for two ranks at the same time.
func together(f func(rank int) error) error {
	return atOnce([]int{0, 1}, func(_ int, rank int) error { return f(rank) })
}

// lifeOfTwo has two processes run a plan, if they have the memory, and end.
func lifeOfTwo(list [2]*Executor, p *allreduce.Plan) error {
	var args [2][]allreduce.Args
	err := together(func(rank int) error {
		b, err := list[rank].Alloc(rank, 8000)
		spans := make([]allreduce.Span, 2)
		spans[rank] = allreduce.Span{Buf: b}
		args[rank] = []allreduce.Args{{Send: spans, Recv: spans}}
		return err
	})
	if err == nil {
		err = together(func(rank int) error { return second(list[rank].Run(context.Background(), p, args[rank])) })
	}
	return errors.Join(err, together(func(rank int) error { return list[rank].Close() }))
}

// A process that has left is no partner of a run: those that would begin one hear
// of it, and do not wait for its kernels.
func TestRunWithOneThatHasLeft(t *testing.T) {
	m, drv := newMachine(t, 4)
	l, p := plans(t, fourRanks(1), plan.Task{Count: 1000, DType: allreduce.Float32})
	list, errs := joinAll(t, l, drv, Options{})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var left error
	var wg sync.WaitGroup
	wg.Go(func() { left = list[2].Close() })
	three := slices.Delete(slices.Clone(list), 2, 3)
	for i, err := range runAll(t, three, p, func(int, *allreduce.Plan) {}) {
		if err == nil || !strings.Contains(err.Error(), "rank 2: it has left the job") {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if wg.Wait(); left != nil || len(m.rings) > 0 {
		t.Errorf("left with %v; %d rings were launched", left, len(m.rings))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range three { // as a launcher has them know that one is gone
		e.group.job.(*guest).ctx = ctx
	}
	closeAll(t, three)
	if left := m.Left(); left != "" {
		t.Errorf("left are %s", left)
	}
}
