package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"pgregory.net/rapid"
)

// The test program is its own rank.
func TestMain(m *testing.M) {
	started, err := launch.Child(map[string]launch.Worker{Worker: Serve})
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case started:
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func openProcs(l *allreduce.Layout) (allreduce.Executor, error) {
	return NewProcs(l, Options{Limit: time.Minute}, os.Stderr)
}

func TestContractWithProcesses(t *testing.T) { executortest.Contract(t, openProcs) }

func TestRandomConfigurationsWithProcesses(t *testing.T) {
	r := configurations(10, 5, 200, 50)
	seeds := rapid.Custom(func(rt *rapid.T) executortest.Config {
		return executortest.Draw(rt, executortest.Limits{Ranks: 8, Channels: 8, Count: 100_000, Tasks: 3})
	})
	for seed := range r {
		c := seeds.Example(seed)
		if c.Algo.Direct() {
			c.Proto = allreduce.Simple
		}
		if c.Check(t, openProcs, 2) {
			t.Fatalf("seed %d: %v/%v is not run", seed, c.Algo, c.Proto)
		}
	}
}

func TestRunWithProcessesAllocatesNothing(t *testing.T) {
	pl, layout := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Proto: allreduce.LL,
		Tasks: []plan.Task{{Count: 20000, DType: allreduce.Float32}, {Count: 5, DType: allreduce.Int8}}})
	x, err := openProcs(layout)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, pl, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func() {
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(20, run); n >= 1 {
		t.Errorf("%v allocations per run", n)
	}
}

// lethal runs an AllReduce in which a process dies, by an injected fault or by
// kill, and returns what the others said and the run's error.
func lethal(t *testing.T, o Options, kill func(*Executor)) (string, error) {
	t.Helper()
	pl, layout := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 3000, DType: allreduce.Float32}}})
	var said bytes.Buffer
	x, err := NewProcs(layout, o, &said)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(x, pl, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pids := make([]int, layout.NRanks)
	for rank := range pids {
		pids[rank] = x.caller.(*parent).job.Pid(rank)
	}
	begin := time.Now()
	if kill != nil {
		kill(x)
	}
	for err == nil && time.Since(begin) < 20*time.Second {
		_, err = trial.Run(context.Background())
	}
	if cerr := x.Close(); cerr != nil {
		t.Error("close:", cerr)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
	for rank, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("rank %d is still there: %v", rank, err)
		}
	}
	return said.String(), err
}

func TestKilledProcess(t *testing.T) {
	before := sharedMemory(t)
	for name, c := range map[string]struct {
		o    Options
		kill func(*Executor)
	}{
		"injected": {o: Options{Fault: allreduce.Fault{Kind: allreduce.KillProcess, Rank: 2, Step: 1}}},
		"idle":     {kill: func(x *Executor) { syscall.Kill(x.caller.(*parent).job.Pid(2), syscall.SIGKILL) }},
		"working": {kill: func(x *Executor) {
			pid := x.caller.(*parent).job.Pid(2)
			time.AfterFunc(100*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := lethal(t, c.o, c.kill)
			var d *launch.DeathError
			if !errors.As(err, &d) || d.Rank != 2 || d.Reason != "signal: killed" {
				t.Errorf("error %v, want the death of rank 2", err)
			}
			if n := strings.Count(said, "died: signal: killed"); n != 3 {
				t.Errorf("%d others say why they end, want 3:\n%s", n, said)
			}
		})
	}
	if after := sharedMemory(t); after != before {
		t.Errorf("shared memory is left behind: %s, before %s", after, before)
	}
}

// sharedMemory lists this process's mappings of shared memory and what has a
// name in the usual place.
func sharedMemory(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("needs /proc")
	}
	names, _ := os.ReadDir("/dev/shm")
	return fmt.Sprintf("%d mapped, %d named", strings.Count(string(b), "memfd:ringtopo"), len(names))
}

func TestStoppedProcess(t *testing.T) {
	_, err := lethal(t, Options{Limit: 300 * time.Millisecond, Fault: allreduce.Fault{Kind: allreduce.StopRank, Rank: 1}}, nil)
	var stuck *allreduce.StuckError
	if !errors.As(err, &stuck) || stuck.Root().Peer != 1 {
		t.Errorf("error %v", err)
	}
}

// A process that does not move at all is missed like any other rank.
func TestFrozenProcess(t *testing.T) {
	_, err := lethal(t, Options{Limit: 300 * time.Millisecond}, func(x *Executor) {
		pid := x.caller.(*parent).job.Pid(3)
		syscall.Kill(pid, syscall.SIGSTOP)
		time.AfterFunc(time.Second, func() { syscall.Kill(pid, syscall.SIGCONT) })
	})
	var stuck *allreduce.StuckError
	if !errors.As(err, &stuck) {
		t.Errorf("error %v", err)
	}
}

func TestSegment(t *testing.T) {
	l := executortest.Four()
	s := shape{l.NRanks, l.Channels()}
	g, err := newSegment(l, s, launch.Memory)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	rapid.Check(t, func(rt *rapid.T) {
		var live [][]byte
		for range rapid.IntRange(1, 40).Draw(rt, "moves") {
			if len(live) > 0 && rapid.Bool().Draw(rt, "free") {
				i := rapid.IntRange(0, len(live)-1).Draw(rt, "which")
				g.free(live[i])
				live = append(live[:i], live[i+1:]...)
				continue
			}
			b, err := g.alloc(rapid.Int64Range(0, 20000).Draw(rt, "size"))
			if err != nil {
				rt.Fatal(err)
			}
			live = append(live, b)
		}
		for i, a := range live {
			if at := g.offset(a); at < g.places.arena || at%alignment != 0 {
				rt.Errorf("buffer at %d", at)
			}
			for _, b := range live[:i] {
				if x, y := g.offset(a), g.offset(b); x < y+cap(b) && y < x+cap(a) {
					rt.Errorf("buffers %d and %d overlap", x, y)
				}
			}
		}
		for _, b := range live {
			g.free(b)
		}
	})
	if len(g.used) != 0 {
		t.Errorf("left over: %v", g.used)
	}
	if _, err := g.alloc(1 << 60); err == nil {
		t.Error("more memory than there is")
	}
}

func TestSegmentTooLarge(t *testing.T) {
	l := executortest.Four()
	if _, err := newSegment(l, shape{l.NRanks, l.Channels()}, func(int64) (*os.File, error) { return nil, os.ErrPermission }); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
	f, err := launch.Memory(100)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := mapSegment(f, placesOf(l, shape{l.NRanks, l.Channels()})); err == nil {
		t.Error("a segment that is too small was mapped")
	}
}

// Empty plans between others are over at once, and no process takes the next plan
// for one that it has missed.
func TestEmptyPlansBetweenOthers(t *testing.T) {
	pl, layout := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 5000, DType: allreduce.Float32}}})
	x, err := NewProcs(layout, Options{Limit: 5 * time.Second}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, pl, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 30 {
		if err := trial.Fill(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if timing, err := x.Run(context.Background(), &allreduce.Plan{Layout: layout}, nil); err != nil || timing.Elapsed != 0 {
				t.Fatalf("round %d: empty plan: %v, %v", round, timing, err)
			}
		}
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if r, err := trial.Check(); err != nil || !r.OK() {
			t.Fatalf("round %d: %+v, %v", round, r, err)
		}
	}
}
