package gpu_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// large is one large message: a type and an operation, by an algorithm.
type large struct {
	way
	task    plan.Task
	inPlace bool
}

// largeMessages are of every type with sum and one other operation, by all
// algorithms and protocols in turn, and float32 by each of them.
func largeMessages(ways []way, bytes int64) (list []large) {
	task := func(d allreduce.DType, op allreduce.Op) plan.Task {
		return plan.Task{Count: bytes / int64(d.Size()), DType: d, Op: op}
	}
	for _, w := range ways {
		list = append(list, large{w, task(allreduce.Float32, allreduce.Sum), false})
	}
	for i, d := range allreduce.DTypes() {
		other := allreduce.Op(1 + i%(allreduce.NumOps-1))
		for k, op := range []allreduce.Op{allreduce.Sum, other} {
			list = append(list, large{ways[(2*i+k)%len(ways)], task(d, op), (i+k)%2 == 1})
		}
	}
	return list
}

// TestLarge sends messages of 1 GiB (RINGTOPO_LARGE MiB) and looks at every bit.
func TestLarge(t *testing.T) {
	needGPU(t)
	begin := time.Now()
	bytes := int64(number("RINGTOPO_LARGE", 1024)) << 20
	pl := planner(t, layout(max(2, len(driver.Devices())), 16))
	ex := open(t, pl.Layout(), gpu.Options{})
	list := largeMessages(runnable(ex), bytes)
	t.Logf("| algorithm | type | operation | bytes | in place | run ms | with check s |\n|---|---|---|---|---|---|---|")
	for i, m := range list {
		if late(t) {
			t.Fatalf("time is up after %d of %d", i, len(list))
		}
		start := time.Now()
		took, err := sendLarge(ex, planOne(t, pl, m.task, m.algo, m.proto), verify.Options{Seed: uint64(i), InPlace: m.inPlace})
		if err != nil {
			t.Fatalf("%v %v: %v", m.way, m.task, err)
		}
		t.Logf("| %v | %v | %v | %d | %v | %.2f | %.2f |", m.way, m.task.DType, m.task.Op, m.task.Bytes(), m.inPlace, took.Seconds()*1e3, time.Since(start).Seconds())
	}
	t.Logf("%d messages, every bit right, in %v", len(list), time.Since(begin).Round(time.Second))
}

// sendLarge sends one message once, and gives the time of the run.
func sendLarge(ex *gpu.Executor, p *allreduce.Plan, o verify.Options) (time.Duration, error) {
	trial, err := verify.NewTrial(ex, p, o)
	if err != nil {
		return 0, err
	}
	defer trial.Close()
	if err := trial.Fill(); err != nil {
		return 0, err
	}
	timing, err := trial.Run(context.Background())
	if err != nil {
		return 0, err
	}
	r, err := trial.Check()
	if err == nil && !r.OK() {
		err = fmt.Errorf("%d wrong, the first: %v", r.Wrong, r.First)
	}
	return timing.Elapsed, err
}

// soakTrials are messages of mixed sizes and types by all that an executor runs.
// The same numbers make the same ones in every process.
func soakTrials(ex *gpu.Executor, pl *plan.Planner, rnd *rand.Rand, n int) (list []*verify.Trial, err error) {
	ways := runnable(ex)
	for i := range n {
		w := ways[i%len(ways)]
		task := plan.Task{Count: 1 + rnd.Int64N(1<<rnd.IntN(19)), DType: allreduce.DType(i % allreduce.NumDTypes), Op: allreduce.Op(i % allreduce.NumOps)}
		launches, err := pl.Plan([]plan.Task{task}, plan.Force{Algo: &w.algo, Proto: &w.proto})
		if err != nil {
			return list, err
		}
		trial, err := verify.NewTrial(ex, launches[0].Plan, verify.Options{Seed: uint64(i)})
		if err != nil {
			return list, err
		}
		list = append(list, trial)
		if err := proveTrial(context.Background(), trial); err != nil {
			return list, fmt.Errorf("%v %v: %w", w, task, err)
		}
	}
	return list, nil
}

// soakEvery is how many calls go by between two that have new data and are
// looked at.
const soakEvery = 20

// soak runs calls of mixed sizes back to back without a pause, and says five times
// how far it is.
func soak(ctx context.Context, trials []*verify.Trial, rnd *rand.Rand, calls int, say func(format string, args ...any)) error {
	begin := time.Now()
	for i := range calls {
		if i > 0 && i%max(calls/5, 1) == 0 {
			say("%d of %d calls after %v", i, calls, time.Since(begin).Round(time.Millisecond))
		}
		k := rnd.IntN(len(trials))
		var err error
		if i%soakEvery == soakEvery-1 {
			err = proveTrial(ctx, trials[k])
		} else {
			_, err = trials[k].Run(ctx)
		}
		if err != nil {
			return fmt.Errorf("call %d, message %d: %w", i, k, err)
		}
	}
	for k, trial := range trials {
		if err := proveTrial(ctx, trial); err != nil {
			return fmt.Errorf("after %d calls, message %d: %w", calls, k, err)
		}
	}
	return nil
}

// TestSoak runs RINGTOPO_SOAK calls of all algorithms.
func TestSoak(t *testing.T) {
	needGPU(t)
	pl := planner(t, layout(max(2, len(driver.Devices())), 4))
	ex := open(t, pl.Layout(), gpu.Options{})
	rnd := rand.New(rand.NewPCG(7, 7))
	trials, err := soakTrials(ex, pl, rnd, 30)
	defer func() {
		for _, trial := range trials {
			_ = trial.Close() // the executor's end frees what is left
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	begin, calls := time.Now(), number("RINGTOPO_SOAK", 500)
	if err := soak(context.Background(), trials, rnd, calls, t.Logf); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls of %d messages by %v in %v, every %dth with new data and checked, all right", calls, len(trials), runnable(ex), time.Since(begin).Round(time.Millisecond), soakEvery)
}

// Every type has sum and one more operation, and every algorithm float32.
func TestLargeMessagesCoverTypes(t *testing.T) {
	ways := []way{{allreduce.Ring, allreduce.LL}, {allreduce.Ring, allreduce.Simple}, {allreduce.TwoShot, allreduce.Simple}}
	types, ops, float := map[allreduce.DType]int{}, map[allreduce.Op]int{}, map[way]bool{}
	for _, m := range largeMessages(ways, 1<<20) {
		types[m.task.DType]++
		ops[m.task.Op]++
		if m.task.DType == allreduce.Float32 && m.task.Op == allreduce.Sum {
			float[m.way] = true
		}
		if m.task.Bytes() != 1<<20 {
			t.Errorf("%d bytes", m.task.Bytes())
		}
	}
	if len(types) != allreduce.NumDTypes || len(ops) != allreduce.NumOps || len(float) != len(ways) {
		t.Errorf("%d types, %d operations, float32 by %d of %d", len(types), len(ops), len(float), len(ways))
	}
}
