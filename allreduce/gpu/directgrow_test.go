package gpu

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// tight is a fake machine whose memory runs out after so many allocations.
func tight(t *testing.T, gpus int) (m *cudafake.Driver, drv *cuda.Driver, left *atomic.Int32) {
	t.Helper()
	m, left = cudafake.New(gpus), &atomic.Int32{}
	left.Store(1 << 20)
	api := m.API()
	alloc := api.MemAlloc
	api.MemAlloc = func(p *cuda.Ptr, n uint64) cuda.Result {
		if left.Add(-1) < 0 {
			return cuda.OutOfMemory
		}
		return alloc(p, n)
	}
	drv, err := cuda.New(api)
	if err != nil {
		t.Fatal(err)
	}
	return m, drv, left
}

// twoShot is a small message by two-shot, and the layout that it is for.
func twoShot(t *testing.T) (*allreduce.Layout, *allreduce.Plan) {
	t.Helper()
	pl, err := plan.New(plan.Nominal(fourRanks(1)), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	algo, proto := allreduce.TwoShot, allreduce.Simple
	launches, err := pl.Plan([]plan.Task{{Count: 1000, DType: allreduce.Float32}}, plan.Force{Algo: &algo, Proto: &proto})
	if err != nil {
		t.Fatal(err)
	}
	return pl.Layout(), launches[0].Plan
}

// Wherever memory runs out while ranks get what the direct algorithms need, on
// the first GPU or another one, nothing of it stays, and the next run has all.
func TestDirectMemoryIsForAllOrNone(t *testing.T) {
	l, p := twoShot(t)
	m, drv, left := tight(t, 2)
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := m.Live()
	for enough := range int32(2 * l.NRanks) {
		left.Store(enough)
		if _, err := trial.Run(context.Background()); !errors.Is(err, syscall.ENOMEM) {
			t.Fatalf("memory for %d allocations: %v", enough, err)
		}
		if n := m.Live(); n != before {
			t.Errorf("memory for %d allocations: %d more stay", enough, n-before)
		}
		for i, d := range ex.devices {
			if len(d.direct.states) > 0 {
				t.Errorf("memory for %d allocations: GPU %d thinks that it has some", enough, i)
			}
		}
	}
	left.Store(1 << 20)
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, d := range ex.devices {
		for rank, region := range d.direct.regions {
			if region == 0 {
				t.Errorf("GPU %d does not know where rank %d receives", i, rank)
			}
		}
	}
	if err := errors.Join(trial.Close(), ex.Close()); err != nil {
		t.Error(err)
	}
	if m.Live() != 0 || m.Contexts() != 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
}
