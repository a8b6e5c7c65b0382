package bench

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Stats sums up samples.
type Stats struct {
	N      int     `json:"n"`
	Median float64 `json:"medianUs"`
	P95    float64 `json:"p95Us"`
	Min    float64 `json:"minUs"`
	Max    float64 `json:"maxUs"`
	Mean   float64 `json:"meanUs"`
	CV     float64 `json:"cv"` // standard deviation over mean
	// Drift is how much the medians of forward and backward passes differ,
	// relative to their mean: what the order alone changes.
	Drift float64 `json:"drift"`
}

// Summarise works out the statistics of a measurement; all zero without
// samples.
func Summarise(m *Measurement) Stats {
	all := m.Samples()
	if len(all) == 0 {
		return Stats{}
	}
	slices.Sort(all)
	mean, dev := stat.MeanStdDev(all, nil)
	s := Stats{
		N: len(all), Median: median(all), P95: stat.Quantile(0.95, stat.Empirical, all, nil),
		Min: all[0], Max: all[len(all)-1], Mean: mean,
	}
	if len(all) > 1 && mean > 0 {
		s.CV = dev / mean
	}
	s.Drift = drift(m.Passes)
	return s
}

// median of sorted samples; the middle of the middle two of an even number.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func drift(passes [][]float64) float64 {
	var forth, back []float64
	for i, p := range passes {
		if i%2 == 0 {
			forth = append(forth, p...)
		} else {
			back = append(back, p...)
		}
	}
	if len(forth) == 0 || len(back) == 0 {
		return 0
	}
	slices.Sort(forth)
	slices.Sort(back)
	a, b := median(forth), median(back)
	if a+b == 0 {
		return 0
	}
	return 2 * math.Abs(a-b) / (a + b)
}
