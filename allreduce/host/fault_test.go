package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// afflicted runs one AllReduce on four ranks with a fault. It returns what the
// check of the data found, or how the run failed.
func afflicted(t *testing.T, f allreduce.Fault, a allreduce.Algo, p allreduce.Proto, count int64) (verify.Result, error) {
	t.Helper()
	c := executortest.Config{Layout: executortest.Four(), Algo: a, Proto: p,
		Tasks: []plan.Task{{Count: count, DType: allreduce.Float32}}}
	launches, layout, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(layout, Options{Limit: 300 * time.Millisecond, Fault: f})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	trial, err := verify.NewTrial(x, launches[0].Plan, verify.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		return verify.Result{}, err
	}
	r, err := trial.Check()
	if err != nil {
		t.Fatal(err)
	}
	return r, nil
}

func eachConnected(t *testing.T, test func(*testing.T, allreduce.Algo, allreduce.Proto)) {
	for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.Tree} {
		for _, p := range allreduce.Protos() {
			t.Run(fmt.Sprintf("%v/%v", a, p), func(t *testing.T) { test(t, a, p) })
		}
	}
}

// Faults that spoil data are found by looking at the data, and the first wrong
// element lies in the channel with the fault.
func TestSpoiledData(t *testing.T) {
	for _, kind := range []allreduce.FaultKind{allreduce.DropChunk, allreduce.StaleFlag} {
		for _, channel := range []int{0, 2} {
			eachConnected(t, func(t *testing.T, a allreduce.Algo, p allreduce.Proto) {
				f := allreduce.Fault{Kind: kind, Rank: 1, Channel: channel, Step: 1}
				if a == allreduce.Tree {
					f.Step = 0
				}
				r, err := afflicted(t, f, a, p, 30000)
				if err != nil || r.OK() || r.First == nil || r.First.Channel != channel {
					t.Errorf("%v on channel %d: %+v, %v", f.Kind, channel, r.First, err)
				}
			})
		}
	}
}

// A rank that stops is named: everybody ends up waiting for it, and it for
// nobody.
func TestStoppedRank(t *testing.T) {
	eachConnected(t, func(t *testing.T, a allreduce.Algo, p allreduce.Proto) {
		_, err := afflicted(t, allreduce.Fault{Kind: allreduce.StopRank, Rank: 1, Channel: 1, Step: 0}, a, p, 30000)
		var stuck *allreduce.StuckError
		if !errors.As(err, &stuck) {
			t.Fatalf("error %v, want a *StuckError", err)
		}
		if s := stuck.Silent(); len(s) != 1 || s[0] != 1 || stuck.Root().Peer != 1 || stuck.Root().Channel != 1 {
			t.Errorf("silent %v, root %v: want rank 1 on channel 1", s, stuck.Root())
		}
	})
}

func TestStoppedRankOfDirectAlgorithms(t *testing.T) {
	for _, a := range []allreduce.Algo{allreduce.OneShot, allreduce.TwoShot} {
		_, err := afflicted(t, allreduce.Fault{Kind: allreduce.StopRank, Rank: 2}, a, allreduce.Simple, 1000)
		var stuck *allreduce.StuckError
		if !errors.As(err, &stuck) || stuck.Root().Peer != 2 || stuck.Root().Algo != a {
			t.Errorf("%v: %v", a, err)
		}
		r, err := afflicted(t, allreduce.Fault{Kind: allreduce.DropChunk, Rank: 2}, a, allreduce.Simple, 1000)
		if err != nil || r.OK() {
			t.Errorf("%v: a dropped chunk went unseen: %v", a, err)
		}
	}
}

// A swapped neighbour starves the right one from the first step on.
func TestSwappedNeighbour(t *testing.T) {
	eachConnected(t, func(t *testing.T, a allreduce.Algo, p allreduce.Proto) {
		_, err := afflicted(t, allreduce.Fault{Kind: allreduce.SwapNeighbour, Rank: 3, Channel: 0}, a, p, 300)
		var stuck *allreduce.StuckError
		if !errors.As(err, &stuck) {
			t.Fatalf("error %v, want a *StuckError", err)
		}
		found := false
		for _, s := range stuck.Stalls {
			if s.Peer == 3 && s.For == allreduce.WaitData && s.Seen == s.Base && s.Channel == 0 {
				found = true
				if !strings.Contains(s.Meaning(), "does not send here") {
					t.Errorf("meaning: %s", s.Meaning())
				}
			}
		}
		if !found {
			t.Errorf("nobody waits for rank 3's first step: %v", stuck.Stalls)
		}
	})
}

// A receiver that stops in mid-message leaves its sender without credit after
// the FIFO's eight steps.
func TestStoppedAfterEightSteps(t *testing.T) {
	for _, p := range allreduce.Protos() {
		_, err := afflicted(t, allreduce.Fault{Kind: allreduce.StopRank, Rank: 0, Channel: 0}, allreduce.Tree, p, 2_000_000)
		var stuck *allreduce.StuckError
		if !errors.As(err, &stuck) {
			t.Fatalf("%v: error %v, want a *StuckError", p, err)
		}
		credit := 0
		for _, s := range stuck.Stalls {
			if s.For == allreduce.WaitCredit && s.Channel == 0 {
				credit++
				if s.Want-s.Seen != 1 {
					t.Errorf("%v: %v: want one step more than it has", p, s)
				}
			}
		}
		if credit == 0 {
			t.Errorf("%v: nobody waits for credit: %v", p, stuck.Stalls)
		}
	}
}

// After a run has failed, only Close works.
func TestBrokenExecutor(t *testing.T) {
	c := executortest.Config{Layout: executortest.Four(), Proto: allreduce.Simple, Algo: allreduce.Ring, Tasks: []plan.Task{{Count: 100}}}
	launches, layout, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(layout, Options{Limit: 100 * time.Millisecond, Fault: allreduce.Fault{Kind: allreduce.StopRank}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, launches[0].Plan, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, first := trial.Run(context.Background())
	_, again := trial.Run(context.Background())
	if first == nil || again == nil || !errors.Is(again, first) {
		t.Errorf("errors %v and %v, want the first wrapped in the second", first, again)
	}
}

func TestCancelledRun(t *testing.T) {
	c := executortest.Config{Layout: executortest.Four(), Proto: allreduce.LL, Algo: allreduce.Ring, Tasks: []plan.Task{{Count: 100}}}
	launches, layout, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(layout, Options{Fault: allreduce.Fault{Kind: allreduce.StopRank}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, launches[0].Plan, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := trial.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if took := time.Since(begin); took > DefaultLimit/2 {
		t.Errorf("left after %v", took)
	}
}

func TestImpossibleFaults(t *testing.T) {
	for want, f := range map[string]allreduce.Fault{
		"rank 4":    {Kind: allreduce.DropChunk, Rank: 4},
		"channel 3": {Kind: allreduce.DropChunk, Channel: 3},
		"step -1":   {Kind: allreduce.DropChunk, Step: -1},
		"goroutine": {Kind: allreduce.KillProcess},
		"unknown":   {Kind: allreduce.NumFaults},
	} {
		if _, err := New(executortest.Four(), Options{Fault: f}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
	}
	if _, err := New(&allreduce.Layout{NRanks: 2, Rings: [][]int{{0, 0}}}, Options{}); err == nil {
		t.Error("an impossible layout was connected")
	}
}
