package gpu_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// sweep is a row of measurements: an algorithm with a protocol, over sizes.
type sweep struct {
	algo     allreduce.Algo
	proto    allreduce.Proto
	from, to int64 // bytes
	factor   int64
	channels int
	options  gpu.Options
	label    string
}

// TestSweep measures. It runs where RINGTOPO_SWEEP names the sweeps: ring,
// direct, or both with a comma between.
func TestSweep(t *testing.T) {
	wanted := os.Getenv("RINGTOPO_SWEEP")
	if wanted == "" {
		t.Skip("RINGTOPO_SWEEP is not set")
	}
	needGPUs(t, 2)
	var rows []sweep
	if strings.Contains(wanted, "ring") {
		rows = append(rows,
			sweep{allreduce.Ring, allreduce.LL, 8, 16 << 20, 8, 24, gpu.Options{}, ""},
			sweep{allreduce.Ring, allreduce.LL128, 8, 512 << 20, 8, 24, gpu.Options{}, ""},
			sweep{allreduce.Ring, allreduce.Simple, 8, 1 << 30, 8, 24, gpu.Options{}, ""},
			sweep{allreduce.Ring, allreduce.Simple, 1 << 20, 256 << 20, 16, 24, gpu.Options{NoDirect: true}, "fifo"})
	}
	if strings.Contains(wanted, "direct") {
		rows = append(rows,
			sweep{allreduce.OneShot, allreduce.LL, 8, 512 << 10, 2, 1, gpu.Options{}, ""},
			sweep{allreduce.TwoShot, allreduce.Simple, 128 << 10, 1 << 30, 2, 1, gpu.Options{}, ""})
	}
	if strings.Contains(wanted, "tune") {
		for _, threads := range []int{128, 256, 384, 512} {
			o := gpu.Options{Direct: gpu.DirectTuning{Threads: threads}}
			rows = append(rows, sweep{allreduce.OneShot, allreduce.LL, 2 << 10, 64 << 10, 2, 1, o, fmt.Sprintf("%d threads", threads)})
		}
		for _, blocks := range []int{48, 64, 96} {
			o := gpu.Options{Direct: gpu.DirectTuning{Blocks: blocks}}
			rows = append(rows, sweep{allreduce.TwoShot, allreduce.Simple, 1 << 20, 4 << 20, 2, 1, o, fmt.Sprintf("%d blocks", blocks)})
		}
	}
	if strings.Contains(wanted, "simple") {
		rows = append(rows, sweep{allreduce.Ring, allreduce.Simple, 16 << 20, 1 << 30, 8, 24, gpu.Options{}, "variant"})
	}
	t.Logf("%-8s %-7s %12s %10s %10s %10s", "algo", "proto", "bytes", "us", "GB/s", "host us")
	for _, r := range rows {
		for bytes := r.from; bytes <= r.to; bytes *= r.factor {
			measure(t, r, bytes)
		}
	}
}

// measure replays one message by graphs, and checks the bits before and after.
func measure(t *testing.T, r sweep, bytes int64) {
	t.Helper()
	pl := planner(t, layout(2, r.channels))
	p := planOne(t, pl, plan.Task{Count: bytes / 4, DType: allreduce.Float32}, r.algo, r.proto)
	ex := open(t, pl.Layout(), r.options)
	trial, err := verify.NewTrial(ex, p, verify.Options{Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	check := func(when string) {
		if res, err := trial.Check(); err != nil || !res.OK() {
			t.Errorf("%s %s %d bytes, %s: %v, %d wrong, first %v", r.algo, r.proto, bytes, when, err, res.Wrong, res.First)
		}
	}
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatalf("%s %s %d bytes: %v", r.algo, r.proto, bytes, err)
	}
	check("first run")
	best, stream := pace(t, ex, p, trial, bytes)
	check("after replays")
	us := float64(best.Device.Nanoseconds()) / 1e3
	t.Logf("%-8s %-7s %12d %10.2f %10.1f %10.2f  stream %.2f us  %s", r.algo, r.proto, bytes, us, allreduce.BusBW(2, bytes, us),
		float64(stream.Host.Nanoseconds())/1e3, float64(stream.Device.Nanoseconds())/1e3, describe(p, r))
}

func describe(p *allreduce.Plan, r sweep) string {
	return fmt.Sprintf("%d channels of %d threads %s", len(p.Channels()), p.Threads, r.label)
}

// pace is the median of five rounds by graph, and of five by single launches.
func pace(t *testing.T, ex *gpu.Executor, p *allreduce.Plan, trial *verify.Trial, bytes int64) (graph, stream gpu.Pace) {
	t.Helper()
	median := func(asGraph bool) gpu.Pace {
		const times = 10
		replay, err := ex.Capture(p, trial.Args(), times, asGraph)
		if err != nil {
			t.Fatal(err)
		}
		defer replay.Close()
		n := int(max(1, min(100, (256<<20)/max(bytes, 1))))
		var list []gpu.Pace
		for range 5 {
			x, err := replay.Run(context.Background(), n)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
		}
		slices.SortFunc(list, func(a, b gpu.Pace) int { return int(a.Device - b.Device) })
		return list[2]
	}
	return median(true), median(false)
}

// TestStartup measures the time to a first result.
func TestStartup(t *testing.T) {
	needGPU(t)
	pl := planner(t, layout(2, 4))
	p := planOne(t, pl, plan.Task{Count: 1000, DType: allreduce.Float32}, allreduce.Ring, allreduce.LL)
	begin := time.Now()
	ex := open(t, pl.Layout(), gpu.Options{})
	opened := time.Since(begin)
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if err := trial.Fill(); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := time.Since(begin)
	begin = time.Now()
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("open with contexts and proof %v, first run with compilation %v, second run %v", opened, first, time.Since(begin))
}
