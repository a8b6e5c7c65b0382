package schedule_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// Whatever is typed, the answer is an error or a ring that reads back as
// itself.
func FuzzParseRing(f *testing.F) {
	for _, s := range []string{"0 2 3 1", "3->1->0->2", "0,1", "0 0", "-1 0", "", "99999999999999999999 0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := schedule.ParseRing(s)
		if err != nil {
			return
		}
		back, err := schedule.ParseRing(r.String())
		if err != nil || back.String() != r.String() {
			t.Fatalf("%q reads as %s, and that as %v, %v", s, r, back, err)
		}
		for p := range schedule.Position(r.Len()) {
			if r.Position(r.At(p)) != p || r.Next(r.Prev(r.At(p))) != r.At(p) {
				t.Fatalf("%q: position %d is not itself", s, p)
			}
		}
	})
}
