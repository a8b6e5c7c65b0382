package host

import (
	"context"
	"fmt"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// every goes through what the executor runs.
func every(f func(allreduce.Algo, allreduce.Proto)) {
	for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.Tree} {
		for _, p := range allreduce.Protos() {
			f(a, p)
		}
	}
	f(allreduce.OneShot, allreduce.Simple)
	f(allreduce.TwoShot, allreduce.Simple)
}

func TestRunAllocatesNothing(t *testing.T) {
	every(func(a allreduce.Algo, p allreduce.Proto) {
		for _, op := range []allreduce.Op{allreduce.Sum, allreduce.Avg} {
			c := executortest.Config{Layout: executortest.Four(), Algo: a, Proto: p,
				Tasks: []plan.Task{{Count: 20000, DType: allreduce.Float32, Op: op}, {Count: 5, DType: allreduce.Int8, Op: op}}}
			pl, layout := planFor(t, c)
			x, err := New(layout, Options{})
			if err != nil {
				t.Fatal(err)
			}
			trial, err := verify.NewTrial(x, pl, verify.Options{})
			if err != nil {
				t.Fatal(err)
			}
			run := func() {
				if _, err := trial.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			if n := testing.AllocsPerRun(20, run); n != 0 {
				t.Errorf("%v/%v %v: %v allocations per run", a, p, op, n)
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Far more workers than processors come to an end, quickly.
func TestManyWorkers(t *testing.T) {
	l := &allreduce.Layout{NRanks: 16, BuffSize: [3]int{65536, 76800, 65536}}
	for c := range 32 {
		var ring []int
		for i := range 16 {
			ring = append(ring, i*(2*(c%8)+1)%16)
		}
		l.Rings = append(l.Rings, ring)
	}
	for _, p := range allreduce.Protos() {
		c := executortest.Config{Layout: l, Algo: allreduce.Ring, Proto: p, Tasks: []plan.Task{{Count: 1_000_003, DType: allreduce.Int32}}}
		c.Check(t, open, 2)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, size := range []int64{1 << 10, 64 << 10, 4 << 20, 64 << 20} {
		every(func(a allreduce.Algo, p allreduce.Proto) {
			b.Run(fmt.Sprintf("%v/%v/%d", a, p, size), func(b *testing.B) { benchmark(b, a, p, size, open) })
		})
	}
}

func BenchmarkRunWithProcesses(b *testing.B) {
	for _, size := range []int64{1 << 10, 64 << 10, 4 << 20, 64 << 20} {
		for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.TwoShot} {
			b.Run(fmt.Sprintf("%v/%d", a, size), func(b *testing.B) { benchmark(b, a, allreduce.Simple, size, openProcs) })
		}
	}
}

// benchmark times float32 sums over four ranks with default buffers; bytes per
// second are the message's.
func benchmark(b *testing.B, a allreduce.Algo, p allreduce.Proto, size int64, open executortest.New) {
	l := executortest.Four()
	l.BuffSize = allreduce.DefaultBuffSize()
	pl, layout := planFor(b, executortest.Config{Layout: l, Algo: a, Proto: p, Tasks: []plan.Task{{Count: size / 4, DType: allreduce.Float32}}})
	x, err := open(layout)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, pl, verify.Options{Pattern: verify.Ones})
	if err != nil {
		b.Fatal(err)
	}
	if err := trial.Fill(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, err := trial.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
