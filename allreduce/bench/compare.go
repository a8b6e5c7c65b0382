package bench

import (
	"cmp"
	"math"
)

// Verdict is how a setting changed between two results.
type Verdict string

// Verdicts.
const (
	Same     Verdict = "same"     // within the tie limit
	Faster   Verdict = "faster"   // beyond it
	Slower   Verdict = "slower"   // beyond it
	Unusable Verdict = "unusable" // either scatters too much
	Missing  Verdict = "missing"  // measured in one only
)

// Change is one setting in two results.
type Change struct {
	Setting Setting `json:"setting"`
	Old     Stats   `json:"old"`
	New     Stats   `json:"new"`
	Ratio   float64 `json:"ratio"` // old median over new: above 1 is faster now
	Verdict Verdict `json:"verdict"`
}

// Comparison sets a result against an older one.
type Comparison struct {
	Changes []Change `json:"changes"`
	// Unlike says what differs besides the time, for example another processor
	// or driver.
	Unlike []string `json:"unlike,omitempty"`
}

// Slower tells whether any setting got slower.
func (c *Comparison) Slower() bool {
	for _, ch := range c.Changes {
		if ch.Verdict == Slower {
			return true
		}
	}
	return false
}

// Compare sets a new result against an old one; tie is the relative difference
// that does not count.
func Compare(old, now *Result, tie float64) *Comparison {
	c := &Comparison{Unlike: Unlike(old, now)}
	limit := math.Max(old.Recipe.CVLimit, now.Recipe.CVLimit)
	for i := range now.Points {
		m := &now.Points[i]
		ch := Change{Setting: m.Setting, New: Summarise(m), Verdict: Missing}
		if j := old.index(m.Setting); j >= 0 {
			ch.Old = Summarise(&old.Points[j])
		}
		ch.judge(limit, tie)
		c.Changes = append(c.Changes, ch)
	}
	for i := range old.Points {
		m := &old.Points[i]
		if now.index(m.Setting) < 0 {
			c.Changes = append(c.Changes, Change{Setting: m.Setting, Old: Summarise(m), Verdict: Missing})
		}
	}
	return c
}

func (ch *Change) judge(cvLimit, tie float64) {
	if ch.Old.N == 0 || ch.New.N == 0 {
		return
	}
	ch.Ratio = ch.Old.Median / ch.New.Median
	switch {
	case ch.Old.CV > cvLimit || ch.New.CV > cvLimit:
		ch.Verdict = Unusable
	case math.Abs(ch.Ratio-1) <= tie:
		ch.Verdict = Same
	case ch.Ratio > 1:
		ch.Verdict = Faster
	default:
		ch.Verdict = Slower
	}
}

// unknown stands for what an older version did not write down.
const unknown = "not told"

// Unlike says in words what hardware and software two results do not share.
func Unlike(old, now *Result) []string {
	var list []string
	differ := func(what, a, b string) {
		if a != b {
			list = append(list, what+": "+cmp.Or(a, unknown)+" then, "+cmp.Or(b, unknown)+" now")
		}
	}
	differ("engine", old.Engine, now.Engine)
	differ("CPU", old.Host.CPU, now.Host.CPU)
	differ("GPUs", old.Host.GPUs, now.Host.GPUs)
	differ("driver", old.Host.Driver, now.Host.Driver)
	differ("kernel", old.Host.Kernel, now.Host.Kernel)
	differ("Go", old.Host.Go, now.Host.Go)
	differ("ringtopo", old.Host.Ringtopo, now.Host.Ringtopo)
	return list
}
