package gpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
)

// Every GPU compiles a kernel once, however often it is run, and none that is not
// run.
func TestKernelsAreLoadedOnce(t *testing.T) {
	m, drv := newMachine(t, 4)
	l, p := plans(t, fourRanks(2), plan.Task{Count: 1000, DType: allreduce.Float32}, plan.Task{Count: 1000, DType: allreduce.Float32, Op: allreduce.Max})
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if n := m.Count("ModuleLoadDataEx"); n != 4 {
		t.Errorf("%d modules loaded for proofs on 4 GPUs", n)
	}
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	for range 3 {
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if most, err := ex.MostChannels(p); err != nil || most < 2 {
			t.Errorf("%d channels, %v", most, err)
		}
	}
	if n := m.Count("ModuleLoadDataEx"); n != 8 {
		t.Errorf("%d modules loaded, want one more on each of 4 GPUs", n)
	}
}

// A kernel that does not compile on any GPU is an error with the compiler's words,
// and no GPU is left waiting.
func TestKernelDoesNotCompile(t *testing.T) {
	m, drv := newMachine(t, 3)
	l, p := plans(t, fourRanks(1), plan.Task{Count: 1000, DType: allreduce.Float32})
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Fail["ModuleLoadDataEx"], m.CompilerLog = 218, "ptxas fatal: no such instruction"
	_, err = trial.Run(context.Background())
	var refused *cuda.Error
	if !errors.As(err, &refused) || refused.Log != m.CompilerLog || !strings.Contains(err.Error(), "kernels of ring_simple/float32") {
		t.Errorf("got %v", err)
	}
	delete(m.Fail, "ModuleLoadDataEx")
	if _, err := trial.Run(context.Background()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := trial.Close(); err != nil {
		t.Error(err)
	}
	if err := ex.Close(); err != nil || m.Live() > 0 {
		t.Errorf("%v, %d allocations left", err, m.Live())
	}
}
