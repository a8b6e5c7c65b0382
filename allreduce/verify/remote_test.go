package verify_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// settable gives out buffers that can be filled where they lie, as a GPU's can.
type settable struct {
	*executortest.Serial
	set, written atomic.Int64 // bytes
}

type settableBuffer struct {
	allreduce.Buffer
	owner *settable
}

func (s *settable) Alloc(rank int, size int64) (allreduce.Buffer, error) {
	b, err := s.Serial.Alloc(rank, size)
	return &settableBuffer{b, s}, err
}

func (b *settableBuffer) Write(src []byte, off int64) error {
	b.owner.written.Add(int64(len(src)))
	return b.Buffer.Write(src, off)
}

func (b *settableBuffer) Set(v byte, off, n int64) error {
	b.owner.set.Add(n)
	return b.Buffer.Write([]byte(strings.Repeat(string([]byte{v}), int(n))), off)
}

// Run gives the buffers inside to the executor inside.
func (s *settable) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	inner := make([]allreduce.Args, len(args))
	bare := func(spans []allreduce.Span) (out []allreduce.Span) {
		for _, x := range spans {
			out = append(out, allreduce.Span{Buf: x.Buf.(*settableBuffer).Buffer, Off: x.Off})
		}
		return out
	}
	for i, a := range args {
		inner[i] = allreduce.Args{Send: bare(a.Send), Recv: bare(a.Recv)}
	}
	return s.Serial.Run(ctx, p, inner)
}

// Messages of several stretches, looked at by many at once, are right to the
// last bit; one wrong bit anywhere is found and placed.
func TestLargeMessages(t *testing.T) {
	before := runtime.GOMAXPROCS(6)
	defer runtime.GOMAXPROCS(before)
	const count = 5<<17 + 3 // of float64: five stretches and a rest
	p := planOn(t, []int{0, 2}, allreduce.Ring, plan.Task{Count: count, DType: allreduce.Float64})
	serial, err := executortest.NewSerial(p.Layout)
	if err != nil {
		t.Fatal(err)
	}
	ex := &settable{Serial: serial}
	trial, err := verify.NewTrial(ex, p, verify.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	for _, pattern := range verify.Patterns() {
		trial.Use(pattern)
		if err := trial.Fill(); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, err := trial.Check(); err != nil || !r.OK() {
			t.Fatalf("%v: %v, %d wrong, first %v", pattern, err, r.Wrong, r.First)
		}
	}
	if set := ex.set.Load(); set < 4*4*8*count {
		t.Errorf("%d bytes set in place, want all outputs of four ranks and rounds", set)
	}
	if most := int64(4 * 4 * 8 * count); ex.written.Load() > most {
		t.Errorf("%d bytes sent, want inputs only: %d", ex.written.Load(), most)
	}
	for _, at := range []int64{0, 1<<17 - 1, 1 << 17, count - 1} {
		s := trial.Args()[0].Recv[2]
		b := make([]byte, 1)
		if err := s.Buf.Read(b, s.Off+8*at+3); err != nil {
			t.Fatal(err)
		}
		flip := func() {
			b[0] ^= 4
			if err := s.Buf.Write(b, s.Off+8*at+3); err != nil {
				t.Fatal(err)
			}
		}
		flip()
		if r, err := trial.Check(); err != nil || r.Wrong != 1 || r.First.Rank != 2 || r.First.Element != at {
			t.Errorf("element %d: %v, %d wrong, first %v", at, err, r.Wrong, r.First)
		}
		flip()
	}
}

// BenchmarkTrial fills and checks what is not in this process's memory, as far
// as the trial knows: 16 MiB on each of eight ranks.
func BenchmarkTrial(b *testing.B) {
	const count = 4 << 20
	l := &allreduce.Layout{NRanks: 8, Rings: [][]int{{0, 1, 2, 3, 7, 5, 6, 4}}, BuffSize: allreduce.DefaultBuffSize()}
	pl, err := plan.New(plan.Nominal(l), plan.DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	algo, proto := allreduce.Ring, allreduce.Simple
	launches, err := pl.Plan([]plan.Task{{Count: count, DType: allreduce.Float32}}, plan.Force{Algo: &algo, Proto: &proto})
	if err != nil {
		b.Fatal(err)
	}
	ex, err := executortest.NewSerial(launches[0].Plan.Layout)
	if err != nil {
		b.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, launches[0].Plan, verify.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer trial.Close()
	if err := trial.Fill(); err != nil {
		b.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Run("Check", func(b *testing.B) {
		b.SetBytes(8 * 4 * count)
		for b.Loop() {
			if r, err := trial.Check(); err != nil || !r.OK() {
				b.Fatal(err, r.First)
			}
		}
	})
	b.Run("Fill", func(b *testing.B) {
		b.SetBytes(8 * 4 * count)
		for b.Loop() {
			if err := trial.Fill(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
