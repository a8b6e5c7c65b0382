package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
)

// These tests need a GPU. They skip where there is none, and for no other reason.

// driver opens the driver once for all tests, but not in a process that measures
// how long that takes.
var driver, driverErr = openOnce()

func openOnce() (*cuda.Driver, error) {
	if os.Getenv("RINGTOPO_COLD") != "" {
		return nil, cuda.ErrNoDevice
	}
	return cuda.Open()
}

func needGPU(t testing.TB) {
	t.Helper()
	if errors.Is(driverErr, cuda.ErrNoDriver) || errors.Is(driverErr, cuda.ErrNoDevice) {
		t.Skip(driverErr)
	}
	if driverErr != nil {
		t.Fatal(driverErr)
	}
}

// needGPUs skips where there are fewer GPUs than the test is about.
func needGPUs(t testing.TB, n int) {
	t.Helper()
	needGPU(t)
	if have := len(driver.Devices()); have < n {
		t.Skipf("%d GPUs, the test is about %d", have, n)
	}
}

func opener(o gpu.Options) executortest.New {
	o.Driver = driver
	return func(l *allreduce.Layout) (allreduce.Executor, error) {
		ex, err := gpu.New(l, o)
		if err != nil {
			return nil, err
		}
		return ex, nil
	}
}

func TestContract(t *testing.T) {
	needGPU(t)
	executortest.Contract(t, opener(gpu.Options{}))
}

func TestContractOneGPU(t *testing.T) {
	needGPUs(t, 2)
	executortest.Contract(t, func(l *allreduce.Layout) (allreduce.Executor, error) {
		return opener(gpu.Options{Devices: make([]int, l.NRanks)})(l)
	})
}

func TestContractStaged(t *testing.T) {
	needGPUs(t, 2)
	executortest.Contract(t, opener(gpu.Options{NoP2P: true}))
}

func TestContractThroughFIFOs(t *testing.T) {
	needGPU(t)
	executortest.Contract(t, opener(gpu.Options{NoDirect: true}))
}

// layout is one of n ranks with the rings 0 1 2 ... and 0 n-1 ... 1 in turn.
func layout(n, channels int) *allreduce.Layout {
	l := &allreduce.Layout{NRanks: n, BuffSize: allreduce.DefaultBuffSize()}
	for c := range channels {
		ring := make([]int, n)
		for i := range ring {
			ring[i] = i
			if c%2 == 1 && i > 0 {
				ring[i] = n - i
			}
		}
		l.Rings = append(l.Rings, ring)
	}
	return l
}

// planner lays tasks over the channels of a layout.
func planner(t testing.TB, l *allreduce.Layout, opts ...plan.Option) *plan.Planner {
	t.Helper()
	s := plan.DefaultSettings()
	s.BuffSize = l.BuffSize
	p, err := plan.New(plan.Nominal(l), s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planOne(t testing.TB, p *plan.Planner, task plan.Task, a allreduce.Algo, proto allreduce.Proto) *allreduce.Plan {
	t.Helper()
	launches, err := p.Plan([]plan.Task{task}, plan.Force{Algo: &a, Proto: &proto})
	if err != nil {
		t.Fatal(err)
	}
	return launches[0].Plan
}

func open(t testing.TB, l *allreduce.Layout, o gpu.Options) *gpu.Executor {
	t.Helper()
	o.Driver = driver
	ex, err := gpu.New(l, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ex.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return ex
}

func TestFaults(t *testing.T) {
	needGPU(t)
	n := max(2, len(driver.Devices()))
	for _, proto := range allreduce.Protos() {
		for _, kind := range []allreduce.FaultKind{allreduce.DropChunk, allreduce.SwapNeighbour, allreduce.StaleFlag, allreduce.StopRank} {
			for _, ranks := range []int{n, 4} {
				t.Run(fmt.Sprintf("%s/%s/%d", proto, kind, ranks), func(t *testing.T) {
					o := gpu.Options{Limit: 300 * time.Millisecond, Fault: allreduce.Fault{Kind: kind, Rank: 1, Channel: 1, Step: 2}}
					l := layout(ranks, 2)
					l.BuffSize = [allreduce.NumProtos]int{allreduce.LL: 65536, allreduce.LL128: 65536, allreduce.Simple: 65536} // many loops
					pl := planner(t, l)
					p := planOne(t, pl, plan.Task{Count: 1 << 20, DType: allreduce.Float32}, allreduce.Ring, proto)
					expectCaught(t, open(t, pl.Layout(), o), p, kind)
				})
			}
		}
	}
}

// expectCaught wants a fault to show as its kind must.
func expectCaught(t *testing.T, ex *gpu.Executor, p *allreduce.Plan, kind allreduce.FaultKind) {
	t.Helper()
	trial, err := verify.NewTrial(ex, p, verify.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err = trial.Run(context.Background())
	took := time.Since(begin)
	var stuck *allreduce.StuckError
	switch {
	case errors.As(err, &stuck):
		t.Logf("after %v: %v", took.Round(time.Millisecond), err)
		if kind == allreduce.DropChunk || kind == allreduce.StaleFlag {
			t.Errorf("a stall, wrong data was expected")
		}
		if took > 5*time.Second {
			t.Errorf("the diagnosis took %v", took)
		}
		if kind == allreduce.StopRank && stuck.Root().Peer != 1 {
			t.Errorf("the stopped rank is 1, the diagnosis says %d", stuck.Root().Peer)
		}
	case err != nil:
		t.Fatal(err)
	default:
		r, err := trial.Check()
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() {
			t.Error("the fault went unseen")
		}
		if kind == allreduce.StopRank {
			t.Error("wrong data, a stall was expected")
		}
		t.Logf("%d wrong, first: %v", r.Wrong, r.First)
	}
}

func TestGeometry(t *testing.T) {
	needGPU(t)
	n := max(2, len(driver.Devices()))
	for _, channels := range [][]int{{0}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {0, 2, 5}} {
		pl := planner(t, layout(n, 12), plan.OnChannels(channels))
		p := planOne(t, pl, plan.Task{Count: 1 << 22, DType: allreduce.Float32}, allreduce.Ring, allreduce.Simple)
		ex := open(t, pl.Layout(), gpu.Options{})
		if err := executortest.RunPlan(ex, p, verify.Options{Seed: 6}, 1); err != nil {
			t.Fatal(err)
		}
		checkBlocks(t, ex, p)
	}
}

// All ranks on one GPU are one launch, so that a profiler can look at it.
func TestGeometryOneGPU(t *testing.T) {
	needGPU(t)
	for _, channels := range [][]int{{0}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {0, 2, 5}} {
		pl := planner(t, layout(4, 12), plan.OnChannels(channels))
		p := planOne(t, pl, plan.Task{Count: 1 << 22, DType: allreduce.Float32}, allreduce.Ring, allreduce.Simple)
		ex := open(t, pl.Layout(), gpu.Options{Devices: []int{0, 0, 0, 0}})
		if err := executortest.RunPlan(ex, p, verify.Options{Seed: 6}, 1); err != nil {
			t.Fatal(err)
		}
		checkBlocks(t, ex, p)
	}
}

func checkBlocks(t *testing.T, ex *gpu.Executor, p *allreduce.Plan) {
	t.Helper()
	blocks, channels := ex.Blocks(), p.Channels()
	t.Logf("mask %#b, %d threads planned; recorded %+v", p.Mask, p.Threads, blocks)
	if len(blocks) != len(channels)*p.Layout.NRanks {
		t.Errorf("%d blocks recorded, want %d on each of %d ranks", len(blocks), len(channels), p.Layout.NRanks)
	}
	perGPU := map[int]int{}
	for _, ordinal := range ex.Placement() {
		perGPU[ordinal]++
	}
	for _, b := range blocks {
		if b.Channel != channels[b.Index%len(channels)] || b.Threads != p.Threads || b.Grid != len(channels)*perGPU[ex.Placement()[b.Rank]] {
			t.Errorf("block %+v differs from the plan: channels %v, %d threads", b, channels, p.Threads)
		}
	}
}

func TestMeasureHop(t *testing.T) {
	needGPUs(t, 2)
	ex := open(t, layout(2, 1), gpu.Options{})
	const bytes = 256 << 20
	took, err := ex.MeasureHop(context.Background(), 0, 1, bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f GB/s", bytes/took.Seconds()/1e9)
}

func TestTooManyBlocks(t *testing.T) {
	needGPU(t)
	pl := planner(t, layout(16, 24))
	p := planOne(t, pl, plan.Task{Count: 1 << 22, DType: allreduce.Float32}, allreduce.Ring, allreduce.Simple)
	ex := open(t, pl.Layout(), gpu.Options{Devices: make([]int, 16)})
	err := executortest.RunPlan(ex, p, verify.Options{}, 1)
	if err == nil {
		t.Fatal("384 blocks ran at once")
	}
	t.Log(err)
}

func TestPeers(t *testing.T) {
	needGPUs(t, 2)
	p, err := gpu.OpenPeers(gpu.Options{Driver: driver}, 256<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Measure(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *r)
	if !r.OK {
		t.Error("data arrived wrong")
	}
}

// knownRings are those that NCCL makes of well-known machines: four V100 with two
// links between each pair, a DGX-1V, and eight GPUs behind switches.
var knownRings = map[string][][]int{
	"v100x4": {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {0, 2, 1, 3}, {0, 3, 1, 2}, {0, 3, 2, 1}},
	"dgx-1v": {{0, 1, 2, 3, 7, 5, 6, 4}, {0, 4, 6, 5, 7, 3, 2, 1}, {0, 2, 6, 7, 4, 5, 1, 3}, {0, 3, 1, 5, 4, 7, 6, 2}, {0, 3, 2, 1, 5, 6, 7, 4}, {0, 4, 7, 6, 5, 1, 2, 3}},
	"switch": {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 7, 6, 5, 4, 3, 2, 1}},
}

// Every ring alone and all together, with several ranks on a GPU.
func TestKnownRings(t *testing.T) {
	needGPU(t)
	for name, rings := range knownRings {
		for only := -1; only < len(rings); only++ {
			var opts []plan.Option
			if only >= 0 {
				opts = append(opts, plan.OnChannels([]int{only}))
			}
			pl := planner(t, &allreduce.Layout{NRanks: len(rings[0]), Rings: rings, BuffSize: allreduce.DefaultBuffSize()}, opts...)
			ex := open(t, pl.Layout(), gpu.Options{})
			for _, proto := range allreduce.Protos() {
				for _, count := range []int64{1, 1000, 1 << 20} {
					p := planOne(t, pl, plan.Task{Count: count, DType: allreduce.Float32}, allreduce.Ring, proto)
					if err := executortest.RunPlan(ex, p, verify.Options{Seed: uint64(count)}, 1); err != nil {
						t.Errorf("%s ring %d %s %d: %v", name, only, proto, count, err)
					}
				}
			}
			if err := ex.Close(); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%s: %d rings alone and all together, on %d GPUs", name, len(rings), len(driver.Devices()))
	}
}
