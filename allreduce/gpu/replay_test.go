package gpu

import (
	"context"
	"testing"

	"pgregory.net/rapid"

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
	of := func(blocks, threads, pieces int) DirectTuning {
		return DirectTuning{Blocks: blocks, Threads: threads, Pieces: pieces}
	}
	for _, c := range []struct {
		algo      allreduce.Algo
		proto     allreduce.Proto
		bytes     int64
		set, want DirectTuning
	}{
		{allreduce.OneShot, allreduce.LL, 8, of(0, 0, 0), of(1, 32, 1)},
		{allreduce.OneShot, allreduce.LL, 4 << 10, of(0, 0, 0), of(2, 256, 1)},
		{allreduce.OneShot, allreduce.LL, 512 << 10, of(0, 0, 0), of(128, 512, 1)},
		{allreduce.OneShot, allreduce.LL, 4 << 10, of(0, 128, 0), of(4, 128, 1)},
		{allreduce.OneShot, allreduce.LL128, 8, of(0, 0, 0), of(1, 32, 1)},
		{allreduce.OneShot, allreduce.LL128, 100 * 1920, of(0, 0, 0), of(100, 32, 1)},
		{allreduce.OneShot, allreduce.LL128, 300 * 1920, of(0, 0, 0), of(128, 96, 1)},
		{allreduce.OneShot, allreduce.LL128, 300 * 1920, of(30, 0, 0), of(30, 320, 1)},
		{allreduce.OneShot, allreduce.LL128, 4 << 20, of(0, 0, 0), of(128, 512, 1)},
		{allreduce.OneShot, allreduce.LL128, 3 * 92 * 16 * 1920, of(0, 0, 0), of(92, 512, 1)},
		{allreduce.TwoShot, allreduce.LL128, 16 << 20, of(0, 0, 0), of(110, 512, 1)},
		{allreduce.TwoShot, allreduce.Simple, 1 << 20, of(0, 0, 0), of(32, 512, 1)},
		{allreduce.TwoShot, allreduce.Simple, 1 << 30, of(0, 0, 0), of(128, 512, 2)},
		{allreduce.TwoShot, allreduce.Simple, 1 << 30, of(7, 96, 3), of(7, 96, 3)},
	} {
		if got := directDefaults(c.algo, c.proto, c.bytes, c.set); got != c.want {
			t.Errorf("%v/%v of %d bytes with %+v: %+v, want %+v", c.algo, c.proto, c.bytes, c.set, got, c.want)
		}
	}
}

// A region's parts must not overlap, and grow with what is asked for.
func TestDirectRoom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, maxDirectRanks).Draw(rt, "ranks")
		bytes := rapid.Int64Range(1, 4<<30).Draw(rt, "bytes")
		have := directRoom{}.enough(directRoom{rapid.Int64Range(0, 1<<22).Draw(rt, "scratch"), rapid.Int64Range(0, 1<<22).Draw(rt, "wires")})
		for _, k := range []directKernel{oneShotLL, oneShotLL128, twoShotWrites, twoShotLoads, twoShotLL128} {
			room := have.enough(k.room(bytes, n))
			if room.scratch < have.scratch || room.wires < have.wires {
				rt.Fatalf("%s: %+v of %+v", k.entry, room, have)
			}
			most := k.most(room, n)
			if most < bytes && (k.entry == "twoshot" && room.scratch < mostScratch || k.entry != "oneshot" && k.entry != "twoshot" && room.wires < mostWires) {
				rt.Fatalf("%s: %d bytes do not fit into %+v, which could be larger", k.entry, bytes, room)
			}
			s := directShapeOf(n, room)
			for _, end := range [][2]int64{{2 * n * lineCapacity * 16, s.flags}, {s.flags + maxDirectBlocks*maxPieces*n*8, s.done},
				{s.done + maxDirectBlocks*n*8, s.scratch}, {s.scratch + n*room.scratch, s.wires}, {s.wires + 2*n*room.wires, s.bytes}} {
				if end[0] > end[1] {
					rt.Fatalf("%s: parts of %+v overlap: %v", k.entry, s, end)
				}
			}
			if s.wires%128 != 0 || s.scratch%16 != 0 {
				rt.Fatalf("%+v is not aligned", s)
			}
		}
	})
}
