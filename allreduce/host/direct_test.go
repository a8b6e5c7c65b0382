package host

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"pgregory.net/rapid"
)

// stretcher is a worker with inputs and outputs at hand, some elements away from
// an even place.
func stretcher(t testing.TB, work *allreduce.Work, ranks, shift int, inPlace []bool) *worker {
	t.Helper()
	l := &allreduce.Layout{NRanks: ranks, BuffSize: [3]int{16384, 16384, 16384}}
	ring := make([]int, ranks)
	for i := range ring {
		ring[i] = i
	}
	l.Rings = [][]int{ring}
	s := shape{ranks, 1}
	e := newEngine(l, newHeap(l, s))
	e.bells = newChanBells(e.ctl)
	w := newWorker(e, 0, 0, first)
	w.work = work
	w.fold = newFold(work, ranks, w.fold.scratch)
	size := int(work.Bytes())
	at := shift * work.DType.Size()
	for r := range ranks {
		in := aligned(at + size + alignment)[at:][:size:size]
		for i := range in {
			in[i] = byte(i*(2*r+3) + r)
		}
		w.inputs = append(w.inputs, in)
		if inPlace[r] {
			w.outputs = append(w.outputs, in)
		} else {
			w.outputs = append(w.outputs, aligned(at + size + alignment)[at:][:size:size])
		}
	}
	return w
}

// twoByTwo is what inputs come to when each rank's is added to those before it.
func twoByTwo(inputs [][]byte, work *allreduce.Work) []byte {
	n := len(inputs)
	own := func(in []byte) []byte {
		b := bytes.Clone(in)
		if reduce.Scales(work.DType, work.Op) {
			reduce.Scale(b, in, work.DType, n)
		}
		return b
	}
	sum := own(inputs[0])
	for _, in := range inputs[1:] {
		reduce.Reduce(sum, sum, own(in), work.DType, work.Op)
	}
	if reduce.Divides(work.DType, work.Op) {
		reduce.Divide(sum, sum, work.DType, n)
	}
	return sum
}

// A stretch comes to the same bits past the caches as within them, and as two by
// two: for all types, operations, places and lengths, in place or not.
func TestSpreadStretch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		work := &allreduce.Work{
			Count: rapid.Int64Range(1, 9000).Draw(rt, "count"),
			DType: rapid.SampledFrom(allreduce.DTypes()).Draw(rt, "type"),
			Op:    rapid.SampledFrom(allreduce.Ops()).Draw(rt, "op"),
		}
		ranks := rapid.IntRange(2, 6).Draw(rt, "ranks")
		inPlace := rapid.SliceOfN(rapid.Bool(), ranks, ranks).Draw(rt, "in place")
		w := stretcher(t, work, ranks, rapid.IntRange(0, 40).Draw(rt, "shift"), inPlace)
		want := twoByTwo(w.inputs, work)
		past := rapid.Bool().Draw(rt, "past")
		w.spreadStretch(past)
		for r, out := range w.outputs {
			if !bytes.Equal(out, want) {
				rt.Fatalf("past the caches %v: output %d of %d is wrong", past, r, ranks)
			}
		}
	})
}

// An output that an injected fault drops stays as it was, and the others do not.
func TestSpreadStretchWithoutSome(t *testing.T) {
	work := &allreduce.Work{Count: 1000, DType: allreduce.Float32}
	for _, past := range []bool{false, true} {
		w := stretcher(t, work, 3, 0, make([]bool, 3))
		want := twoByTwo(w.inputs, work)
		dropped := w.outputs[2]
		w.outputs = w.outputs[:2]
		w.spreadStretch(past)
		if !bytes.Equal(w.outputs[0], want) || !bytes.Equal(w.outputs[1], want) {
			t.Errorf("past %v: wrong outputs", past)
		}
		if !bytes.Equal(dropped, make([]byte, len(dropped))) {
			t.Errorf("past %v: the dropped output was written", past)
		}
		w.outputs = w.outputs[:0]
		w.spreadStretch(past) // nothing to write, nothing to fail
	}
}

// Messages just too large for the caches are right to the last bit, wherever
// they begin and end: with ranks in one process or several, in place or not.
func TestDirectPastTheCaches(t *testing.T) {
	if testing.Short() {
		t.Skip("moves many bytes")
	}
	for _, c := range []struct {
		algo    allreduce.Algo
		dtype   allreduce.DType
		op      allreduce.Op
		shift   int
		inPlace bool
		open    executortest.New
	}{
		{allreduce.TwoShot, allreduce.Float32, allreduce.Sum, 0, false, open},
		{allreduce.TwoShot, allreduce.Float32, allreduce.Sum, 3, true, open},
		{allreduce.TwoShot, allreduce.Float64, allreduce.Avg, 1, false, open},
		{allreduce.TwoShot, allreduce.Uint8, allreduce.Max, 5, false, open},
		{allreduce.OneShot, allreduce.BFloat16, allreduce.Sum, 1, false, open},
		{allreduce.OneShot, allreduce.Int32, allreduce.Min, 7, true, open},
		{allreduce.TwoShot, allreduce.Float32, allreduce.Sum, 3, false, openProcs},
		{allreduce.OneShot, allreduce.Int64, allreduce.Sum, 1, false, openProcs},
	} {
		name := fmt.Sprintf("%v/%v/%v/%d/%v", c.algo, c.dtype, c.op, c.shift, c.inPlace)
		t.Run(name, func(t *testing.T) {
			count := int64(streamFrom/4/c.dtype.Size() + 1001)
			pl, l := planFor(t, executortest.Config{Layout: executortest.Four(), Algo: c.algo, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: count, DType: c.dtype, Op: c.op}}})
			x, err := c.open(l)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			trial, err := verify.NewTrial(x, pl, verify.Options{InPlace: c.inPlace, Shift: c.shift})
			if err == nil {
				err = trial.Fill()
			}
			if err == nil {
				_, err = trial.Run(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
			if found, err := trial.Check(); err != nil || !found.OK() {
				t.Errorf("%+v, error %v", found, err)
			}
		})
	}
}
