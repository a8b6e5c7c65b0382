package host

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"pgregory.net/rapid"
)

// household is one process's workers at one door, without processes.
func household(ranks, channels int) (*futexBells, []*worker) {
	s := shape{ranks, channels}
	b := newFutexBells(newControl(s, aligned(s.controlBytes())), s)
	e := &engine{shape: s, ctl: b.ctl, bells: b, yields: 1}
	var list []*worker
	for c := range channels {
		number := s.post(ranks-1, c, first)
		list = append(list, &worker{engine: e, rank: ranks - 1, channel: c, number: number, post: &b.ctl.posts[number]})
	}
	return b, list
}

// All posts of a rank share a door, and no two ranks do.
func TestDoors(t *testing.T) {
	b, _ := household(5, 3)
	of := map[*post]int{}
	for r := range 5 {
		for c := range 3 {
			for role := range roles {
				d := b.door(b.shape.post(r, c, role))
				if owner, known := of[d]; known && owner != r {
					t.Errorf("ranks %d and %d share a door", owner, r)
				}
				of[d] = r
			}
		}
	}
	if len(of) != 5 {
		t.Errorf("%d doors for 5 ranks", len(of))
	}
}

// A process may sleep once all its workers have looked in vain since the last
// ring, and not before: neither when one of them has looked twice, nor when one
// that had looked has been rung for.
func TestAllLookInVain(t *testing.T) {
	b, w := household(2, 3)
	b.gather(3)
	look := func(i int) bool {
		b.arm(w[i])
		return b.all(w[i])
	}
	for _, step := range []struct {
		who  int
		want bool
	}{{0, false}, {0, false}, {1, false}, {1, false}, {2, true}, {0, true}} {
		if got := look(step.who); got != step.want {
			t.Fatalf("worker %d: sleep %v", step.who, got)
		}
	}
	b.rouse(w[1].number)
	if look(1) || look(2) {
		t.Error("some have not looked since the ring")
	}
	if !look(0) {
		t.Error("all have looked since the ring")
	}
	b.disarm(w[0])
	if look(1) || look(2) {
		t.Error("a worker that found something counts as one that did not")
	}
	b.leave()
	if !look(1) {
		t.Error("a worker that has left the run is waited for")
	}
}

// A ring between the last look and sleep is not slept through; nor is one that
// another worker's arming follows.
func TestRingBeforeSleep(t *testing.T) {
	b, w := household(2, 2)
	b.gather(2)
	b.arm(w[0])
	b.rouse(w[0].number)
	b.arm(w[1])
	b.sleep(w[1])
	b.sleep(w[0]) // its ticket is old
	if w[0].vain || b.vain != 1 {
		t.Errorf("%d workers are said to have looked in vain, want the second alone", b.vain)
	}
}

// A worker that finds something after it had looked in vain wakes the one that
// went to sleep because of that: the door no longer says that anybody sleeps, so
// that no other process would.
func TestDisarmWakesSleepers(t *testing.T) {
	b, w := household(2, 2)
	b.nap = time.Hour
	b.gather(2)
	b.arm(w[0])
	b.sleep(w[0]) // returns: the second has not looked
	awake := make(chan struct{})
	b.arm(w[1])
	go func() {
		defer close(awake)
		b.sleep(w[1])
	}()
	for b.beds.Load() == 0 {
		runtime.Gosched()
	}
	b.arm(w[0])
	b.disarm(w[0])
	select {
	case <-awake:
	case <-time.After(10 * time.Second):
		t.Fatal("it sleeps on, and no ring will reach it")
	}
	if b.beds.Load() != 0 {
		t.Errorf("%d are said to sleep", b.beds.Load())
	}
}

// Who is not armed costs the other side no ring.
func TestRouseOnlyTheArmed(t *testing.T) {
	b, w := household(2, 1)
	d := b.door(w[0].number)
	b.rouse(w[0].number)
	if d.rings.Load() != 0 {
		t.Error("rung at an open door")
	}
	b.arm(w[0])
	b.rouse(w[0].number)
	b.rouse(w[0].number)
	if d.rings.Load() != 1 || d.asleep.Load() != 0 {
		t.Errorf("%d rings, asleep %d; want one ring", d.rings.Load(), d.asleep.Load())
	}
}

// A processor is given away once per round of looks, however many workers there
// are.
func TestYieldOncePerRound(t *testing.T) {
	b, _ := household(2, 4)
	b.gather(4)
	for round := range 3 {
		for i := range int32(3) {
			b.yield()
			if b.looks.Load() != i+1 {
				t.Fatalf("round %d: given away after %d looks", round, i+1)
			}
		}
		b.yield()
		if b.looks.Load() != 0 {
			t.Fatalf("round %d: not given away", round)
		}
	}
}

// Workers of one process that wait for a neighbour through one door all go on,
// whatever the order in which their data comes: no ring is lost. A lost one
// would cost a nap.
func TestNoRingIsLost(t *testing.T) {
	const workers, rounds = 3, 300
	b, w := household(2, workers)
	b.gather(workers)
	var data [workers]atomic.Uint32
	var naps, done atomic.Uint32
	for i := range w {
		go func() {
			defer done.Add(1)
			for want := uint32(1); want <= rounds; want++ {
				begin := time.Now()
				n := 0
				for ; data[i].Load() < want; n++ {
					w[i].pause(n)
				}
				w[i].resume(n)
				if time.Since(begin) >= nap {
					naps.Add(1)
				}
			}
			b.leave()
		}()
	}
	order := rapid.Permutation([]int{0, 1, 2})
	for round := range rounds {
		for _, i := range order.Example(round) {
			data[i].Add(1)
			b.rouse(w[i].number)
			if round%3 == 0 {
				time.Sleep(50 * time.Microsecond) // let them fall asleep
			}
		}
	}
	for deadline := time.Now().Add(20 * time.Second); done.Load() < workers; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d workers went on", done.Load(), workers)
		}
	}
	if n := naps.Load(); n > rounds/10 {
		t.Errorf("%d of %d waits lasted until the end of a nap", n, workers*rounds)
	}
}

// Between runs a process whose workers are all through may sleep, but not while
// one of them still works: it may be on the only processor that they have.
func TestBusyUntilAllHaveLeft(t *testing.T) {
	b, _ := household(2, 2)
	b.gather(2)
	for range 2 {
		if !b.busy() {
			t.Error("not busy while workers are in the run")
		}
		b.leave()
	}
	if b.busy() {
		t.Error("busy although all have left")
	}
}

// came keeps the latest arrival, in whatever order they are noted.
func TestBoardKeepsLatestArrival(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var b board
		var want int64
		for _, at := range rapid.SliceOf(rapid.Int64Range(1, 1000)).Draw(rt, "arrivals") {
			b.came(at)
			want = max(want, at)
		}
		if got := b.began.Load(); got != want {
			rt.Errorf("began at %d, want %d", got, want)
		}
	})
}

// The clock of processes does not stand still, nor run backwards.
func TestSharedClock(t *testing.T) {
	real := time.Now()
	begin := now()
	time.Sleep(20 * time.Millisecond)
	took, want := time.Duration(now()-begin), time.Since(real)
	if took < 20*time.Millisecond || took > want {
		t.Errorf("%v went by, the clock says %v", want, took)
	}
}

// A run's time is that of the ranks: more than nothing, and no more than the
// caller saw go by.
func TestElapsedWithProcesses(t *testing.T) {
	for _, algo := range []allreduce.Algo{allreduce.Ring, allreduce.TwoShot} {
		pl, layout := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: algo, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 50000, DType: allreduce.Float32}}})
		x, err := NewProcs(layout, Options{}, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		trial, err := verify.NewTrial(x, pl, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			begin := time.Now()
			timing, err := trial.Run(context.Background())
			if took := time.Since(begin); err != nil || timing.Elapsed <= 0 || timing.Elapsed > took {
				t.Errorf("%v: %v of %v, error %v", algo, timing.Elapsed, took, err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A plan without elements takes no time, and leaves the processes ready for the
// next one.
func TestEmptyPlanWithProcesses(t *testing.T) {
	c := executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Tasks: []plan.Task{{Count: 0, DType: allreduce.Float32}}}
	c.Check(t, openProcs, 3)
}

// Who does not come to a run is the one that all others wait for.
func TestMusterNamesTheMissing(t *testing.T) {
	_, err := lethal(t, Options{Limit: 300 * time.Millisecond}, func(x *Executor) {
		pid := x.caller.(*parent).job.Pid(2)
		syscall.Kill(pid, syscall.SIGSTOP)
		time.AfterFunc(time.Second, func() { syscall.Kill(pid, syscall.SIGCONT) })
	})
	var stuck *allreduce.StuckError
	if !errors.As(err, &stuck) || !slices.Equal(stuck.Silent(), []int{2}) {
		t.Fatalf("error %v, want rank 2 to be missed", err)
	}
}
