package nccl_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
)

// These tests need two GPUs and NCCL; RINGTOPO_NCCL is the library's path.

func peers(t *testing.T) (*cuda.Driver, *nccl.API) {
	t.Helper()
	drv, err := cuda.Open()
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(drv.Devices()) < 2 {
		t.Skip("one GPU")
	}
	api, err := nccl.Open(os.Getenv("RINGTOPO_NCCL"))
	if errors.Is(err, nccl.ErrNoLibrary) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return drv, api
}

func twoRanks(t *testing.T) *plan.Planner {
	t.Helper()
	l := &allreduce.Layout{NRanks: 2, BuffSize: allreduce.DefaultBuffSize()}
	for range 24 {
		l.Rings = append(l.Rings, []int{0, 1})
	}
	p, err := plan.New(plan.Nominal(l), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planOne(t *testing.T, p *plan.Planner, task plan.Task, a allreduce.Algo, proto allreduce.Proto) *allreduce.Plan {
	t.Helper()
	launches, err := p.Plan([]plan.Task{task}, plan.Force{Algo: &a, Proto: &proto})
	if err != nil {
		t.Fatal(err)
	}
	return launches[0].Plan
}

// Two ranks leave no choice in the order of a sum: NCCL must give our bits.
func TestNCCLGivesTheSameBits(t *testing.T) {
	drv, api := peers(t)
	pl := twoRanks(t)
	for _, symmetric := range []bool{false, true} {
		ex, err := nccl.New(pl.Layout(), nccl.Options{Driver: drv, API: api, Symmetric: symmetric})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []allreduce.DType{allreduce.Float32, allreduce.Int8, allreduce.Float64, allreduce.BFloat16} {
			for _, op := range allreduce.Ops() {
				if d == allreduce.BFloat16 && op == allreduce.Avg {
					continue // scaled in another precision there
				}
				trial := start(t, ex, planOne(t, pl, plan.Task{Count: 100003, DType: d, Op: op}, allreduce.Ring, allreduce.Simple), false)
				if r, err := trial.Check(); err != nil || !r.OK() {
					t.Errorf("%s %s, symmetric %v: %v, %d wrong, first %v", d, op, symmetric, err, r.Wrong, r.First)
				}
				trial.Close()
			}
		}
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}

// start fills and runs once.
func start(t *testing.T, ex allreduce.Executor, p *allreduce.Plan, inPlace bool) *verify.Trial {
	t.Helper()
	trial, err := verify.NewTrial(ex, p, verify.Options{Seed: 3, InPlace: inPlace})
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return trial
}
