package chart

import (
	"testing"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"
)

// Between any two values some mark has a name, and all lie between them.
func TestTicksAreNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(1, 1<<40).Draw(t, "from")
		hi := lo * rapid.Float64Range(1, 1000).Draw(t, "times")
		for name, marker := range map[string]plot.Ticker{"sizes": sizeTicks{}, "values": valueTicks{}} {
			ticks := marker.Ticks(lo, hi)
			if !named(ticks) {
				t.Errorf("%s from %v to %v: no mark has a name", name, lo, hi)
			}
			for _, x := range ticks {
				if name == "values" && (x.Value < lo || x.Value > hi) {
					t.Errorf("%s from %v to %v: a mark at %v", name, lo, hi, x.Value)
				}
			}
		}
	})
}
