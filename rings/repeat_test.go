package rings

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

const untouched = -7

// runs makes a run with the demands as they are and tells whether it searched.
func runs(o *outer) bool {
	for i := range o.try.intra {
		o.try.intra[i] = untouched
	}
	o.runUnlessKnown()
	return o.try.intra[0] != untouched
}

// ringsOfV100 is the search for rings of worked example 6.1, before its first run.
func ringsOfV100(t *testing.T) *outer {
	t.Helper()
	s := &searcher{machine: machineOf(t, topotest.V100x4()), crossSetting: CrossAuto}
	o := s.begin(request{pattern: Ring, minChannels: 1, maxChannels: 16})
	o.prepare()
	o.try.sameChannels = 0
	return o
}

// Where all GPUs are joined by NVLink, a limit that lets paths over the CPUs in
// lets none in: the run would go the same way and is not made. It counts as if it
// had been.
func TestALimitThatLetsNothingInIsNotTried(t *testing.T) {
	o := ringsOfV100(t)
	if !runs(o) {
		t.Fatal("the first run was not made")
	}
	left, budget := o.time, o.globalTime
	for _, limit := range []graph.PathType{graph.NVB, graph.PIX, graph.SYS} {
		o.try.typeIntra, o.time = limit, 0
		if runs(o) {
			t.Errorf("a run up to %s was made", limit)
		}
		if o.time != left {
			t.Errorf("up to %s %d steps are left, want %d", limit, o.time, left)
		}
		if budget -= timeoutOwn; o.globalTime != budget {
			t.Errorf("up to %s %d steps are left in all, want %d", limit, o.globalTime, budget)
		}
	}
}

// Every demand counts: another one is another run.
func TestOtherDemandsAreTried(t *testing.T) {
	for name, change := range map[string]func(*record){
		"pattern":       func(r *record) { r.pattern = Tree },
		"same channels": func(r *record) { r.sameChannels = 1 }, // of another budget
		"cross NIC":     func(r *record) { r.crossNIC = 1 },
		"speed":         func(r *record) { r.bwIntra = 30 },
		"network speed": func(r *record) { r.bwInter = 30 },
		"fewest":        func(r *record) { r.minChannels = 2 },
		"most":          func(r *record) { r.maxChannels = 15 },
	} {
		o := ringsOfV100(t)
		o.runUnlessKnown()
		if runs(o) {
			t.Errorf("%s: the same run was made twice", name)
		}
		change(&o.try)
		if !runs(o) {
			t.Errorf("%s: not tried with another one", name)
		}
	}
}

// A path type that the machine has is another limit, also to the network.
func TestALimitThatLetsPathsInIsTried(t *testing.T) {
	box := topotest.Box{CPU: topotest.Skylake, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}
	s := &searcher{machine: machineOf(t, box.Machine()), crossSetting: CrossAuto}
	o := s.begin(request{pattern: Ring, minChannels: 1, maxChannels: 16})
	o.prepare()
	o.try.sameChannels = 0
	for _, step := range []struct {
		limit graph.PathType
		want  bool
	}{{graph.PIX, true}, {graph.PXB, false}, {graph.PXN, true}, {graph.PHB, true}, {graph.SYS, true}, {graph.PXB, false}} {
		o.try.typeInter = step.limit
		if got := runs(o); got != step.want {
			t.Errorf("up to %s: made %v, want %v", step.limit, got, step.want)
		}
	}
}

// A run that would start from other capacities, or be measured against other
// channels, is made.
func TestARunIsMadeAgainAfterAChange(t *testing.T) {
	for name, change := range map[string]func(*outer){
		"a link":    func(o *outer) { o.capacity[0]-- },
		"a network": func(o *outer) { o.netBW[0]-- },
		"the best":  func(o *outer) { o.improvements++ },
	} {
		o := ringsOfV100(t)
		o.netBW = []float32{12} // of no use to a machine without networks
		o.runUnlessKnown()
		if runs(o) {
			t.Fatal("the same run was made twice")
		}
		change(o)
		if !runs(o) {
			t.Errorf("%s changed, but a run before that was taken for one after it", name)
		}
		if runs(o) {
			t.Errorf("%s changed once, but the run was made twice since", name)
		}
	}
}

// What a run itself changes counts, too: one that leaves a link as it was not is
// made again, one that found better channels is the only one known from then on.
func TestARunThatChangesSomething(t *testing.T) {
	o := ringsOfV100(t)
	o.capacity[0] = 40.0004 // rounded once it is used
	o.runUnlessKnown()
	if !runs(o) {
		t.Error("a run that rounded a link was taken for one that starts from the rounded link")
	}
	o = ringsOfV100(t)
	o.try.minChannels = 3 // 40 GB/s is enough for two
	o.runUnlessKnown()
	o.try.bwIntra, o.try.bwInter = 20, 20
	o.runUnlessKnown() // finds six
	if runs(o) || o.best.nChannels != 6 {
		t.Errorf("%d channels; the run that found them was made again", o.best.nChannels)
	}
	o.try.bwIntra, o.try.bwInter = 40, 40
	if !runs(o) {
		t.Error("a run from before there were six channels was taken for one since")
	}
}

// The end of a run that found the best there can be is not that of one more: it
// finds nothing better.
func TestPerfectRunsAreNotKnown(t *testing.T) {
	o := ringsOfV100(t)
	o.try.pattern, o.try.minChannels, o.try.maxChannels = Tree, 6, 6
	o.try.bwIntra, o.try.bwInter = 20, 20
	o.runUnlessKnown()
	if o.time != timePerfect {
		t.Fatalf("%d steps left, want a perfect run", o.time)
	}
	if !runs(o) || o.time == timePerfect {
		t.Errorf("made again, the run leaves %d steps", o.time)
	}
}

// Whatever was tried before, a run leaves the best channels, the steps and the
// capacities as it does where nothing is remembered.
func TestHistoryChangesNoOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := topotest.Bytes(rapid.SliceOfN(rapid.Byte(), 200, 200).Draw(t, "machine"))
		g, err := graph.Build(topotest.Random(pick), graph.Options{KeepUnreachable: true})
		if err != nil {
			t.Skip(err)
		}
		pattern := []Pattern{Ring, BalancedTree, NVLS}[pick(3)]
		with, without := outerOf(t, g, pattern), outerOf(t, g, pattern)
		for range 12 {
			speed, same := with.speeds[pick(len(with.speeds))], pick(2)
			intra, inter, cross := graph.NVL+graph.PathType(pick(7)), graph.PIX+graph.PathType(pick(5)), pick(2)
			for _, o := range []*outer{with, without} {
				o.try.bwIntra, o.try.bwInter, o.try.sameChannels = speed, speed, same
				o.try.typeIntra, o.try.typeInter, o.try.crossNIC = intra, inter, cross
			}
			with.runUnlessKnown()
			without.run()
			checkAlike(t, with, without)
		}
	})
}

func outerOf(t rapid.TB, g *graph.Graph, p Pattern) *outer {
	t.Helper()
	m, err := compile(g)
	if err != nil {
		t.Fatal(err)
	}
	o := (&searcher{machine: m, crossSetting: CrossAuto}).begin(request{pattern: p, minChannels: 1, maxChannels: 16})
	if p == NVLS && m.nNVS == 0 {
		t.Skip("no multicast without an NVSwitch")
	}
	o.prepare()
	return o
}

func checkAlike(t rapid.TB, a, b *outer) {
	t.Helper()
	if a.time != b.time || a.globalTime != b.globalTime {
		t.Fatalf("%d steps left, %d in all; want %d, %d", a.time, a.globalTime, b.time, b.globalTime)
	}
	ranks := func(r *record) []int { return r.intra[:r.nChannels*a.nGPU] }
	nets := func(r *record) []int64 { return r.inter[:2*r.nChannels] }
	if !slices.Equal(ranks(&a.best), ranks(&b.best)) || a.nNet > 0 && !slices.Equal(nets(&a.best), nets(&b.best)) {
		t.Fatalf("best\n%+v\nwant\n%+v", a.best, b.best)
	}
	x, y := a.best, b.best
	x.intra, x.inter, y.intra, y.inter = nil, nil, nil, nil
	if fmt.Sprint(x) != fmt.Sprint(y) {
		t.Fatalf("best\n%+v\nwant\n%+v", x, y)
	}
	if !slices.Equal(a.capacity, b.capacity) || !slices.Equal(a.netBW, b.netBW) {
		t.Fatalf("left\n%v %v\nwant\n%v %v", a.capacity, a.netBW, b.capacity, b.netBW)
	}
}

func TestFarthest(t *testing.T) {
	got := farthest([]path{{typ: graph.LOC}, {typ: graph.NVL}}, nil, []path{{typ: graph.PHB}, {typ: graph.DIS}})
	want := [...]graph.PathType{
		graph.LOC: graph.LOC, graph.NVL: graph.NVL, graph.NVB: graph.NVL, graph.PIX: graph.NVL, graph.PXB: graph.NVL,
		graph.PXN: graph.NVL, graph.PHB: graph.PHB, graph.SYS: graph.PHB, graph.PathNET: graph.PHB, graph.DIS: graph.DIS,
	}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
