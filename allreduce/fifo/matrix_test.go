package fifo

import (
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
)

func TestMatrix(t *testing.T) {
	m := Matrix()
	if len(m) < 27 {
		t.Fatalf("%d cases, want at least 27", len(m))
	}
	for _, e := range m {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			r, err := Explore(e.Case)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Check(r); err != nil {
				t.Error(err)
			}
			t.Logf("%d states, ends %v", r.States, r.Kinds())
		})
	}
}

func TestMatrixNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Matrix() {
		if seen[e.Name()] {
			t.Errorf("%s stands twice", e.Name())
		}
		seen[e.Name()] = true
	}
}

func TestMatrixHasEveryFault(t *testing.T) {
	for _, p := range allreduce.Protos() {
		for f := range numFaults {
			has := slices.ContainsFunc(Matrix(), func(e Entry) bool { return e.Case.Proto == p && e.Case.Fault == f })
			if has != f.of(p) {
				t.Errorf("%v/%v: in the matrix %v, possible %v", p, f, has, f.of(p))
			}
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	e := entry(allreduce.Simple, 2, HeadNever, 2, Stuck)
	r, err := Explore(e.Case)
	if err != nil {
		t.Fatal(err)
	}
	e.Steps = 3
	if e.Check(r) == nil {
		t.Error("another number of steps passed")
	}
	e.Steps, e.Want = 2, []EndKind{Finished}
	if e.Check(r) == nil {
		t.Error("another end passed")
	}
}

// Without credits the sender fills the FIFO and no more, whatever its depth.
func TestHeadNeverStopsAfterTheFIFOIsFull(t *testing.T) {
	for _, p := range allreduce.Protos() {
		for _, slots := range []int{2, 4, 8} {
			r, err := Explore(entry(p, slots, HeadNever, slots, Stuck).Case)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Ends[0]; got.Kind != Stuck || got.Sender != [2]int{slots, slots} || got.Receiver != [2]int{slots, slots} {
				t.Errorf("%v, %d slots: %s after %v and %v steps", p, slots, got.Kind, got.Sender, got.Receiver)
			}
		}
	}
}
