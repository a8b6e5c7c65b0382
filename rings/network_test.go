package rings

import (
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

func boxMachine(t *testing.T) *machine {
	return machineOf(t, topotest.Box{CPU: topotest.AMD, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}.Machine())
}

// Each GPU's own network comes first, then others by the type of the path.
func TestChooseNets(t *testing.T) {
	m := boxMachine(t)
	for _, c := range []struct {
		limit graph.PathType
		gpu   int
		want  []int
	}{
		{graph.PIX, -1, []int{0, 1, 2, 3}}, {graph.PIX, 4, []int{2}}, {graph.PXB, 5, []int{2}},
		{graph.PXN, 5, []int{2, 0, 1, 3}}, {graph.LOC, 7, []int{3}}, {graph.SYS, 2, []int{1, 0, 2, 3}},
	} {
		for range 2 { // the second time from memory
			if got := m.chooseNets(c.limit, c.gpu); !slices.Equal(got, c.want) {
				t.Errorf("up to %s, GPU %d: %v, want %v", c.limit, c.gpu, got, c.want)
			}
		}
	}
}

// Networks beyond the 32nd are never tried.
func TestChooseNetsAmongMany(t *testing.T) {
	var nets []topo.Net
	for i := range 40 {
		nets = append(nets, topotest.Net(i, 1000))
	}
	m := machineOf(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.Switch(2, topotest.Gen4, topotest.GPU(4, 0, 80, topotest.Gen4), topotest.NIC(9, topotest.Gen4, nets...)))))
	if got := m.chooseNets(graph.SYS, -1); len(got) != 32 || got[31] != 31 {
		t.Errorf("%d networks, the last %d", len(got), got[len(got)-1])
	}
}

// Of two networks with one id, the first stands for both.
func TestTurnsOfTwins(t *testing.T) {
	m := machineOf(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.GPU(4, 0, 80, topotest.Gen4),
		topotest.NIC(9, topotest.Gen4, topotest.Net(0, 100000)), topotest.NIC(10, topotest.Gen4, topotest.Net(0, 100000)))))
	if m.nets[1].first != 0 || !slices.Equal(m.localNets[0], []int{0}) {
		t.Errorf("networks %+v, turns %v", m.nets, m.localNets[0])
	}
}

// A port is charged once for all devices on it.
func TestChargePort(t *testing.T) {
	shared, other := topotest.Net(1, 100000), topotest.Net(2, 100000)
	shared.Asic, other.Asic, other.Port = topotest.Net(0, 0).Asic, topotest.Net(0, 0).Asic, 2
	s := &searcher{machine: machineOf(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.GPU(4, 0, 80, topotest.Gen4), topotest.NIC(9, topotest.Gen4, topotest.Net(0, 100000), shared, other))))}
	s.chargePort(1, -10)
	equal(t, "left", s.netBW, 2.5, 2.5, 12.5)
	s.chargePort(0, 10)
	equal(t, "given back", s.netBW, 12.5, 12.5, 12.5)
}

// Where a channel may end: networks 0 and 1 share a port, 2 and 3 do not.
func TestMayEndAt(t *testing.T) {
	s := &searcher{machine: &machine{nets: []network{
		{id: 10, asic: 1}, {id: 11, asic: 1}, {id: 12, asic: 1, port: 1}, {id: 13, asic: 2},
	}}}
	s.try = newRecord(1)
	copy(s.try.inter, []int64{10, 13, 13, 0}) // channel 0 from 10 to 13, channel 1 from 13
	ends := func(channel, start int) (list []int) {
		for x := range s.nets {
			if s.mayEndAt(x, start, channel) {
				list = append(list, x)
			}
		}
		return list
	}
	for _, c := range []struct {
		pattern        Pattern
		cross          int
		channel, start int
		want           []int
	}{
		{Ring, 0, 0, 0, []int{0, 1}},
		{Ring, 1, 0, 0, []int{0, 1, 2, 3}},
		{Ring, 1, 1, 3, []int{0}}, // odd: back to where the even one started
		{Ring, 0, 1, 3, []int{3}},
		{Tree, 0, 0, 0, []int{0}},
		{BalancedTree, 0, 0, 0, []int{0, 1}},
		{Tree, 1, 0, 1, []int{1}},
	} {
		s.try.pattern, s.try.crossNIC = c.pattern, c.cross
		if got := ends(c.channel, c.start); !slices.Equal(got, c.want) {
			t.Errorf("pattern %d, cross %d, channel %d from %d: may end at %v, want %v", c.pattern, c.cross, c.channel, c.start, got, c.want)
		}
	}
}

func TestChannelPlan(t *testing.T) {
	for _, c := range []struct {
		pattern            Pattern
		nNet               int
		backToNet, toFirst int
	}{
		{Ring, 0, -1, 7}, {BalancedTree, 0, -1, -1}, {NVLS, 0, -1, -1},
		{Ring, 2, 7, -1}, {SplitTree, 2, 1, -1}, {BalancedTree, 2, 0, -1}, {Tree, 2, 0, -1}, {NVLS, 2, 0, -1},
	} {
		s := &searcher{machine: &machine{nGPU: 8, nNet: c.nNet}}
		s.try.pattern = c.pattern
		if p := s.channelPlan(); p.backToNet != c.backToNet || p.backToFirst != c.toFirst {
			t.Errorf("pattern %d, %d networks: back to the network at %d, to the first GPU at %d; want %d and %d",
				c.pattern, c.nNet, p.backToNet, p.backToFirst, c.backToNet, c.toFirst)
		}
	}
}
