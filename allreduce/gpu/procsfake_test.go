package gpu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// These tests start processes that have a fake machine of four GPUs each.

// serveFake is a rank's process; at its end nothing of the GPU may be left.
func serveFake(r *launch.Rank) error {
	m := cudafake.New(4)
	if r.Worker == "fake without memory" && r.Number == 1 {
		m.Fail["MemAlloc"] = cuda.OutOfMemory
	}
	drv, err := cuda.New(m.API())
	if err != nil {
		return err
	}
	err = gpu.ServeOn(r, drv)
	if m.Live() > 0 || m.Contexts() > 0 {
		return errors.Join(err, fmt.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts()))
	}
	fmt.Fprintf(os.Stderr, "rank %d left nothing\n", r.Number)
	return err
}

// safe is a text that several goroutines write.
type safe struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func smallLayout(n int) *allreduce.Layout {
	l := layout(n, 2)
	l.BuffSize = [allreduce.NumProtos]int{65536, 65536, 65536}
	return l
}

// fakeProcs starts four processes.
func fakeProcs(t *testing.T, worker string, o gpu.Options) (*gpu.Procs, *plan.Planner, *safe, error) {
	t.Helper()
	pl := planner(t, smallLayout(4))
	said := &safe{}
	p, err := gpu.NewProcsOf(pl.Layout(), o, worker, said)
	return p, pl, said, err
}

func trialOn(t *testing.T, p *gpu.Procs, pl *plan.Planner) *verify.Trial {
	t.Helper()
	trial, err := verify.NewTrial(p, planOne(t, pl, plan.Task{Count: 100003, DType: allreduce.Float32}, allreduce.Ring, allreduce.Simple), verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

// What is written comes back, a run goes through all processes, and each frees
// all that it had.
func TestProcsWork(t *testing.T) {
	p, pl, said, err := fakeProcs(t, "fake", gpu.Options{})
	if err != nil {
		t.Fatal(err, said)
	}
	if p.Name() != "gpu" || len(p.Local()) != 4 || p.Can(allreduce.Ring, allreduce.LL128) != nil {
		t.Errorf("%s with ranks %v, %v", p.Name(), p.Local(), p.Can(allreduce.Ring, allreduce.LL128))
	}
	for _, a := range []allreduce.Algo{allreduce.TwoShot, allreduce.Tree} {
		var why *allreduce.UnsupportedError
		if err := p.Can(a, allreduce.Simple); !errors.As(err, &why) || why.Algo != a || why.Reason == "" {
			t.Errorf("%v: %v", a, err)
		}
	}
	trial := trialOn(t, p, pl)
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	timing, err := trial.Run(context.Background())
	if err != nil || timing.Elapsed <= 0 {
		t.Fatalf("%v, %v", timing, err)
	}
	// The fake computes nothing: all outputs are as they were, inputs and guards too.
	r, err := trial.Check()
	if err != nil || r.Wrong != 4*100003 || r.First.Hint != "never written" {
		t.Errorf("%v, %d wrong, first %v", err, r.Wrong, r.First)
	}
	if err := trial.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(said.String(), "left nothing"); n != 4 {
		t.Errorf("%d of 4 processes left nothing:\n%s", n, said)
	}
	if _, err := trial.Run(context.Background()); err == nil {
		t.Error("ran after it was closed")
	}
}

// Buffers keep apart, whatever goes on at once, and refuse what is out of bounds.
func TestProcsBuffers(t *testing.T) {
	p, _, said, err := fakeProcs(t, "fake", gpu.Options{})
	if err != nil {
		t.Fatal(err, said)
	}
	defer p.Close()
	const size = 5<<19 + 3 // two pieces and a bit
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			b, err := p.Alloc(i%4, size)
			if err != nil {
				t.Error(err)
				return
			}
			want, got := bytes.Repeat([]byte{byte(i), 3, 5}, size/3+1)[:size], make([]byte, size)
			err = errors.Join(b.Write(want, 0), b.(allreduce.Setter).Set(9, 7, 11), b.Read(got, 0))
			copy(want[7:], bytes.Repeat([]byte{9}, 11))
			if err != nil || !bytes.Equal(got, want) || b.Rank() != i%4 || b.Size() != size {
				t.Errorf("buffer %d: %v, or other bytes", i, err)
			}
			if err := b.Write(want, 1); err == nil || !strings.Contains(err.Error(), "of a buffer of") {
				t.Errorf("past the end: %v", err)
			}
			if err := errors.Join(b.Free(), b.Free()); err != nil {
				t.Error(err)
			}
			if err := b.Read(got, 0); err == nil || !strings.Contains(err.Error(), "was freed") {
				t.Errorf("after Free: %v", err)
			}
		})
	}
	wg.Wait()
	for _, err := range []error{second(p.Alloc(4, 1)), second(p.Alloc(0, -1))} {
		if err == nil {
			t.Error("memory that cannot be had")
		}
	}
	if err := second(p.Alloc(2, 1<<40)); !errors.Is(err, syscall.ENOMEM) || !strings.Contains(err.Error(), "rank 2") {
		t.Errorf("too much memory: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// A buffer that was freed is refused before any process waits for the others, and
// another run may follow.
func TestProcsRefuseFreedBuffers(t *testing.T) {
	p, pl, said, err := fakeProcs(t, "fake", gpu.Options{})
	if err != nil {
		t.Fatal(err, said)
	}
	defer p.Close()
	old, trial := trialOn(t, p, pl), trialOn(t, p, pl)
	if err := old.Args()[0].Send[2].Buf.Free(); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "rank 2: not a live buffer") {
		t.Errorf("got %v", err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Errorf("the next run: %v", err)
	}
	if err := errors.Join(old.Close(), trial.Close()); err != nil {
		t.Error(err)
	}
}

// A process that is killed in a run is named, soon, and the others end.
func TestProcsKilled(t *testing.T) {
	p, pl, said, err := fakeProcs(t, "fake", gpu.Options{Fault: allreduce.Fault{Kind: allreduce.KillProcess, Rank: 2}})
	if err != nil {
		t.Fatal(err, said)
	}
	trial := trialOn(t, p, pl)
	begin := time.Now()
	_, err = trial.Run(context.Background())
	var dead *launch.DeathError
	if !errors.As(err, &dead) || dead.Rank != 2 || !strings.Contains(dead.Reason, "killed") {
		t.Errorf("got %v", err)
	}
	if _, err := trial.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "only Close may follow") {
		t.Errorf("a second run: %v", err)
	}
	if err := errors.Join(trial.Close(), p.Close()); err != nil {
		t.Error(err, said)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	if n := strings.Count(said.String(), "left nothing"); n != 3 {
		t.Errorf("%d of 3 processes left nothing:\n%s", n, said)
	}
}

// The same where no run is under way: the next call says who died.
func TestProcsKilledBetweenRuns(t *testing.T) {
	p, pl, said, err := fakeProcs(t, "fake", gpu.Options{})
	if err != nil {
		t.Fatal(err, said)
	}
	defer p.Close()
	trial := trialOn(t, p, pl)
	if err := syscall.Kill(p.Pid(3), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var dead *launch.DeathError
	if err := trial.Fill(); !errors.As(err, &dead) || dead.Rank != 3 {
		t.Errorf("fill: %v", err)
	}
	if _, err := trial.Run(context.Background()); !errors.As(err, &dead) || dead.Rank != 3 {
		t.Errorf("run: %v", err)
	}
	if err := errors.Join(trial.Close(), p.Close()); err != nil {
		t.Error(err, said)
	}
}

// A process that cannot start says why, and all end.
func TestProcsFailTogether(t *testing.T) {
	_, _, said, err := fakeProcs(t, "fake without memory", gpu.Options{})
	if !errors.Is(err, syscall.ENOMEM) || !strings.Contains(err.Error(), "GPU 1 has 16384 of 16384 MiB left") {
		t.Errorf("got %v", err)
	}
	if n := strings.Count(said.String(), "left nothing"); n != 4 {
		t.Errorf("%d of 4 processes left nothing:\n%s", n, said)
	}
	if _, _, _, err := fakeProcs(t, "fake", gpu.Options{Devices: []int{0, 1, 1, 2}}); err == nil || !strings.Contains(err.Error(), "ranks 1 and 2 are processes that share GPU 1") {
		t.Errorf("a shared GPU: %v", err)
	}
	if _, _, _, err := fakeProcs(t, "fake", gpu.Options{Devices: []int{0, 1, 2, 9}}); !errors.Is(err, cuda.ErrNoDevice) && !strings.Contains(fmt.Sprint(err), "GPU 9") {
		t.Errorf("a GPU that there is not: %v", err)
	}
	if _, _, _, err := fakeProcs(t, "fake", gpu.Options{NoP2P: true}); err == nil || !strings.Contains(err.Error(), "needs peer access") {
		t.Errorf("no peer access: %v", err)
	}
}

// An interrupted run ends at once.
func TestProcsInterrupted(t *testing.T) {
	p, pl, said, err := fakeProcs(t, "fake", gpu.Options{})
	if err != nil {
		t.Fatal(err, said)
	}
	trial := trialOn(t, p, pl)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := trial.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(trial.Close(), p.Close()); err != nil {
		t.Error(err, said)
	}
}

// More ranks than GPUs are refused before anything is started, with the remedy.
func TestProcsNeedGPUs(t *testing.T) {
	drv, err := cuda.New(cudafake.New(2).API())
	if err != nil {
		t.Fatal(err)
	}
	_, err = gpu.NewProcs(smallLayout(4), gpu.Options{Driver: drv}, nil)
	if err == nil || !strings.Contains(err.Error(), "this machine has 2") || !strings.Contains(err.Error(), "in one process") {
		t.Errorf("got %v", err)
	}
	if drv, err = cuda.New(cudafake.New(0).API()); err != nil {
		t.Fatal(err)
	}
	if _, err := gpu.NewProcs(smallLayout(2), gpu.Options{Driver: drv}, nil); !errors.Is(err, allreduce.ErrNoDevice) {
		t.Errorf("got %v", err)
	}
}
