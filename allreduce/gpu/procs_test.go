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
	started, err := launch.Child(map[string]launch.Worker{"check": checkInProcess, "die": dieInProcess})
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
	for end := time.Now().Add(80 * time.Second); alive(job) && job.Lost() == nil && time.Now().Before(end); {
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

// checkInProcess runs every protocol and type, and then many calls of mixed
// sizes back to back.
func checkInProcess(r *launch.Rank) (err error) {
	ex, pl, given, err := joined(r, gpu.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ex.Close()) }()
	rnd := rand.New(rand.NewPCG(3, 3)) // the same on all processes
	var trials []*verify.Trial
	for i := range 30 {
		algo, proto := allreduce.Ring, allreduce.Protos()[i%3]
		if ex.Can(algo, proto) != nil {
			continue
		}
		task := plan.Task{Count: 1 + rnd.Int64N(1<<rnd.IntN(20)), DType: allreduce.DType(i % allreduce.NumDTypes), Op: allreduce.Op(i % allreduce.NumOps)}
		launches, err := pl.Plan([]plan.Task{task}, plan.Force{Algo: &algo, Proto: &proto})
		if err != nil {
			return err
		}
		p := launches[0].Plan
		for _, inPlace := range []bool{false, true} {
			if err := executortest.RunPlan(ex, p, verify.Options{Seed: uint64(i), InPlace: inPlace}, 2); err != nil {
				return fmt.Errorf("%s %v: %w", proto, task, err)
			}
		}
		trial, err := verify.NewTrial(ex, p, verify.Options{Seed: uint64(i)})
		if err != nil {
			return err
		}
		defer trial.Close()
		if err := trial.Fill(); err != nil {
			return err
		}
		trials = append(trials, trial)
	}
	begin := time.Now()
	for range given.Calls {
		if _, err := trials[rnd.IntN(len(trials))].Run(r.Context()); err != nil {
			return err
		}
	}
	took := time.Since(begin)
	for i, trial := range trials {
		if _, err := trial.Run(r.Context()); err != nil {
			return err
		}
		if res, err := trial.Check(); err != nil || !res.OK() {
			return fmt.Errorf("message %d: %v, %d wrong, first %v", i, err, res.Wrong, res.First)
		}
	}
	fmt.Fprintf(os.Stderr, "rank %d: %d calls in %v, all right\n", r.Number, given.Calls, took.Round(time.Millisecond))
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
	said, err := runProcesses(t, "check", order{Calls: soakCalls()})
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
