package rings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
)

func TestBetter(t *testing.T) {
	of := func(pattern Pattern, n int, intra, inter float32, hops int) record {
		return record{pattern: pattern, nChannels: n, bwIntra: intra, bwInter: inter, nHops: hops}
	}
	atLeast := func(n int, r record) record { r.minChannels = n; return r }
	cross := func(r record) record { r.crossNIC = 1; return r }
	for name, c := range map[string]struct {
		try, best record
		want      bool
	}{
		"more bandwidth":                     {of(Ring, 2, 20, 20, 9), of(Ring, 1, 30, 30, 1), true},
		"less bandwidth":                     {of(Ring, 1, 30, 30, 1), of(Ring, 2, 20, 20, 9), false},
		"only the bandwidth inside counts":   {of(Ring, 1, 20, 90, 1), of(Ring, 1, 30, 30, 1), false},
		"as much with fewer hops":            {of(Ring, 1, 40, 40, 3), of(Ring, 2, 20, 20, 4), true},
		"as much with as many hops":          {of(Ring, 1, 40, 40, 4), of(Ring, 2, 20, 20, 4), false},
		"fewer hops of another pattern":      {of(Tree, 1, 40, 40, 3), of(BalancedTree, 1, 40, 40, 4), false},
		"fewer hops over other NICs":         {cross(of(Ring, 1, 40, 40, 3)), of(Ring, 1, 40, 40, 4), false},
		"too few channels":                   {atLeast(3, of(Ring, 2, 40, 40, 3)), of(Ring, 0, 0, 0, 0), false},
		"just enough channels":               {atLeast(2, of(Ring, 2, 40, 40, 3)), of(Ring, 0, 0, 0, 0), true},
		"NVLS with more heads, less in all":  {of(NVLS, 3, 9, 9, 0), of(NVLS, 2, 20, 20, 0), true},
		"NVLS with more heads than GPUs":     {of(NVLS, 5, 9, 9, 0), of(NVLS, 4, 20, 20, 0), false},
		"NVLS counts the way out":            {of(NVLS, 2, 9, 30, 0), of(NVLS, 2, 20, 20, 0), true},
		"NVLS with fewer hops":               {of(NVLS, 2, 20, 20, 1), of(NVLS, 2, 20, 20, 2), false},
		"rounded to single precision: a tie": {of(Ring, 3, 0.1, 0, 1), of(Ring, 1, 0.3, 0, 2), true},
	} {
		if got := better(&c.try, &c.best, 4); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDuplicate(t *testing.T) {
	for name, c := range map[string]struct {
		pattern     Pattern
		sm, n, most int
		bw          float32
		wantN       int
		wantBW      float32
	}{
		"fast channels are split":                  {Ring, 70, 3, 16, 40, 6, 20},
		"slow ones are not":                        {Ring, 70, 3, 16, 24, 3, 24},
		"nor those of NVLS":                        {NVLS, 90, 3, 16, 40, 3, 40},
		"not where there are none":                 {Ring, 70, 0, 16, 40, 0, 40},
		"up to the most there may be":              {Ring, 70, 10, 16, 40, 16, 20},
		"a tree has as many as its ring":           {BalancedTree, 70, 4, 4, 40, 4, 40},
		"after sm 80, more than four and under 50": {Ring, 86, 5, 16, 48, 5, 48},
		"after sm 80, four":                        {Ring, 90, 4, 16, 48, 8, 24},
		"after sm 80, five at 50":                  {Ring, 90, 5, 16, 50, 10, 25},
		"sm 80 itself":                             {Ring, 80, 5, 16, 48, 10, 24},
	} {
		m := &machine{nGPU: 2, minSM: c.sm}
		r := newRecord(2)
		r.pattern, r.nChannels, r.maxChannels, r.bwIntra, r.bwInter = c.pattern, c.n, c.most, c.bw, c.bw
		for i := range 2 * c.n {
			r.intra[i], r.inter[i] = 100+i, int64(200+i)
		}
		r.duplicate(m)
		if r.nChannels != c.wantN || r.bwIntra != c.wantBW || r.bwInter != c.wantBW {
			t.Errorf("%s: %d x %v/%v, want %d x %v", name, r.nChannels, r.bwIntra, r.bwInter, c.wantN, c.wantBW)
		}
		for i := range 2 * c.wantN {
			if k := i % (2 * c.n); r.intra[i] != 100+k || r.inter[i] != int64(200+k) {
				t.Errorf("%s: entry %d is %d and %d, want those of %d", name, i, r.intra[i], r.inter[i], k)
			}
		}
	}
}

func TestCopyFrom(t *testing.T) {
	a, b := newRecord(2), newRecord(2)
	a.nChannels, a.pattern, a.typeInter, a.nHops = 2, Tree, graph.PXN, 7
	copy(a.intra, []int{0, 1, 1, 0, 9, 9})
	copy(a.inter, []int64{5, 6, 7, 8, 9})
	b.copyFrom(&a, 2)
	a.intra[0], a.inter[0] = 42, 42 // b has its own
	want := newRecord(2)
	want.nChannels, want.pattern, want.typeInter, want.nHops = 2, Tree, graph.PXN, 7
	copy(want.intra, []int{0, 1, 1, 0})
	copy(want.inter, []int64{5, 6, 7, 8})
	if d := cmp.Diff(want, b, cmp.AllowUnexported(record{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestSimpleOrderKeepsTheRest(t *testing.T) {
	r := newRecord(3)
	r.pattern, r.crossNIC, r.sameChannels, r.nHops = BalancedTree, 1, 1, 5
	r.inter[0], r.inter[1] = 3, 4
	r.simpleOrder(3)
	m := &machine{nGPU: 3, nNet: 1, ranks: []int{2, 0, 1}}
	want := Set{
		Pattern: BalancedTree, CrossNIC: 1, NChannels: 1, SameChannels: 1, BWIntra: 0.1, BWInter: 0.1,
		TypeIntra: graph.SYS, TypeInter: graph.SYS, NHops: 5, Intra: [][]int{{2, 0, 1}}, Inter: [][2]int64{{0, 0}},
	}
	if d := cmp.Diff(want, r.set(m)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
