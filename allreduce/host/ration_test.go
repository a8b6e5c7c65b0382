package host

import (
	"errors"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"pgregory.net/rapid"
)

// Never more is taken than there is, what is refused takes nothing, and what was
// given back can be had again.
func TestRation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &ration{most: rapid.Int64Range(0, 100).Draw(rt, "most")}
		var held []int64
		for _, size := range rapid.SliceOf(rapid.Int64Range(0, 60)).Draw(rt, "sizes") {
			before := r.taken
			switch err := r.take(size); {
			case err == nil && before+size <= r.most:
				held = append(held, size)
			case !errors.Is(err, syscall.ENOMEM) || before+size <= r.most || r.taken != before:
				rt.Fatalf("%d of %d taken, %d more: %v, then %d are", before, r.most, size, err, r.taken)
			case len(held) > 0:
				r.give(held[0])
				held = held[1:]
			}
		}
		for _, size := range held {
			r.give(size)
		}
		if r.taken != 0 {
			rt.Errorf("%d are taken after all was given back", r.taken)
		}
	})
	if err := (&ration{taken: 5, most: math.MaxInt64}).take(math.MaxInt64); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("more than a number holds: %v", err)
	}
}

// More memory than the machine has is refused, in one piece or in several, and
// nothing of it is touched: the system would end the program.
func TestMoreThanTheMachineHas(t *testing.T) {
	has := physical()
	if has < 1<<26 || has > 1<<45 {
		t.Skipf("the machine is said to have %d bytes", has)
	}
	for name, open := range map[string]func(*allreduce.Layout) (*Executor, error){
		"goroutines": func(l *allreduce.Layout) (*Executor, error) { return New(l, Options{}) },
		"processes":  func(l *allreduce.Layout) (*Executor, error) { return NewProcs(l, Options{}, os.Stderr) },
	} {
		x, err := open(executortest.Four())
		if err != nil {
			t.Fatal(err)
		}
		small, err := x.Alloc(0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{has - 1<<19, has, 2 * has, math.MaxInt64} {
			if _, err := x.Alloc(1, size); !errors.Is(err, syscall.ENOMEM) {
				t.Errorf("%s: %d of %d bytes: %v", name, size, has, err)
			}
		}
		if err := errors.Join(small.Free(), small.Free()); err != nil {
			t.Error(err)
		}
		if again, err := x.Alloc(2, 1<<20); err != nil || again.Size() != 1<<20 {
			t.Errorf("%s: after it was given back: %v", name, err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
