package verify

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// crewed makes the crew as large as a big machine's, whatever this one is.
func crewed(t *testing.T) {
	t.Helper()
	before := runtime.GOMAXPROCS(8)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func TestCrewDoesEveryPartOnce(t *testing.T) {
	crewed(t)
	var c crew
	for _, n := range []int{0, 1, 2, 7, 8, 9, 1000} {
		done := make([]atomic.Int32, n)
		if err := c.do(n, func(_ *member, i int) error { done[i].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range done {
			if done[i].Load() != 1 {
				t.Fatalf("part %d of %d was done %d times", i, n, done[i].Load())
			}
		}
	}
	if len(c.members) != 8 {
		t.Errorf("%d members on 8 processors", len(c.members))
	}
}

// Whoever fails first in time, the error is that of the first part that failed,
// and the rest is left.
func TestCrewEndsAtAnError(t *testing.T) {
	crewed(t)
	var c crew
	var begun atomic.Int32
	err := c.do(100000, func(_ *member, i int) error {
		begun.Add(1)
		if i >= 5 {
			return fmt.Errorf("part %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "part 5" {
		t.Errorf("error %v, want that of part 5", err)
	}
	if n := begun.Load(); n > 1000 {
		t.Errorf("%d parts were begun", n)
	}
	alone := errors.New("alone")
	if err := c.do(1, func(*member, int) error { return alone }); err != alone {
		t.Errorf("one part: %v", err)
	}
}

// Stretches lie end to end and make up the whole.
func TestStretches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bytes := rapid.Int64Range(0, 5*stretchBytes).Draw(rt, "bytes")
		at := int64(0)
		for _, s := range stretches(bytes) {
			if s.at != at || s.n < 1 || s.n > stretchBytes || s.at%8 != 0 {
				rt.Fatalf("stretch %+v, want one from %d on", s, at)
			}
			at += s.n
		}
		if at != bytes {
			rt.Fatalf("%d bytes of %d", at, bytes)
		}
	})
}

func TestRepeat(t *testing.T) {
	for n := range 70 {
		b := make([]byte, n+1)
		repeat(b[:n], 0xdb)
		for i := range n {
			if b[i] != 0xdb {
				t.Fatalf("byte %d of %d is %#x", i, n, b[i])
			}
		}
		if b[n] != 0 {
			t.Fatalf("byte behind %d is %#x", n, b[n])
		}
	}
}

// Of several ranks' flaws in a stretch the lowest rank's first element counts,
// in whatever order they are looked at.
func TestFlawOfTheLowestRank(t *testing.T) {
	want := []byte{1, 2, 3, 4}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		var f flaw
		for _, rank := range order {
			got := []byte{1, 2, 3, 4}
			if rank > 0 {
				got[rank], got[3] = 9, byte(10+rank)
			}
			f.note(got, want, 0, rank, 100)
		}
		if f.rank != 1 || f.element != 101 || f.wrong != 4 || f.found[0] != 9 || f.want[0] != 2 {
			t.Errorf("order %v: %+v", order, f)
		}
	}
}
