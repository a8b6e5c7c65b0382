package contest_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/cuda"
)

// TestOnHardware has ours and both of NCCL's play on two GPUs; RINGTOPO_NCCL is
// the path of NCCL's library. Nothing is asked of the times: ringtopo bench
// --peer nccl measures.
func TestOnHardware(t *testing.T) {
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
	pl := planner(t, 2)
	ours, err := gpu.New(pl.Layout(), gpu.Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	var peers [2]*nccl.Executor
	for i := range peers {
		if peers[i], err = nccl.New(pl.Layout(), nccl.Options{Driver: drv, API: api, Symmetric: i == 1}); err != nil {
			t.Fatal(err)
		}
		defer peers[i].Close()
	}
	player := contest.OnGPUs(ours, gpu.DirectTuning{})
	for _, inPlace := range []bool{false, true} {
		for _, count := range []int64{3, 100_003, 5_000_001} {
			p := planOne(t, pl, plan.Task{Count: count, DType: allreduce.Float32}, allreduce.TwoShot)
			m := &contest.Match{InPlace: inPlace, Hows: []contest.How{contest.Graph, contest.Stream}, Rules: contest.DefaultRules(),
				Entries: []contest.Entry{
					{Name: contest.Ours, Player: player, Plan: p},
					{Name: contest.Plain, Player: contest.ByNCCL(peers[0], false), Plan: p, Memory: player, Loose: true},
					{Name: contest.Symmetric, Player: contest.ByNCCL(peers[1], true), Plan: p, Loose: true},
				}}
			outcomes, err := m.Play(context.Background())
			if err != nil {
				t.Fatalf("%d elements, in place %v: %v", count, inPlace, err)
			}
			for _, o := range outcomes {
				for _, s := range o.Series {
					t.Logf("%d elements, in place %v, %s: %s %.2f us", count, inPlace, o.How, s.Name, s.Median())
				}
			}
		}
	}
}
