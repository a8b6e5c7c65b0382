package gpu

import (
	"context"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// A replay launches what it captured, records nothing, and frees what it took.
func TestReplay(t *testing.T) {
	for _, graph := range []bool{false, true} {
		m, drv := newMachine(t, 2)
		l, p := plans(t, fourRanks(2), plan.Task{Count: 1000, DType: allreduce.Float32}, plan.Task{Count: 2000, DType: allreduce.Float32})
		ex, err := New(l, Options{Driver: drv})
		if err != nil {
			t.Fatal(err)
		}
		trial, err := verify.NewTrial(ex, p, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		live := m.Live()
		r, err := ex.Capture(p, trial.Args(), 5, graph)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Run(context.Background(), 3); err != nil {
			t.Fatal(err)
		}
		rings, graphs := len(m.rings), m.Count("GraphLaunch")
		if graph && (rings != 2*5 || graphs != 2*3) || !graph && (rings != 2*5*3 || graphs != 0) {
			t.Errorf("graph %v: %d kernels and %d graphs launched on 2 GPUs", graph, rings, graphs)
		}
		for _, k := range m.rings {
			if k.trace != 0 || k.nWorks != 2 || k.works == 0 {
				t.Errorf("launch with trace %d, %d works at %#x", k.trace, k.nWorks, k.works)
			}
		}
		if err := r.Close(); err != nil || m.Live() != live {
			t.Errorf("%v, %d allocations instead of %d", err, m.Live(), live)
		}
		trial.Close()
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Direct algorithms use the same grid on all GPUs, however ranks are spread.
func TestDirectGrid(t *testing.T) {
	m, drv := newMachine(t, 2)
	l := fourRanks(1)
	s := plan.DefaultSettings()
	s.BuffSize = l.BuffSize
	pl, err := plan.New(plan.Nominal(l), s)
	if err != nil {
		t.Fatal(err)
	}
	ex, err := New(pl.Layout(), Options{Driver: drv, Devices: []int{0, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	algo, proto := allreduce.TwoShot, allreduce.Simple
	launches, err := pl.Plan([]plan.Task{{Count: 2 << 20, DType: allreduce.Float32}}, plan.Force{Algo: &algo, Proto: &proto})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, launches[0].Plan, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	blocks := map[int]bool{}
	for _, launch := range m.seen {
		if launch.Kernel == "twoshot" {
			blocks[launch.Grid] = true
		}
	}
	if room := 132 / 3; !blocks[room] || !blocks[3*room] || len(blocks) != 2 {
		t.Errorf("grids %v, want %d blocks for each rank", blocks, room)
	}
}

func TestDirectDefaults(t *testing.T) {
	for _, c := range []struct {
		oneShot bool
		bytes   int64
		set     DirectTuning
		want    DirectTuning
	}{
		{true, 8, DirectTuning{}, DirectTuning{1, 32, 1}},
		{true, 4 << 10, DirectTuning{}, DirectTuning{2, 256, 1}},
		{true, 512 << 10, DirectTuning{}, DirectTuning{128, 512, 1}},
		{false, 1 << 20, DirectTuning{}, DirectTuning{32, 512, 1}},
		{false, 1 << 30, DirectTuning{}, DirectTuning{128, 512, 2}},
		{false, 1 << 30, DirectTuning{Blocks: 7, Threads: 96, Pieces: 3}, DirectTuning{7, 96, 3}},
	} {
		if got := directDefaults(c.oneShot, c.bytes, c.set); got != c.want {
			t.Errorf("one-shot %v of %d bytes: %+v, want %+v", c.oneShot, c.bytes, got, c.want)
		}
	}
}
