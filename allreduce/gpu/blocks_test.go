package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// recording has the rings of a machine record themselves as kernels do, but for
// blocks of channels that stand still.
func recording(m *machine, still func(channel int) bool) {
	m.OnLaunch = func(l cudafake.Launch) cuda.Result {
		if !strings.HasPrefix(l.Kernel, "ring") {
			return 0
		}
		k := **(**launchWire)(l.Params)
		channels := (&allreduce.Plan{Mask: k.mask}).Channels()
		for b := 0; b < l.Grid; b += int(k.spread) {
			place := b / int(k.spread)
			channel := channels[place%len(channels)]
			if k.trace == 0 || still != nil && still(channel) {
				continue
			}
			slot := place/len(channels)*int(k.nChannels) + channel
			mine := m.Peek(cuda.Ptr(k.channels)+cuda.Ptr(slot*128), 128)
			rank := (*channelWire)(unsafe.Pointer(&mine[0])).rank
			m.Poke(cuda.Ptr(k.reports)+cuda.Ptr(int64(slot)*reportBytes), bytesOf(&reportWire{ran: 1, rank: rank, channel: uint32(channel),
				block: uint32(b), grid: uint32(l.Grid), threads: uint32(l.Block), sm: 17, took: 1234}))
		}
		return 0
	}
}

// onChannels plans one message on some channels of a layout of four ranks.
func onChannels(t *testing.T, l *allreduce.Layout, algo allreduce.Algo, channels ...int) *allreduce.Plan {
	t.Helper()
	s := plan.DefaultSettings()
	s.BuffSize = l.BuffSize
	pl, err := plan.New(plan.Nominal(l), s, plan.OnChannels(channels))
	if err != nil {
		t.Fatal(err)
	}
	simple := allreduce.Simple
	launches, err := pl.Plan([]plan.Task{{Count: 1 << 20, DType: allreduce.Float32}}, plan.Force{Algo: &algo, Proto: &simple})
	if err != nil {
		t.Fatal(err)
	}
	launches[0].Plan.Layout = l
	return launches[0].Plan
}

// argsOf gives the buffers of a plan, and closes them with the test.
func argsOf(t *testing.T, ex *Executor, p *allreduce.Plan) []allreduce.Args {
	t.Helper()
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := trial.Close(); err != nil {
			t.Error(err)
		}
	})
	return trial.Args()
}

func opened(t *testing.T, drv *cuda.Driver, l *allreduce.Layout, o Options) *Executor {
	t.Helper()
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
	return ex
}

// whoRan lists rank and channel of blocks.
func whoRan(blocks []allreduce.Block) (list [][2]int) {
	for _, b := range blocks {
		list = append(list, [2]int{b.Rank, b.Channel})
	}
	return list
}

// pairs are all ranks with these channels.
func pairs(channels ...int) (list [][2]int) {
	for rank := range 4 {
		for _, c := range channels {
			list = append(list, [2]int{rank, c})
		}
	}
	return list
}

// Blocks tells of the last run alone, whatever ran before on the same executor:
// more channels, others, or a block that stands still this time.
func TestBlocksAreOfTheLastRun(t *testing.T) {
	for _, gpus := range []int{1, 2, 4} {
		m, drv := newMachine(t, gpus)
		l, still := fourRanks(3), -1
		recording(m, func(channel int) bool { return channel == still })
		ex := opened(t, drv, l, Options{})
		if list := ex.Blocks(); len(list) != 0 {
			t.Errorf("%d GPUs: before any run %+v", gpus, list)
		}
		all, some := onChannels(t, l, allreduce.Ring, 0, 1, 2), onChannels(t, l, allreduce.Ring, 1)
		direct := onChannels(t, l, allreduce.TwoShot, 0)
		for i, c := range []struct {
			p     *allreduce.Plan
			still int
			want  [][2]int
		}{
			{all, -1, pairs(0, 1, 2)}, {some, -1, pairs(1)}, {all, 1, pairs(0, 2)}, {all, 1, pairs(0, 2)},
			{direct, -1, nil}, {some, 1, nil}, {some, -1, pairs(1)},
		} {
			still = c.still
			if _, err := ex.Run(context.Background(), c.p, argsOf(t, ex, c.p)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // asking changes nothing
				if got := whoRan(ex.Blocks()); !slices.Equal(got, c.want) {
					t.Errorf("%d GPUs, run %d: ranks and channels %v, want %v", gpus, i, got, c.want)
				}
			}
		}
	}
}

// What blocks tell of themselves comes to the caller.
func TestBlocks(t *testing.T) {
	m, drv := newMachine(t, 2)
	recording(m, nil)
	l := fourRanks(3)
	ex, p := opened(t, drv, l, Options{}), onChannels(t, l, allreduce.Ring, 0, 2)
	if _, err := ex.Run(context.Background(), p, argsOf(t, ex, p)); err != nil {
		t.Fatal(err)
	}
	list := ex.Blocks()
	if len(list) != 8 {
		t.Fatalf("%d blocks, want 8", len(list))
	}
	for i, b := range list { // two ranks on each GPU
		want := allreduce.Block{Rank: i / 2, Channel: i % 2 * 2, Index: i % 4, Grid: 4, Threads: p.Threads, SM: 17, Took: 1234 * time.Nanosecond}
		if b != want {
			t.Errorf("got %+v, want %+v", b, want)
		}
	}
}

// A replay records nothing: after it there is nothing to tell, and neither a
// capture nor a run that was refused takes away what the last run has told.
func TestBlocksOfReplays(t *testing.T) {
	m, drv := newMachine(t, 2)
	recording(m, nil)
	l := fourRanks(3)
	ex, few, all := opened(t, drv, l, Options{}), onChannels(t, l, allreduce.Ring, 1), onChannels(t, l, allreduce.Ring, 0, 1, 2)
	args := argsOf(t, ex, all)
	if _, err := ex.Run(context.Background(), few, argsOf(t, ex, few)); err != nil {
		t.Fatal(err)
	}
	wrong := *all
	wrong.Threads = 31
	if _, err := ex.Run(context.Background(), &wrong, args); err == nil {
		t.Error("ran with 31 threads")
	}
	replay, err := ex.Capture(all, args, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	defer replay.Close()
	if got := whoRan(ex.Blocks()); !slices.Equal(got, pairs(1)) {
		t.Errorf("after a capture: %v, want what ran: %v", got, pairs(1))
	}
	fills := m.Count("MemsetD8Async")
	if _, err := replay.Run(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	if n := m.Count("MemsetD8Async") - fills; n != 0 {
		t.Errorf("a replay clears memory %d times", n)
	}
	if got := ex.Blocks(); len(got) != 0 {
		t.Errorf("after a replay: %+v", got)
	}
}

// Where idle blocks stand between those that work, blocks are counted among
// these.
func TestBlocksOfASpreadLaunch(t *testing.T) {
	m, drv := newMachine(t, 4)
	recording(m, nil)
	l := fourRanks(2)
	ex, p := opened(t, drv, l, Options{Spread: 3}), onChannels(t, l, allreduce.Ring, 0, 1)
	if _, err := ex.Run(context.Background(), p, argsOf(t, ex, p)); err != nil {
		t.Fatal(err)
	}
	list := ex.Blocks()
	if len(list) != 8 {
		t.Fatalf("%d blocks, want 8", len(list))
	}
	for i, b := range list {
		if want := (allreduce.Block{Rank: i / 2, Channel: i % 2, Index: i % 2, Grid: 2, Threads: p.Threads, SM: 17, Took: 1234}); b != want {
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
