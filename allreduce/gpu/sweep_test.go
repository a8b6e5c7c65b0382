package gpu_test

import (
	"cmp"
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
	buffer   int // of Simple; 0: the default
	threads  int // of a block that copy; 0: as planned
}

// TestSweep measures. It runs where RINGTOPO_SWEEP names the sweeps: ring,
// direct, or both with a comma between.
func TestSweep(t *testing.T) {
	wanted := os.Getenv("RINGTOPO_SWEEP")
	if wanted == "" {
		t.Skip("RINGTOPO_SWEEP is not set")
	}
	needGPUs(t, 2)
	defer keepContexts(t)()
	var rows []sweep
	if strings.Contains(wanted, "ring") {
		rows = append(rows,
			sweep{algo: allreduce.Ring, proto: allreduce.LL, from: 8, to: 16 << 20, factor: 8, channels: 24, options: gpu.Options{}, label: ""},
			sweep{algo: allreduce.Ring, proto: allreduce.LL128, from: 8, to: 512 << 20, factor: 8, channels: 24, options: gpu.Options{}, label: ""},
			sweep{algo: allreduce.Ring, proto: allreduce.Simple, from: 8, to: 1 << 30, factor: 8, channels: 24, options: gpu.Options{}, label: ""},
			sweep{algo: allreduce.Ring, proto: allreduce.Simple, from: 1 << 20, to: 256 << 20, factor: 16, channels: 24, options: gpu.Options{NoDirect: true}, label: "fifo"})
	}
	if strings.Contains(wanted, "direct") {
		rows = append(rows, directRows()...)
	}
	if strings.Contains(wanted, "tune") {
		rows = append(rows, tuningRows()...)
	}
	if strings.Contains(wanted, "blocks") { // how many blocks fill the link
		for _, blocks := range []int{12, 24, 32, 48, 128} {
			o := gpu.Options{Direct: gpu.DirectTuning{Blocks: blocks}}
			rows = append(rows, sweep{algo: allreduce.TwoShot, proto: allreduce.Simple, from: 256 << 20, to: 256 << 20, factor: 2, channels: 1, options: o, label: fmt.Sprintf("%d blocks", blocks)})
		}
	}
	if strings.Contains(wanted, "variant") { // of kernels built for a comparison
		rows = append(append(rows, variantRows(1)...), variantRows(3)...)
	}
	if strings.Contains(wanted, "curves") {
		rows = append(rows, curves()...)
	}
	t.Logf("%-8s %-7s %12s %10s %10s %10s", "algo", "proto", "bytes", "us", "GB/s", "host us")
	for _, r := range rows {
		for bytes := r.from; bytes <= r.to; bytes *= r.factor {
			measure(t, r, bytes)
		}
	}
}

// directRows are the algorithms without a ring as they are by default.
func directRows() []sweep {
	loads := gpu.Options{Direct: gpu.DirectTuning{Loads: true}}
	return []sweep{
		{algo: allreduce.OneShot, proto: allreduce.LL, from: 8, to: 512 << 10, factor: 2, channels: 1},
		{algo: allreduce.OneShot, proto: allreduce.LL128, from: 4 << 10, to: 64 << 20, factor: 2, channels: 1},
		{algo: allreduce.TwoShot, proto: allreduce.LL128, from: 64 << 10, to: 32 << 20, factor: 2, channels: 1},
		{algo: allreduce.TwoShot, proto: allreduce.Simple, from: 128 << 10, to: 1 << 30, factor: 2, channels: 1},
		{algo: allreduce.TwoShot, proto: allreduce.Simple, from: 128 << 10, to: 1 << 30, factor: 4, channels: 1, options: loads, label: "by loads"},
	}
}

// variantRows are repeated: where memory comes to lie makes up to 6 % at 1 GiB.
func variantRows(spread int) []sweep {
	rows := variantsOf()
	for i := range rows {
		rows[i].options.Spread = spread
		rows[i].label = fmt.Sprintf("spread %d", spread)
	}
	return rows
}

func variantsOf() []sweep {
	large := sweep{algo: allreduce.Ring, proto: allreduce.Simple, from: 1 << 30, to: 1 << 30, factor: 2, channels: 24}
	return []sweep{
		{algo: allreduce.Ring, proto: allreduce.LL, from: 64 << 10, to: 16 << 20, factor: 4, channels: 24},
		{algo: allreduce.Ring, proto: allreduce.LL, from: 8 << 20, to: 8 << 20, factor: 4, channels: 24},
		{algo: allreduce.Ring, proto: allreduce.LL128, from: 2 << 20, to: 128 << 20, factor: 8, channels: 24},
		{algo: allreduce.Ring, proto: allreduce.Simple, from: 16 << 20, to: 256 << 20, factor: 4, channels: 24},
		large, large, large,
	}
}

// tuningRows vary blocks and threads where it matters.
func tuningRows() (rows []sweep) {
	for _, blocks := range []int{32, 64, 96, 128} {
		for _, threads := range []int{0, 256, 512} {
			o := gpu.Options{Direct: gpu.DirectTuning{Blocks: blocks, Threads: threads}}
			rows = append(rows, sweep{algo: allreduce.OneShot, proto: allreduce.LL128, from: 128 << 10, to: 8 << 20, factor: 2, channels: 1, options: o, label: fmt.Sprintf("%d blocks", blocks)})
		}
	}
	for _, threads := range []int{128, 256, 512} {
		o := gpu.Options{Direct: gpu.DirectTuning{Threads: threads}}
		rows = append(rows, sweep{algo: allreduce.OneShot, proto: allreduce.LL, from: 2 << 10, to: 64 << 10, factor: 2, channels: 1, options: o})
	}
	for _, blocks := range []int{48, 96} {
		o := gpu.Options{Direct: gpu.DirectTuning{Blocks: blocks}}
		rows = append(rows, sweep{algo: allreduce.TwoShot, proto: allreduce.Simple, from: 4 << 20, to: 16 << 20, factor: 2, channels: 1, options: o, label: fmt.Sprintf("%d blocks", blocks)})
	}
	return rows
}

// curves are the known experiments: channels, buffers, threads.
func curves() (rows []sweep) {
	for _, channels := range []int{1, 2, 4, 8, 12, 24} {
		for proto, most := range map[allreduce.Proto]int64{allreduce.LL: 16 << 20, allreduce.LL128: 256 << 20, allreduce.Simple: 256 << 20} {
			rows = append(rows, sweep{algo: allreduce.Ring, proto: proto, from: 64 << 10, to: most, factor: 16, channels: channels})
		}
	}
	for _, kib := range []int{64, 256, 1024, 4096, 16384} {
		rows = append(rows, sweep{algo: allreduce.Ring, proto: allreduce.Simple, from: 16 << 20, to: 256 << 20, factor: 16, channels: 24,
			buffer: kib << 10, label: fmt.Sprintf("buffer %d KiB", kib)})
	}
	for _, threads := range []int{64, 128, 256, 512} {
		rows = append(rows, sweep{algo: allreduce.Ring, proto: allreduce.Simple, from: 16 << 20, to: 256 << 20, factor: 16, channels: 24, threads: threads})
	}
	return rows
}

// keepContexts holds the GPUs' contexts, which would be made anew for each row.
func keepContexts(t *testing.T) func() {
	t.Helper()
	ex := open(t, planner(t, layout(2, 1)).Layout(), gpu.Options{})
	return func() {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}

// reshape gives the blocks of a plan another size.
func reshape(p *allreduce.Plan, threads int) {
	if threads > 0 {
		p.Threads = threads + 32 // a warp that posts
		p.Works[0].Threads = p.Threads
	}
}

// measure replays one message by graphs, and checks the bits before and after.
func measure(t *testing.T, r sweep, bytes int64) {
	t.Helper()
	l := layout(2, r.channels)
	if r.buffer > 0 {
		l.BuffSize[allreduce.Simple] = r.buffer
	}
	pl := planner(t, l)
	p := planOne(t, pl, plan.Task{Count: bytes / 4, DType: allreduce.Float32}, r.algo, r.proto)
	reshape(p, r.threads)
	ex := open(t, pl.Layout(), r.options)
	defer ex.Close()
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
	if _, err := trial.Run(context.Background()); err != nil { // blocks record themselves
		t.Fatal(err)
	}
	t.Logf("%-8s %-7s %12d %10.2f %10.1f %10.2f  stream %.2f us  %s", r.algo, r.proto, bytes, us(best.Device), allreduce.BusBW(2, bytes, us(best.Device)),
		us(stream.Host), us(stream.Device), describe(ex, p, r))
}

func describe(ex *gpu.Executor, p *allreduce.Plan, r sweep) string {
	return fmt.Sprintf("%d channels of %d threads %s %s", len(p.Channels()), p.Threads, r.label, spread(ex.Blocks()))
}

// spread says how long the quickest, the middle and the slowest block took.
func spread(blocks []allreduce.Block) string {
	if len(blocks) == 0 {
		return ""
	}
	slices.SortFunc(blocks, func(a, b allreduce.Block) int { return cmp.Compare(a.Took, b.Took) })
	n := len(blocks)
	return fmt.Sprintf("blocks %.0f, %.0f, %.0f us", us(blocks[0].Took), us(blocks[n/2].Took), us(blocks[n-1].Took))
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

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
