package gpu_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// The test program is its own child: one process for each GPU.
func TestMain(m *testing.M) {
	started, err := launch.Child(map[string]launch.Worker{"check": checkInProcess, "die": dieInProcess,
		gpu.Worker: gpu.Serve, "fake": serveFake, "fake without memory": serveFake})
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case started:
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is what the children are told.
type order struct {
	Calls   int
	Devices []int
}

// runProcesses runs a worker in two processes to their end. It gives the first
// loss of one, and what they said.
func runProcesses(t *testing.T, worker string, o order) (string, error) {
	t.Helper()
	setup, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	job, err := launch.Start(launch.Options{N: 2, Worker: worker, Setup: setup, Stderr: &said})
	if err != nil {
		t.Fatal(err)
	}
	for alive(job) && job.Lost() == nil && !late(t) {
		time.Sleep(5 * time.Millisecond)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
	return said.String(), job.Lost()
}

func alive(job *launch.Job) bool {
	for rank := range job.Size() {
		if syscall.Kill(job.Pid(rank), 0) == nil {
			return true
		}
	}
	return false
}

// joined opens this process's share on four channels.
func joined(r *launch.Rank, o gpu.Options) (*gpu.Executor, *plan.Planner, order, error) {
	var given order
	if err := json.Unmarshal(r.Setup, &given); err != nil {
		return nil, nil, given, err
	}
	if driverErr != nil {
		return nil, nil, given, driverErr
	}
	o.Driver, o.Devices = driver, given.Devices
	l := layout(2, 4)
	s := plan.DefaultSettings()
	pl, err := plan.New(plan.Nominal(l), s)
	if err != nil {
		return nil, nil, given, err
	}
	ex, err := gpu.Join(pl.Layout(), o, r, r.Number)
	return ex, pl, given, err
}

// checkInProcess runs messages of all types, sizes and protocols, in place and
// not, and then many calls of mixed sizes back to back.
func checkInProcess(r *launch.Rank) (err error) {
	ex, pl, given, err := joined(r, gpu.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ex.Close()) }()
	rnd := rand.New(rand.NewPCG(3, 3)) // the same on all processes
	ways := runnable(ex)
	for i := range 60 {
		w := ways[i%len(ways)]
		task := plan.Task{Count: 1 + rnd.Int64N(1<<rnd.IntN(20)), DType: allreduce.DType(i % allreduce.NumDTypes), Op: allreduce.Op(i / 2 % allreduce.NumOps)}
		launches, err := pl.Plan([]plan.Task{task}, plan.Force{Algo: &w.algo, Proto: &w.proto})
		if err != nil {
			return err
		}
		if err := executortest.RunPlan(ex, launches[0].Plan, verify.Options{Seed: uint64(i), InPlace: i%2 == 1}, 2); err != nil {
			return fmt.Errorf("%v %v: %w", w, task, err)
		}
	}
	trials, err := soakTrials(ex, pl, rnd, 30)
	if err != nil {
		return err
	}
	begin := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "rank %d: "+format+"\n", append([]any{r.Number}, args...)...)
	}
	if err := soak(r.Context(), trials, rnd, given.Calls, say); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "rank %d: %d calls of %d messages by %v in %v, every %dth with new data and checked, all right\n",
		r.Number, given.Calls, len(trials), ways, time.Since(begin).Round(time.Millisecond), soakEvery)
	return nil
}

// dieInProcess has rank 1 die in a run: the other must end soon, with its name.
func dieInProcess(r *launch.Rank) error {
	ex, pl, _, err := joined(r, gpu.Options{Limit: 30 * time.Second, Fault: allreduce.Fault{Kind: allreduce.KillProcess, Rank: 1}})
	if err != nil {
		return err
	}
	algo, proto := allreduce.Ring, allreduce.Simple
	launches, err := pl.Plan([]plan.Task{{Count: 1 << 22, DType: allreduce.Float32}}, plan.Force{Algo: &algo, Proto: &proto})
	if err != nil {
		return err
	}
	begin := time.Now()
	err = executortest.RunPlan(ex, launches[0].Plan, verify.Options{}, 1)
	fmt.Fprintf(os.Stderr, "after %v: %v\n", time.Since(begin).Round(time.Millisecond), err)
	var death *launch.DeathError
	if !errors.As(err, &death) || death.Rank != 1 {
		return fmt.Errorf("want the death of rank 1, got %v", err)
	}
	return ex.Close()
}

func TestProcesses(t *testing.T) {
	needGPUs(t, 2)
	said, err := runProcesses(t, "check", order{Calls: number("RINGTOPO_SOAK", 500)})
	t.Log(said)
	if strings.Count(said, "all right") != 2 {
		t.Error("want two processes that find all right")
	}
	if err != nil {
		t.Error(err)
	}
}

func TestProcessesThatShareAGPU(t *testing.T) {
	needGPU(t)
	said, err := runProcesses(t, "check", order{Devices: []int{0, 0}})
	if err == nil || !strings.Contains(said, "share GPU 0") {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestProcessKilled(t *testing.T) {
	needGPUs(t, 2)
	begin := time.Now()
	said, err := runProcesses(t, "die", order{})
	t.Logf("%v after %v\n%s", err, time.Since(begin), said)
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("the end took %v", took)
	}
	if !strings.Contains(said, "rank 1") {
		t.Errorf("nobody names rank 1")
	}
}
