package rings

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

func TestTakeRounds(t *testing.T) {
	for _, c := range []struct{ from, bw, want float32 }{
		{40, 20, 20}, {20, -20, 40}, {370.80002, 24, 346.8}, {12, 0.12, 11.88},
		{0.1875, 0.12, 0.068}, // 0.0675, half away from zero
		{0.12, 0.1875, -0.068}, {0.068, -0.12, 0.188},
	} {
		x := c.from
		if take(&x, c.bw); x != c.want {
			t.Errorf("%v less %v: %v, want %v", c.from, c.bw, x, c.want)
		}
	}
}

// take does with integers what the rule says with roundf.
func TestTakeIsRoundf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, bw := rapid.Float32Range(-6000, 6000).Draw(t, "from"), rapid.Float32Range(-6000, 6000).Draw(t, "bw")
		x := float32(from - bw)
		x = float32(x * 1000)
		x = float32(math.Round(float64(x)))
		x = float32(x / 1000)
		got := from
		if take(&got, bw); got != x {
			t.Fatalf("%v less %v: %v, want %v", from, bw, got, x)
		}
	})
}

// left gives what a walk along a path leaves on each of its links.
func left(m *machine, p *path) (out []float32) {
	for _, s := range p.steps {
		out = append(out, m.capacity[s.link])
	}
	return out
}

func equal(t *testing.T, what string, got []float32, want ...float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// Through an Intel CPU GPU traffic costs a fifth more on PCI links, but only on
// paths of type PHB; worked example 6.2.
func TestIntelSurcharge(t *testing.T) {
	m := machineOf(t, topotest.PCIex4(topotest.Skylake))
	near, far := &m.gpuToGPU[1], &m.gpuToGPU[2]
	if n := m.walk(near, 2, 10); n != 2 {
		t.Fatalf("%d of 2 links", n)
	}
	equal(t, "0 to 1 at 10", left(m, near), 12, 12)
	m.walk(near, 2, -10)
	m.walk(far, 3, 10)
	equal(t, "0 to 2 at 10", left(m, far), 14, 0, 14)

	m = machineOf(t, topotest.PCIex4(topotest.AMD))
	m.walk(&m.gpuToGPU[1], 2, 10)
	equal(t, "0 to 1 on AMD", left(m, &m.gpuToGPU[1]), 14, 14)
}

// A walk that does not fit stops where it gets stuck, and follow leaves nothing
// behind.
func TestWalkStops(t *testing.T) {
	m := machineOf(t, topotest.PCIex4(topotest.AMD))
	far := &m.gpuToGPU[2]
	if n := m.walk(far, 3, 20); n != 1 {
		t.Errorf("20 GB/s got over %d links, want 1: the second has 16", n)
	}
	m.walk(far, 1, -20)
	s := &searcher{machine: m}
	s.try.typeIntra, s.try.bwIntra = graph.SYS, 20
	if s.follow(s.leg(0, 2), 1) || s.try.nHops != 0 {
		t.Error("followed")
	}
	equal(t, "after the failure", left(m, far), 24, 16, 24)
	s.try.typeIntra, s.try.bwIntra = graph.PHB, 10
	if s.follow(s.leg(0, 2), 1) {
		t.Error("a path of type SYS was followed with the limit at PHB")
	}
	s.try.typeIntra = graph.SYS
	if !s.follow(s.leg(0, 2), 1) || s.try.nHops != 3 {
		t.Errorf("not followed, %d hops", s.try.nHops)
	}
	// What is given back needs no type: limits may have changed since.
	s.try.typeIntra = graph.LOC
	if !s.follow(s.leg(0, 2), -1) || s.try.nHops != 0 {
		t.Errorf("not given back, %d hops", s.try.nHops)
	}
}

// What comes into a GPU older than sm 80 from a NIC takes an eighth of the link
// back as well.
func TestOldGPUsReadBack(t *testing.T) {
	for sm, want := range map[int]float32{70: 10.5, 75: 10.5, 80: 12, 89: 12} {
		m := machineOf(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
			topotest.GPU(4, 0, sm, topotest.Gen3), topotest.NIC(9, topotest.Gen3, topotest.Net(0, 100000)))))
		in, out := &m.netToGPU[0], &m.gpuToNet[0]
		m.walk(in, 3, 12)
		equal(t, "in", left(m, in), 0.5, 0, 0)
		equal(t, "out", left(m, out), want, 12, 12.5)
		m.walk(in, 3, -12)
		equal(t, "out, given back", left(m, out), 12, 12, 12.5)
	}
}

// NVLinks to a POWER CPU are used up both ways at once.
func TestPOWERLinksBothWays(t *testing.T) {
	gpu := func(bus, rank int) topo.Device {
		return topotest.GPU(bus, rank, 70, topotest.Gen3, topo.NVLink{Class: topo.ClassCPU, Count: 3})
	}
	m := machineOf(t, topotest.Machine(topotest.Socket(topotest.POWER, 0, gpu(4, 0), gpu(5, 1))))
	there, back := &m.gpuToGPU[1], &m.gpuToGPU[2]
	if n := m.walk(there, 2, 20); n != 2 {
		t.Fatalf("%d of 2 links", n)
	}
	equal(t, "0 to 1", left(m, there), 40, 40)
	equal(t, "1 to 0", left(m, back), 60, 40) // into CPU only: the link to GPU 1 has no CPU at its end
	if n := m.walk(back, 2, 50); n != 0 {
		t.Errorf("50 GB/s back got over %d links, want none: the first has 60, but 40 the other way", n)
	}
}

// Trees are used both ways, so the way back must not be too far either.
func TestTreesLookBack(t *testing.T) {
	m := machineOf(t, topotest.Box{CPU: topotest.AMD, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}.Machine())
	s := &searcher{machine: m}
	out := s.legToNet(0, 1) // PXN there, PHB back
	s.try.typeInter = graph.PXN
	for pattern, far := range map[Pattern]bool{Ring: false, BalancedTree: true, SplitTree: true, Tree: true, NVLS: false} {
		if s.try.pattern = pattern; s.tooFar(out) != far {
			t.Errorf("pattern %d: too far %v, want %v", pattern, !far, far)
		}
	}
}
