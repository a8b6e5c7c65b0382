package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// number reads a whole number from the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// holdContexts holds all GPUs' contexts to the end of a test, so that executors
// that come and go need not make them anew.
func holdContexts(t testing.TB) {
	t.Helper()
	for _, d := range driver.Devices() {
		c, err := d.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // it only releases
	}
}

// way is an algorithm with a protocol.
type way struct {
	algo  allreduce.Algo
	proto allreduce.Proto
}

func (w way) String() string { return w.algo.String() + "/" + w.proto.String() }

// runnable lists what an executor runs.
func runnable(ex allreduce.Executor) (list []way) {
	for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.OneShot, allreduce.TwoShot} {
		for _, p := range allreduce.Protos() {
			if ex.Can(a, p) == nil {
				list = append(list, way{a, p})
			}
		}
	}
	return list
}

// tally counts configurations by what they have.
type tally map[string]map[string]int

func (y tally) add(axis string, value any) {
	if y[axis] == nil {
		y[axis] = map[string]int{}
	}
	y[axis][fmt.Sprint(value)]++
}

// table is the tally in Markdown.
func (y tally) table() string {
	var b strings.Builder
	b.WriteString("\n| of | configurations |\n|---|---|\n")
	for _, axis := range slices.Sorted(maps.Keys(y)) {
		var cells []string
		for _, v := range slices.Sorted(maps.Keys(y[axis])) {
			cells = append(cells, fmt.Sprintf("%s: %d", v, y[axis][v]))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", axis, strings.Join(cells, ", "))
	}
	return b.String()
}

// setting is a layout with its ranks on GPUs; many messages are sent on it.
type setting struct {
	layout *allreduce.Layout
	types  []allreduce.DType // a few, since each is compiled for each executor
	gpu.Options
	prove func(context.Context, *verify.Trial) error
}

// drawSetting makes rings, buffers, and a placement on one GPU or several.
func drawSetting(rnd *rand.Rand, drv *cuda.Driver) setting {
	ranks := []int{1, 2, 4, 8, 2, 4, 8, 1 + rnd.IntN(8)}[rnd.IntN(8)]
	l := &allreduce.Layout{NRanks: ranks, BuffSize: allreduce.DefaultBuffSize()}
	shrink := rnd.IntN(7)
	for p := range l.BuffSize {
		l.BuffSize[p] >>= shrink
	}
	for range 1 + rnd.IntN(8) {
		l.Rings = append(l.Rings, append([]int{0}, addOne(rnd.Perm(ranks-1))...))
	}
	s := setting{layout: l, prove: proveTrial, Options: gpu.Options{Driver: drv, Limit: 2 * time.Second, NoDirect: rnd.IntN(4) == 0, NoP2P: rnd.IntN(8) == 0}}
	for _, d := range rnd.Perm(allreduce.NumDTypes)[:4] {
		s.types = append(s.types, allreduce.DType(d))
	}
	gpus := len(drv.Devices())
	used := min(gpus, ranks)
	if rnd.IntN(3) == 0 {
		used = 1 + rnd.IntN(used)
	}
	first, scattered := rnd.IntN(gpus), rnd.IntN(3) == 0
	for r := range ranks {
		k := r * used / ranks
		if scattered {
			k = rnd.IntN(used)
		}
		s.Devices = append(s.Devices, (first+k)%gpus)
	}
	return s
}

func addOne(list []int) []int {
	for i := range list {
		list[i]++
	}
	return list
}

// gpusUsed is how many GPUs the ranks are on.
func (s *setting) gpusUsed() int {
	list := slices.Clone(s.Devices)
	slices.Sort(list)
	return len(slices.Compact(list))
}

// mostDrawn is the size of the largest message that is drawn.
const mostDrawn = 4 << 20

// drawMessage makes a group of messages on some of a setting's channels, and
// what is done with them.
func (s *setting) drawMessage(rnd *rand.Rand, ways []way) (way, []plan.Task, []int, verify.Options) {
	w := ways[rnd.IntN(len(ways))]
	if w.algo != allreduce.Ring && rnd.IntN(2) == 0 {
		w = ways[rnd.IntN(len(ways))] // rings are what the project is about
	}
	var tasks []plan.Task
	for range []int{1, 1, 1, 2, 4}[rnd.IntN(5)] {
		d := s.types[rnd.IntN(len(s.types))]
		most := rnd.Int64N(mostDrawn/int64(d.Size())) >> rnd.IntN(20) // as many small ones as large ones
		tasks = append(tasks, plan.Task{Count: 1 + rnd.Int64N(most+1), DType: d, Op: allreduce.Op(rnd.IntN(allreduce.NumOps))})
	}
	channels := rnd.Perm(s.layout.Channels())[:1+rnd.IntN(s.layout.Channels())]
	slices.Sort(channels)
	return w, tasks, channels, verify.Options{Pattern: verify.Patterns()[max(0, rnd.IntN(6)-2)], Seed: rnd.Uint64(),
		InPlace: rnd.IntN(2) == 0, Shift: rnd.IntN(4)}
}

// TestRandom sends RINGTOPO_RANDOM random messages on random rings of 1 to 8
// ranks on one and more GPUs, each twice with new data, and wants every bit
// right. RINGTOPO_SEED draws others.
func TestRandom(t *testing.T) {
	needGPU(t)
	holdContexts(t)
	const perSetting = 60
	wanted, seed := number("RINGTOPO_RANDOM", 200), number("RINGTOPO_SEED", 1)
	rnd := rand.New(rand.NewPCG(uint64(seed), 5))
	counts, done, failures, begin := tally{}, 0, 0, time.Now()
	for done < wanted && failures < 5 && !late(t) {
		s := drawSetting(rnd, driver)
		t.Logf("%4d after %v: %d ranks on GPUs %v, %d rings, %v", done, time.Since(begin).Round(100*time.Millisecond), s.layout.NRanks, s.Devices, s.layout.Channels(), s.types)
		n, err := s.sendSome(rnd, min(perSetting, wanted-done), counts)
		done += n
		if err != nil {
			failures++
			t.Errorf("seed %d, after %d: %d ranks on GPUs %v, rings %v, no direct %v, no P2P %v: %v", seed, done, s.layout.NRanks, s.Devices, s.layout.Rings, s.NoDirect, s.NoP2P, err)
		}
	}
	t.Logf("%d configurations in %v, each with new data twice, %d failed; seed %d\n%s", done, time.Since(begin).Round(time.Second), failures, seed, counts.table())
	if done < wanted && failures == 0 {
		t.Errorf("time is up after %d of %d", done, wanted)
	}
}

// late says that the test's time is all but up.
func late(t *testing.T) bool {
	end, ok := t.Deadline()
	return ok && time.Until(end) < 8*time.Second
}

// sendSome opens a setting's executor and sends messages until one is wrong.
func (s *setting) sendSome(rnd *rand.Rand, n int, counts tally) (done int, err error) {
	pl, err := plan.New(plan.Nominal(s.layout), s.settings())
	if err != nil {
		return 0, err
	}
	ex, err := gpu.New(pl.Layout(), s.Options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, ex.Close()) }()
	ways := runnable(ex)
	for ; done < n; done++ {
		w, tasks, channels, o := s.drawMessage(rnd, ways)
		if err := s.send(ex, w, tasks, channels, o); err != nil {
			return done, fmt.Errorf("%v of %v on channels %v, %+v: %w", w, tasks, channels, o, err)
		}
		for axis, value := range map[string]any{"algorithm and protocol": w, "ranks": s.layout.NRanks, "GPUs": s.gpusUsed(), "pattern": o.Pattern,
			"in place": o.InPlace, "shift": o.Shift, "messages in the launch": len(tasks), "type of the first": tasks[0].DType, "operation of the first": tasks[0].Op,
			"bytes of the first, up to": roundUp(tasks[0].Bytes()), "through host memory": s.NoP2P && s.gpusUsed() > 1, "active channels": len(channels)} {
			counts.add(axis, value)
		}
	}
	return done, nil
}

// roundUp is a size's class: the next power of 16.
func roundUp(n int64) string {
	class := int64(16)
	for class < n {
		class *= 16
	}
	return fmt.Sprintf("%8d", class)
}

func (s *setting) settings() plan.Settings {
	p := plan.DefaultSettings()
	p.BuffSize = s.layout.BuffSize
	return p
}

// send runs one group of messages twice and looks at all data.
func (s *setting) send(ex *gpu.Executor, w way, tasks []plan.Task, channels []int, o verify.Options) error {
	pl, err := plan.New(plan.Nominal(s.layout), s.settings(), plan.OnChannels(channels))
	if err != nil {
		return err
	}
	launches, err := pl.Plan(tasks, plan.Force{Algo: &w.algo, Proto: &w.proto})
	if err != nil {
		return err
	}
	for _, l := range launches {
		l.Plan.Layout = ex.Layout() // alike, but its own
		if err := s.sendPlan(ex, l.Plan, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *setting) sendPlan(ex *gpu.Executor, p *allreduce.Plan, o verify.Options) (err error) {
	trial, err := verify.NewTrial(ex, p, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trial.Close()) }()
	for range 2 {
		if err := s.prove(context.Background(), trial); err != nil {
			return err
		}
	}
	return nil
}

// proveTrial sends new data once, and wants every bit right.
func proveTrial(ctx context.Context, trial *verify.Trial) error {
	if err := trial.Fill(); err != nil {
		return err
	}
	if _, err := trial.Run(ctx); err != nil {
		return err
	}
	r, err := trial.Check()
	if err == nil && !r.OK() {
		err = fmt.Errorf("%d wrong, the first: %v", r.Wrong, r.First)
	}
	return err
}

// Whatever is drawn can be launched, on one fake GPU and on two: what goes wrong
// on hardware is then the kernels'.
func TestDrawnMessagesLaunch(t *testing.T) {
	for _, gpus := range []int{1, 2} {
		fake := cudafake.New(gpus)
		drv, err := cuda.New(fake.API())
		if err != nil {
			t.Fatal(err)
		}
		rnd, counts := rand.New(rand.NewPCG(1, 5)), tally{}
		for range 8 {
			s := drawSetting(rnd, drv)
			for p := range s.layout.BuffSize { // the fake's memory is this test's time
				s.layout.BuffSize[p] = min(s.layout.BuffSize[p], 256<<10)
			}
			s.prove = func(ctx context.Context, trial *verify.Trial) error {
				_, err := trial.Run(ctx)
				return err
			}
			if n, err := s.sendSome(rnd, 8, counts); n != 8 || err != nil {
				t.Fatalf("%d GPUs, %d ranks on %v: %d sent, %v", gpus, s.layout.NRanks, s.Devices, n, err)
			}
		}
		if left := fake.Live(); left > 0 {
			t.Errorf("%d allocations left", left)
		}
		if len(counts["ranks"]) < 3 || len(counts["algorithm and protocol"]) < 6 || len(counts["GPUs"]) != gpus {
			t.Errorf("little variety on %d GPUs:\n%s", gpus, counts.table())
		}
	}
}
