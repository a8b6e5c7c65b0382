package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// ran is an executor on a fake machine that has just run a plan.
func ran(t *testing.T, gpus int, o Options, p *allreduce.Plan, l *allreduce.Layout) *Executor {
	t.Helper()
	_, drv := newMachine(t, gpus)
	o.Driver = drv
	ex, err := New(l, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	})
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return ex
}

// leave writes a block's report, as kernels do.
func leave(t *testing.T, d *device, slot int, r reportWire) {
	t.Helper()
	at := d.reports + cuda.Ptr(slot*len(bytesOf(&r)))
	if err := d.Do(func() error { return d.Upload(at, bytesOf(&r)) }); err != nil {
		t.Fatal(err)
	}
}

// What blocks leave behind is told of those that ran, on channels of the last
// run, and nothing else.
func TestBlocks(t *testing.T) {
	l, p := plans(t, fourRanks(2), plan.Task{Count: 1 << 20, DType: allreduce.Float32})
	if p.Mask != 0b11 {
		t.Fatalf("channels %b", p.Mask)
	}
	ex := ran(t, 1, Options{}, p, l)
	if list := ex.Blocks(); len(list) != 0 {
		t.Errorf("no block left anything, got %+v", list)
	}
	d := ex.devices[0]
	leave(t, d, 0, reportWire{ran: 1, rank: 0, channel: 0, block: 0, grid: 8, threads: 96, sm: 17, took: 1234})
	leave(t, d, 1, reportWire{rank: 0, channel: 1, block: 1, grid: 8, threads: 96}) // did not run
	leave(t, d, 7, reportWire{ran: 1, rank: 3, channel: 1, block: 7, grid: 8, threads: 96})
	want := []allreduce.Block{
		{Rank: 0, Channel: 0, Index: 0, Grid: 8, Threads: 96, SM: 17, Took: 1234 * time.Nanosecond},
		{Rank: 3, Channel: 1, Index: 7, Grid: 8, Threads: 96},
	}
	if list := ex.Blocks(); !slices.Equal(list, want) {
		t.Errorf("got %+v, want %+v", list, want)
	}
	d.launches[0].ring.mask = 0b01 // as if the last run had used the first channel alone
	if list := ex.Blocks(); !slices.Equal(list, want[:1]) {
		t.Errorf("got %+v, want the first alone: the other is an earlier run's", list)
	}
}

// Where idle blocks stand between those that work, blocks are counted among
// these.
func TestBlocksOfASpreadLaunch(t *testing.T) {
	l, p := plans(t, fourRanks(2), plan.Task{Count: 1 << 20, DType: allreduce.Float32})
	ex := ran(t, 4, Options{Spread: 3}, p, l)
	for rank, d := range ex.devices {
		if grid := d.launches[0].grid.Blocks; grid != 6 {
			t.Errorf("rank %d: %d blocks were launched, want 6", rank, grid)
		}
		for c := range uint32(2) {
			leave(t, d, int(c), reportWire{ran: 1, rank: uint32(rank), channel: c, block: 3 * c, grid: 6, threads: 64})
		}
	}
	list := ex.Blocks()
	if len(list) != 8 {
		t.Fatalf("%d blocks, want 8", len(list))
	}
	for i, b := range list {
		if want := (allreduce.Block{Rank: i / 2, Channel: i % 2, Index: i % 2, Grid: 2, Threads: 64}); b != want {
			t.Errorf("got %+v, want %+v", b, want)
		}
	}
}

// A hop takes what lies between the two events of its second copy; what is no hop
// is refused, and nothing stays behind.
func TestMeasureHop(t *testing.T) {
	m, drv := newMachine(t, 2)
	ex, err := New(fourRanks(1), Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	live, ctx := m.Live(), context.Background()
	for _, to := range []int{1, 3} { // on the same GPU, and on the other one
		m.seen = nil
		took, err := ex.MeasureHop(ctx, 0, to, 1<<20)
		if err != nil || took.Round(time.Microsecond) != 10*time.Microsecond {
			t.Errorf("to rank %d: %v, %v", to, took, err)
		}
		if len(m.seen) != 2 || m.seen[0].Kernel != "transfer" || m.seen[1].Grid != 132 {
			t.Errorf("to rank %d: launched %+v", to, m.seen)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	m.seen = nil
	for want, err := range map[string]error{
		"no such hop":      errors.Join(second(ex.MeasureHop(ctx, 0, 4, 1<<20)), second(ex.MeasureHop(ctx, -1, 0, 1<<20)), second(ex.MeasureHop(ctx, 0, 1, 8))),
		"context canceled": second(ex.MeasureHop(cancelled, 0, 1, 1<<20)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	m.OnLaunch = func(cudafake.Launch) cuda.Result { return cuda.LaunchFailed }
	if _, err := ex.MeasureHop(ctx, 0, 1, 1<<20); !cuda.HasCode(err, cuda.LaunchFailed) {
		t.Errorf("a launch that fails: %v", err)
	}
	if len(m.seen) != 0 || m.Live() != live {
		t.Errorf("%d launches, %d allocations more", len(m.seen), m.Live()-live)
	}
}

func second[T any](_ T, err error) error { return err }

// A fault must be one that there is, at a place that there is.
func TestCheckFault(t *testing.T) {
	l := fourRanks(2)
	for want, f := range map[string]allreduce.Fault{
		"unknown":               {Kind: allreduce.FaultKind(allreduce.NumFaults)},
		"rank 4, want 0 to 3":   {Kind: allreduce.DropChunk, Rank: 4},
		"rank -1, want 0 to 3":  {Kind: allreduce.DropChunk, Rank: -1},
		"channel 2, want 0 to":  {Kind: allreduce.DropChunk, Channel: 2},
		"step -1":               {Kind: allreduce.DropChunk, Step: -1},
		"one process per GPU":   {Kind: allreduce.KillProcess},
		"channel -1, want 0 to": {Kind: allreduce.StopRank, Channel: -1},
	} {
		if err := checkFault(l, f, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", f, err)
		}
		if _, err := New(l, Options{Fault: f}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New with %+v: %v", f, err)
		}
	}
	for _, f := range []allreduce.Fault{{}, {Rank: 9}, {Kind: allreduce.SwapNeighbour, Rank: 3, Channel: 1, Step: 5}} {
		if err := checkFault(l, f, false); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if err := checkFault(l, allreduce.Fault{Kind: allreduce.KillProcess}, true); err != nil {
		t.Errorf("with processes: %v", err)
	}
}

// A rank that sends to the wrong neighbour sends to the one behind the right one,
// on its channel; all else is as it was.
func TestSwappedNeighbour(t *testing.T) {
	read := func(f allreduce.Fault) []channelWire {
		_, drv := newMachine(t, 1)
		ex, err := New(fourRanks(2), Options{Driver: drv, Fault: f})
		if err != nil {
			t.Fatal(err)
		}
		defer ex.Close()
		d, table := ex.devices[0], make([]channelWire, 8) // [rank][channel]
		if err := d.Do(func() error { return d.Download(bytesOfAll(table), d.channels) }); err != nil {
			t.Fatal(err)
		}
		return table
	}
	good, bad := read(allreduce.Fault{}), read(allreduce.Fault{Kind: allreduce.SwapNeighbour, Rank: 2, Channel: 1})
	// The ring is 0 2 1 3: rank 2 sends to 3 instead of 1, where rank 1 sends too.
	at := func(rank int) int { return 2*rank + 1 }
	if bad[at(2)].nextTail != bad[at(1)].nextTail || bad[at(2)].send != bad[at(1)].send || good[at(2)].send == good[at(1)].send {
		t.Error("rank 2 does not send to rank 3")
	}
	for i := range bad {
		if same := bad[i].send == bad[at(1)].send; same != (i == at(1) || i == at(2)) {
			t.Errorf("rank %d on channel %d sends to rank 3's channel 1: %v", i/2, i%2, same)
		}
	}
}
