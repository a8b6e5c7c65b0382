package rings

import (
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// attempt is one run of a search: its demands, what is left of its steps, and
// the best channels after it.
type attempt struct {
	speed    float32
	same     int
	intra    graph.PathType
	left     int
	channels int
	bw       float32
}

func machineOf(t *testing.T, sys *topo.System) *machine {
	t.Helper()
	g, err := graph.Build(sys, graph.Options{KeepUnreachable: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := compile(g)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkAttempts(t *testing.T, o *outer, attempts []attempt) {
	t.Helper()
	for i, a := range attempts {
		o.try.bwIntra, o.try.bwInter, o.try.sameChannels, o.try.typeIntra = a.speed, a.speed, a.same, a.intra
		o.run()
		if o.time != a.left || o.best.nChannels != a.channels || o.best.bwIntra != a.bw {
			t.Errorf("run %d at %v GB/s, same channels %d: %d steps left, best %d x %v GB/s; want %d, %d x %v",
				i, a.speed, a.same, o.time, o.best.nChannels, o.best.bwIntra, a.left, a.channels, a.bw)
		}
	}
}

// Worked example 6.1, run by run. The counted steps decide which channels are
// found before a search is given up.
func TestStepsOfFourV100(t *testing.T) {
	s := &searcher{machine: machineOf(t, topotest.V100x4()), crossSetting: CrossAuto}
	o := s.begin(request{pattern: Ring, minChannels: 1, maxChannels: 16})
	o.prepare()
	if o.speeds[o.si] != 40 {
		t.Errorf("the first speed is %v, want 40", o.speeds[o.si])
	}
	checkAttempts(t, o, []attempt{
		{40, 1, graph.NVL, 138, 1, 40},
		{40, 0, graph.NVL, 14466, 2, 40},
		{30, 1, graph.NVL, 138, 2, 40},
		{30, 0, graph.NVL, 14466, 2, 40},
		{20, 1, graph.NVL, 13, 2, 40},
		{20, 0, graph.NVL, 0, 6, 20},
	})
	o.try.minChannels = 6
	checkAttempts(t, o, []attempt{{30, 0, graph.NVL, 14466, 6, 20}, {40, 0, graph.NVL, 14466, 6, 20}})

	o = s.begin(request{pattern: BalancedTree, minChannels: 6, maxChannels: 6})
	o.prepare()
	if o.speeds[o.si] != 20 {
		t.Errorf("the tree's first speed is %v, want 20: 6 x 30 is more than 160", o.speeds[o.si])
	}
	checkAttempts(t, o, []attempt{{20, 1, graph.NVL, 13, 0, 0}, {20, 0, graph.NVL, timePerfect, 6, 20}})
}

// Worked example 6.2.
func TestStepsOfFourPCIeGPUs(t *testing.T) {
	s := &searcher{machine: machineOf(t, topotest.PCIex4(topotest.Skylake)), crossSetting: CrossAuto}
	o := s.begin(request{pattern: Ring, minChannels: 1, maxChannels: 16})
	o.prepare()
	if o.speeds[o.si] != 20 {
		t.Errorf("the first speed is %v, want 20", o.speeds[o.si])
	}
	checkAttempts(t, o, []attempt{{10, 1, graph.SYS, 153, 1, 10}, {10, 0, graph.SYS, 16145, 1, 10}})

	s = &searcher{machine: machineOf(t, topotest.PCIex4(topotest.AMD)), crossSetting: CrossAuto}
	o = s.begin(request{pattern: Ring, minChannels: 1, maxChannels: 16})
	o.prepare()
	checkAttempts(t, o, []attempt{{15, 1, graph.SYS, 162, 1, 15}})
}

// A search gives back all that it takes: after a second one all is as before. (The
// first use of a link may round it to three decimals; the second does not.)
func TestCapacitiesAreGivenBack(t *testing.T) {
	box := topotest.Box{CPU: topotest.Skylake, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}
	for name, sys := range map[string]*topo.System{
		"V100": topotest.V100x4(), "PCIe": topotest.PCIex4(topotest.Skylake), "NICs": box.Machine(),
	} {
		s := &searcher{machine: machineOf(t, sys), crossSetting: CrossAuto}
		for _, p := range []Pattern{Ring, BalancedTree, SplitTree} {
			r := request{pattern: p, minChannels: 1, maxChannels: 16}
			s.compute(r)
			capacity, netBW := append([]float32{}, s.capacity...), append([]float32{}, s.netBW...)
			s.compute(r)
			for i := range capacity {
				if s.capacity[i] != capacity[i] {
					t.Errorf("%s, pattern %d: link %d has %v left, had %v", name, p, i, s.capacity[i], capacity[i])
				}
			}
			for i := range netBW {
				if s.netBW[i] != netBW[i] {
					t.Errorf("%s, pattern %d: network %d has %v left, had %v", name, p, i, s.netBW[i], netBW[i])
				}
			}
			for g, used := range s.used {
				if used != 0 {
					t.Errorf("%s, pattern %d: GPU %d still used by channels %b", name, p, g, used)
				}
			}
		}
	}
}
