package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// giveUp has the launches of a kernel end with the reports of blocks that gave
// up: of rings by slot, of direct algorithms by block.
func giveUp(m *machine, ex *Executor, kernel string, slots ...int) {
	r := reportWire{stuck: 1, peer: 2, protocol: uint32(allreduce.Simple), want: 4, seen: 2, base: 1}
	m.OnLaunch = func(l cudafake.Launch) cuda.Result {
		if l.Kernel != kernel {
			return 0
		}
		reports := (**(**launchWire)(l.Params)).reports
		if kernel == "twoshot" {
			reports = (**(**directWire)(l.Params)).reports
		}
		for _, slot := range slots {
			m.Poke(cuda.Ptr(reports)+cuda.Ptr(int64(slot)*reportBytes), bytesOf(&r))
		}
		ex.control.abort().Store(1)
		return 0
	}
}

// Blocks that give up are a diagnosis: of the rank and channel that they served,
// in a replay too, where they do not record what they are. Only Close may follow.
func TestStuck(t *testing.T) {
	stall := func(a allreduce.Algo, rank, channel int) allreduce.Stall {
		return allreduce.Stall{Rank: rank, Channel: channel, Peer: 2, For: allreduce.WaitData, Algo: a, Proto: allreduce.Simple, Want: 4, Seen: 2, Base: 1}
	}
	for name, c := range map[string]struct {
		algo   allreduce.Algo
		kernel string
		slots  []int // two channels for each rank; 32 blocks
		want   []allreduce.Stall
	}{
		"ring": {allreduce.Ring, "ring_simple", []int{1, 6}, []allreduce.Stall{stall(allreduce.Ring, 0, 1), stall(allreduce.Ring, 3, 0)}},
		"two-shot": {allreduce.TwoShot, "twoshot", []int{0, 31, 32, 127}, []allreduce.Stall{stall(allreduce.TwoShot, 0, 0),
			stall(allreduce.TwoShot, 0, 0), stall(allreduce.TwoShot, 1, 0), stall(allreduce.TwoShot, 3, 0)}},
	} {
		for _, replayed := range []bool{false, true} {
			m, drv := newMachine(t, 1)
			l := fourRanks(2)
			ex, err := New(l, Options{Driver: drv, Direct: DirectTuning{Blocks: 32}})
			if err != nil {
				t.Fatal(err)
			}
			p, other := onChannels(t, l, c.algo, 0, 1), onChannels(t, l, allreduce.Ring, 0)
			run := func() error { return second(ex.Run(context.Background(), p, argsOf(t, ex, p))) }
			if replayed {
				replay, err := ex.Capture(p, argsOf(t, ex, p), 1, false)
				if err != nil {
					t.Fatal(err)
				}
				run = func() error { return second(replay.Run(context.Background(), 1)) }
			}
			if _, err := ex.Run(context.Background(), other, argsOf(t, ex, other)); err != nil {
				t.Fatal(err)
			}
			giveUp(m, ex, c.kernel, c.slots...)
			var stuck *allreduce.StuckError
			if err := run(); !errors.As(err, &stuck) || !slices.Equal(stuck.Stalls, c.want) {
				t.Errorf("%s, replayed %v: %v, want %+v", name, replayed, err, c.want)
			}
			if err := run(); err == nil || !strings.Contains(err.Error(), "only Close may follow") {
				t.Errorf("%s: once more: %v", name, err)
			}
			if err := ex.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Where nobody says why, that is said.
func TestAbortedWithoutAReason(t *testing.T) {
	m, drv := newMachine(t, 1)
	l, p := fourRanks(1), onChannels(t, fourRanks(1), allreduce.Ring, 0)
	ex := opened(t, drv, l, Options{})
	p.Layout = l
	args := argsOf(t, ex, p)
	giveUp(m, ex, "ring_simple")
	if _, err := ex.Run(context.Background(), p, args); err == nil || !strings.Contains(err.Error(), "no block says why") {
		t.Errorf("got %v", err)
	}
}

// What cannot be replayed is refused, and breaks nothing.
func TestReplayRefuses(t *testing.T) {
	_, drv := newMachine(t, 1)
	l := fourRanks(1)
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	p := onChannels(t, l, allreduce.Ring, 0)
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	replay, err := ex.Capture(p, trial.Args(), 2, true)
	if err != nil {
		t.Fatal(err)
	}
	bad := *p
	bad.Threads = 31
	for want, err := range map[string]error{
		"capture a plan 0 times": second(ex.Capture(p, trial.Args(), 0, true)),
		"replay 0 times":         second(replay.Run(context.Background(), 0)),
		"replay -1 times":        second(replay.Run(context.Background(), -1)),
		"blocks of 31 threads":   second(ex.Capture(&bad, trial.Args(), 1, true)),
		"the replay is closed":   errors.Join(replay.Close(), second(replay.Run(context.Background(), 1))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if replay, err = ex.Capture(p, trial.Args(), 2, true); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(replay.Close(), trial.Close(), ex.Close()); err != nil {
		t.Error(err)
	}
	for _, err := range []error{second(replay.Run(context.Background(), 1)), second(ex.Capture(p, trial.Args(), 1, true)),
		second(ex.Run(context.Background(), p, trial.Args())), second(ex.Alloc(0, 1)), second(ex.MostChannels(p))} {
		if !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}
