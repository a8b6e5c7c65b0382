package gpu

import (
	"context"
	"sync"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// grids are those of the two-shot launches that a fake machine saw.
type grids struct {
	mu   sync.Mutex
	seen []int
}

func (g *grids) see(l cudafake.Launch) cuda.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.Kernel == "twoshot" {
		g.seen = append(g.seen, l.Grid)
	}
	return 0
}

// take gives what was seen since the last call.
func (g *grids) take() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := g.seen
	g.seen = nil
	return seen
}

// Tuning holds for what is run or captured from then on, and not for what was
// captured before.
func TestTune(t *testing.T) {
	m, drv := newMachine(t, 2)
	var g grids
	m.OnLaunch = g.see
	pl, err := plan.New(plan.Nominal(&allreduce.Layout{NRanks: 2, Rings: [][]int{{0, 1}}}), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	two, simple := allreduce.TwoShot, allreduce.Simple
	launches, err := pl.Plan([]plan.Task{{Count: 1 << 20, DType: allreduce.Float32}}, plan.Force{Algo: &two, Proto: &simple})
	if err != nil {
		t.Fatal(err)
	}
	p := launches[0].Plan
	ex, err := New(pl.Layout(), Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	replay := map[int]*Replay{}
	for _, blocks := range []int{8, 24} {
		ex.Tune(DirectTuning{Blocks: blocks})
		if replay[blocks], err = ex.Capture(p, trial.Args(), 1, false); err != nil {
			t.Fatal(err)
		}
		defer replay[blocks].Close()
		g.take()
		if _, err := ex.Run(context.Background(), p, trial.Args()); err != nil {
			t.Fatal(err)
		}
		if seen := g.take(); len(seen) != 2 || seen[0] != blocks || seen[1] != blocks {
			t.Errorf("ran with grids %v, want %d blocks on both GPUs", seen, blocks)
		}
	}
	for blocks, r := range replay {
		if _, err := r.Run(context.Background(), 1); err != nil {
			t.Fatal(err)
		}
		if seen := g.take(); len(seen) != 2 || seen[0] != blocks {
			t.Errorf("replayed with grids %v, captured with %d blocks", seen, blocks)
		}
	}
}

// A replay that starts at once does not wait for all its launches to be queued:
// the gate opens before the first graph is launched, not after the last.
func TestAtOnce(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		m, drv := newMachine(t, 2)
		l, p := plans(t, fourRanks(1), plan.Task{Count: 1000, DType: allreduce.Float32})
		ex, err := New(l, Options{Driver: drv})
		if err != nil {
			t.Fatal(err)
		}
		trial, err := verify.NewTrial(ex, p, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := ex.Capture(p, trial.Args(), 1, true)
		if err != nil {
			t.Fatal(err)
		}
		if atOnce {
			r.AtOnce()
		}
		m.Fail["GraphLaunch"] = 1
		part := &r.parts[0]
		opened := false
		err = part.Do(func() error { return r.queue(part, 1, &Pace{}, func() { opened = true }) })
		if err == nil || opened != atOnce {
			t.Errorf("at once %v: error %v, the gate was opened before the launch: %v", atOnce, err, opened)
		}
		delete(m.Fail, "GraphLaunch")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHardware(t *testing.T) {
	for _, c := range []struct {
		gpus, ranks int
		options     Options
		noPeers     bool
		devices     int
		link        string
	}{
		{2, 2, Options{}, false, 2, "nvlink"},
		{2, 4, Options{}, false, 2, "nvlink"},
		{1, 4, Options{}, false, 1, "memory"},
		{4, 2, Options{Devices: []int{3, 1}}, false, 2, "nvlink"},
		{2, 2, Options{NoP2P: true}, false, 2, "staged"},
		{2, 2, Options{}, true, 2, "staged"},
	} {
		m, drv := newMachine(t, c.gpus)
		m.NoPeers = c.noPeers
		order := []int{0, 1, 2, 3}
		l := &allreduce.Layout{NRanks: c.ranks, BuffSize: allreduce.DefaultBuffSize(), Rings: [][]int{order[:c.ranks]}}
		c.options.Driver = drv
		ex, err := New(l, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if h := ex.Hardware(); h != (Hardware{Device: "Fake GPU", Devices: c.devices, Link: c.link, CUDA: 13000}) {
			t.Errorf("%+v: %+v", c, h)
		}
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}
