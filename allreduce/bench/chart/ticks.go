package chart

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// sizeTicks marks powers of two, and names as many as there is room for.
type sizeTicks struct{}

// Ticks gives the marks between two sizes in bytes.
func (sizeTicks) Ticks(lo, hi float64) []plot.Tick {
	every := 1
	switch doublings := math.Log2(hi / lo); {
	case doublings > 20:
		every = 4
	case doublings > 8:
		every = 2
	}
	var ticks []plot.Tick
	for e := range 51 {
		v := float64(int64(1) << e)
		if v < lo || v > hi {
			continue
		}
		t := plot.Tick{Value: v}
		if e%every == 0 {
			t.Label = bench.FormatBytes(int64(v))
		}
		ticks = append(ticks, t)
	}
	if named(ticks) {
		return ticks
	}
	least, most := math.Ceil(lo), math.Floor(hi) // between two powers
	return append(ticks, plot.Tick{Value: least, Label: bench.FormatBytes(int64(least))}, plot.Tick{Value: most, Label: bench.FormatBytes(int64(most))})
}

// named tells whether any mark has a name.
func named(ticks []plot.Tick) bool {
	return slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Label != "" })
}

// valueTicks marks the whole multiples of powers of ten. It names all of them
// within one power of ten, else 1, 2 and 5 of each, and the powers alone where
// there are many.
type valueTicks struct{}

// Ticks gives the marks between two values above zero.
func (valueTicks) Ticks(lo, hi float64) []plot.Tick {
	few, many := hi/lo < 10, hi/lo > 1e4
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || few || !many && (m == 2 || m == 5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
			}
			ticks = append(ticks, t)
		}
	}
	if named(ticks) {
		return ticks
	}
	end := func(v float64) plot.Tick { return plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)} }
	return append(ticks, end(lo), end(hi))
}
