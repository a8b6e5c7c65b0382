package graph_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

const (
	gen4      = 0x1000c0101000a000
	gen5Upper = 0x1000c03010000000
	gen5Lower = 0x1000c03010001000
)

func chip(bus int, id uint64, below ...topo.Device) topo.Device {
	d := topotest.Switch(bus, topotest.Gen4, below...)
	d.SwitchID = id
	return d
}

// twoLevels has four devices below two lower halves of a switch.
func twoLevels(upper, lower uint64) *topo.System {
	gpu := func(bus, rank int) topo.Device { return topotest.GPU(bus, rank, 80, topotest.Gen4) }
	return topotest.Machine(topotest.Socket(topotest.Skylake, 0,
		chip(0x10, upper,
			chip(0x11, lower, gpu(0x12, 0), topotest.NIC(0x13, topotest.Gen4, topotest.Net(0, 200000))),
			chip(0x21, lower, gpu(0x22, 1), gpu(0x23, 2)))))
}

func TestTwoLevelSwitchesBecomeOne(t *testing.T) {
	for name, ids := range map[string][2]uint64{
		"fourth generation": {gen4, gen4 | 0xfff}, "fifth": {gen5Upper | 0x12, gen5Lower},
	} {
		t.Run(name, func(t *testing.T) {
			g := build(t, twoLevels(ids[0], ids[1]))
			switches, gpus := g.NodesOf(graph.PCI), g.NodesOf(graph.GPU)
			if len(switches) != 1 {
				t.Fatalf("%d switches are left, want 1", len(switches))
			}
			// In the order of the halves, and the uplink last.
			wantLinks(t, switches[0], "PCI[24] GPU/12000", "PCI[24] NIC/13000", "PCI[24] GPU/22000", "PCI[24] GPU/23000", "PCI[24] CPU/0")
			wantLinks(t, gpus[1], "PCI[24] PCI/10000")
			wantPath(t, g, gpus[0], gpus[1], "2/24/PIX")
			if id := switches[0].PCI.Device; id&0xffff != 0xffff {
				t.Errorf("device id %x does not end in ffff", id)
			}
		})
	}
}

// Other switches stay, and so do halves in the wrong places.
func TestOtherSwitchesStay(t *testing.T) {
	for name, ids := range map[string][2]uint64{
		"no Broadcom": {0, 0}, "an upper below an upper": {gen5Upper, gen5Upper},
		"a lower on top": {gen5Lower, gen5Lower}, "two generations": {gen4, gen5Lower},
	} {
		t.Run(name, func(t *testing.T) {
			g := build(t, twoLevels(ids[0], ids[1]))
			if n := len(g.NodesOf(graph.PCI)); n != 3 {
				t.Errorf("%d switches, want 3", n)
			}
			wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.GPU)[1], "4/24/PXB")
		})
	}
}

// A switch that was merged once takes no third level in.
func TestThreeLevels(t *testing.T) {
	g := build(t, topotest.Machine(topotest.Socket(topotest.Skylake, 0,
		chip(0x10, gen4, chip(0x11, gen4, chip(0x12, gen4, topotest.GPU(0x13, 0, 80, topotest.Gen4)))))))
	switches := g.NodesOf(graph.PCI)
	if len(switches) != 2 {
		t.Fatalf("%d switches, want 2", len(switches))
	}
	wantLinks(t, switches[0], "PCI[24] PCI/12000", "PCI[24] CPU/0")
	wantLinks(t, switches[1], "PCI[24] GPU/13000", "PCI[24] PCI/10000")
}

// A lower half that is also joined to its upper half directly is merged once.
func TestHalfJoinedTwice(t *testing.T) {
	lower := chip(0x11, gen5Lower, topotest.GPU(0x12, 0, 80, topotest.Gen4))
	upper := chip(0x10, gen5Upper, lower)
	upper.Devices[0].Peers = []topo.BusID{upper.BusID}
	upper.Peers = []topo.BusID{lower.BusID}
	g := build(t, topotest.Machine(topotest.Socket(topotest.Skylake, 0, upper)))
	wantLinks(t, g.NodesOf(graph.PCI)[0], "PCI[24] GPU/12000", "PCI[24] CPU/0")
}

// A direct link to a lower half elsewhere makes it part of this switch, and the
// board a circle.
func TestSwitchesInACircle(t *testing.T) {
	far := topotest.Switch(0x20, topotest.Gen4,
		chip(0x21, gen5Lower, topotest.GPU(0x22, 0, 80, topotest.Gen4)))
	near := chip(0x10, gen5Upper, topotest.GPU(0x12, 1, 80, topotest.Gen4))
	near.Peers = []topo.BusID{topotest.Bus(0x21)}
	far.Devices[0].Peers = []topo.BusID{near.BusID}
	refused(t, topotest.Machine(topotest.Socket(topotest.Skylake, 0, near, far)), "circle")
}
