package bench

import (
	"math"
	"slices"
)

// Finding is what a point tells.
type Finding struct {
	Point
	Ran     *Ran    `json:"ran,omitempty"`
	Skipped string  `json:"skipped,omitempty"`
	Stats   Stats   `json:"stats"`
	AlgBW   float64 `json:"algBw"` // at the median, GB/s
	BusBW   float64 `json:"busBw"`
	// Ratio is the median time of the baseline at the same size over this one's:
	// above 1 is faster.
	// 0 where either is missing.
	Ratio float64 `json:"ratio"`
	// Usable is false where the samples scatter more than the recipe allows;
	// no conclusion is drawn from them.
	Usable bool `json:"usable"`
	// Tie tells that the difference to the baseline is too small to matter.
	Tie bool `json:"tie"`
}

// Interaction compares two settings changed together with what each alone
// predicts: the product of their ratios to the baseline.
type Interaction struct {
	A         string  `json:"a"` // axes
	B         string  `json:"b"`
	LevelA    string  `json:"levelA"` // their levels
	LevelB    string  `json:"levelB"`
	Predicted float64 `json:"predictedUs"`
	Measured  float64 `json:"measuredUs"`
	Residual  float64 `json:"residualPercent"` // above 0 is slower than predicted
	Usable    bool    `json:"usable"`          // of all four
}

// Analysis is what an experiment shows, and what it does not.
type Analysis struct {
	Findings     []Finding     `json:"findings"`
	Interactions []Interaction `json:"interactions,omitempty"`
}

// Analyse works out ratios, ties and interactions.
func Analyse(r *Result) (*Analysis, error) {
	start, err := r.Recipe.Start()
	if err != nil {
		return nil, err
	}
	a := &Analysis{}
	for i := range r.Points {
		a.Findings = append(a.Findings, r.find(&r.Points[i], start))
	}
	a.Interactions = r.interactions(a, start)
	return a, nil
}

func (r *Result) index(s Setting) int {
	return slices.IndexFunc(r.Points, func(m Measurement) bool { return m.Setting == s })
}

// baseline sums up the baseline at the size of s: times of different sizes are
// not to be compared.
func (r *Result) baseline(start, s Setting) Stats {
	start.Bytes = s.Bytes
	if i := r.index(start); i >= 0 {
		return Summarise(&r.Points[i])
	}
	return Stats{}
}

func (r *Result) find(m *Measurement, start Setting) Finding {
	base := r.baseline(start, m.Setting)
	f := Finding{Point: m.Point, Ran: m.Ran, Skipped: m.Skipped, Stats: Summarise(m)}
	f.AlgBW, f.BusBW = m.Setting.AlgBW(f.Stats.Median), m.Setting.BusBW(f.Stats.Median)
	f.Usable = f.Stats.N > 0 && f.Stats.CV <= r.Recipe.CVLimit
	if f.Stats.N > 0 && base.N > 0 {
		f.Ratio = base.Median / f.Stats.Median
		f.Tie = math.Abs(f.Ratio-1) <= r.Recipe.Tie
	}
	return f
}

// strongest gives, for each axis varied alone that mattered, the finding that
// differs most from the baseline, in the axes' order. The size of the message
// is left out: it changes the work itself.
func (r *Result) strongest(a *Analysis) []Finding {
	var best []Finding
	for _, ax := range axes {
		if _, varied := r.Recipe.Vary[ax.name]; !varied || ax.name == "bytes" {
			continue
		}
		var top *Finding
		for i := range a.Findings {
			f := &a.Findings[i]
			if len(f.Axes) != 1 || f.Axes[0] != ax.name || f.Ratio == 0 || f.Tie || !f.Usable {
				continue
			}
			if top == nil || math.Abs(math.Log(f.Ratio)) > math.Abs(math.Log(top.Ratio)) {
				top = f
			}
		}
		if top != nil {
			best = append(best, *top)
		}
	}
	return best
}

// Joint lists the settings that show interactions: every pair of axes that
// mattered, both at the level that mattered most.
func Joint(r *Result) ([]Point, error) {
	a, err := Analyse(r)
	if err != nil {
		return nil, err
	}
	var points []Point
	top := r.strongest(a)
	for i, x := range top {
		for _, y := range top[i+1:] {
			p, err := joined(x, y)
			if err != nil {
				return nil, err
			}
			points = append(points, p)
		}
	}
	return points, nil
}

func joined(x, y Finding) (Point, error) {
	v, err := y.Setting.Get(y.Axes[0])
	if err != nil {
		return Point{}, err
	}
	s, err := x.Setting.With(y.Axes[0], v)
	return Point{Setting: s, Axes: []string{x.Axes[0], y.Axes[0]}}, err
}

func (r *Result) interactions(a *Analysis, start Setting) []Interaction {
	find := func(s Setting) *Finding {
		if i := r.index(s); i >= 0 && a.Findings[i].Stats.N > 0 {
			return &a.Findings[i]
		}
		return nil
	}
	base := find(start)
	if base == nil || !r.Recipe.Interact {
		return nil
	}
	var list []Interaction
	for i := range a.Findings {
		joint := &a.Findings[i]
		if len(joint.Axes) != 2 || joint.Stats.N == 0 {
			continue
		}
		la, _ := joint.Setting.Get(joint.Axes[0]) // axes of a measured point exist
		lb, _ := joint.Setting.Get(joint.Axes[1])
		sa, errA := start.With(joint.Axes[0], la)
		sb, errB := start.With(joint.Axes[1], lb)
		fa, fb := find(sa), find(sb)
		if errA != nil || errB != nil || fa == nil || fb == nil {
			continue
		}
		x := Interaction{A: joint.Axes[0], B: joint.Axes[1], LevelA: la, LevelB: lb, Measured: joint.Stats.Median}
		x.Predicted = fa.Stats.Median * fb.Stats.Median / base.Stats.Median
		x.Residual = 100 * (x.Measured/x.Predicted - 1)
		x.Usable = joint.Usable && fa.Usable && fb.Usable && base.Usable
		list = append(list, x)
	}
	return list
}
