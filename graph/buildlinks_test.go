package graph_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

func TestNVLinkBW(t *testing.T) {
	for sm, want := range map[int]float32{
		50: 20, 60: 18, 61: 18, 70: 20, 75: 20, 80: 20, 86: 12, 87: 20, 89: 20, 90: 20.6, 100: 20.6,
	} {
		if got := graph.NVLinkBW(sm); got != want {
			t.Errorf("sm %d: %v GB/s, want %v", sm, got, want)
		}
	}
}

// Each GPU lists its own direction; a target that is not in the job is left
// out, and two bundles to one target add up.
func TestNVLinksBetweenGPUs(t *testing.T) {
	a := topotest.GPU(4, 0, 60, topotest.Gen3, topotest.ToGPU(5, 1), topotest.ToGPU(6, 4), topotest.ToGPU(5, 2))
	b := topotest.GPU(5, 1, 70, topotest.Gen3, topotest.ToGPU(4, 3))
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, a, b)))
	wantLinks(t, g.NodesOf(graph.GPU)[0], "NVL[54] GPU/5000", "PCI[12] CPU/0")
	wantLinks(t, g.NodesOf(graph.GPU)[1], "NVL[60] GPU/4000", "PCI[12] CPU/0")
}

func TestNVLinkListedOnce(t *testing.T) {
	a := topotest.GPU(4, 0, 70, topotest.Gen3, topotest.ToGPU(5, 1))
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, a, topotest.GPU(5, 1, 70, topotest.Gen3))),
		"GPU/4000 has a NVL link to GPU/5000", "none back", "both sides")
}

// All NVSwitches are one node, also those of targets that are no switch.
func TestOneNVSwitch(t *testing.T) {
	odd := topotest.ToSwitch(6)
	odd.Class, odd.Target = topo.ClassSwitch, 1234
	a := topotest.GPU(4, 0, 90, topotest.Gen5, topotest.ToSwitch(12), odd)
	b := topotest.GPU(5, 1, 90, topotest.Gen5, topotest.ToSwitch(18))
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, a, b)))
	nvs := g.NodesOf(graph.NVS)
	if len(nvs) != 1 || nvs[0].NodeID != 0 {
		t.Fatalf("NVSwitches %v", nvs)
	}
	wantLinks(t, nvs[0], "NVL[370.8] GPU/4000", "NVL[370.8] GPU/5000")
	wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.GPU)[1], "2/370.8/NVL")
}

// POWER's NVLinks to the CPU and Grace's C2C go to the GPU's own CPU, beside
// its PCI link.
func TestLinksToTheCPU(t *testing.T) {
	power := topotest.GPU(4, 0, 70, topotest.Gen3, topo.NVLink{Class: topo.ClassCPU, Count: 3})
	g := build(t, topotest.Machine(topotest.Socket(topotest.POWER, 0), topotest.Socket(topotest.POWER, 8, power)))
	// The first link to the parent goes last, whatever it is.
	wantLinks(t, g.NodesOf(graph.GPU)[0], "PCI[12] CPU/8", "NVL[60] CPU/8")
	wantLinks(t, g.NodesOf(graph.CPU)[1], "NVL[60] GPU/4000", "SYS[32] CPU/0", "PCI[12] GPU/4000")

	grace := topotest.GPU(4, 0, 90, topotest.Gen5)
	grace.GPU.C2Cs = []topo.C2C{{Count: 10, MBps: 45000}}
	g = build(t, topotest.Machine(topotest.Socket(topotest.ARM, 0, topotest.Switch(2, topotest.Gen5, grace))))
	wantLinks(t, g.NodesOf(graph.GPU)[0], "NVL[450] CPU/0", "PCI[48] PCI/2000")
	wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.CPU)[0], "1/450/NVL")
}

// From below nested switches the way up to the CPU is looked for before the
// uplinks are in their place: NCCL goes round in circles.
func TestLinksToTheCPUBelowNestedSwitches(t *testing.T) {
	gpu := topotest.GPU(4, 0, 70, topotest.Gen3, topo.NVLink{Class: topo.ClassCPU, Count: 3})
	nested := topotest.Switch(2, topotest.Gen3, topotest.Switch(3, topotest.Gen3, gpu))
	refused(t, topotest.Machine(topotest.Socket(topotest.POWER, 0, nested)), "nested PCI switches")
}

func TestSwitchPeers(t *testing.T) {
	board := func(back bool) *topo.System {
		a := topotest.Switch(0x10, topotest.Gen3, topotest.GPU(0x11, 0, 70, topotest.Gen3))
		b := topotest.Switch(0x20, topotest.Gen3, topotest.GPU(0x21, 1, 70, topotest.Gen3))
		a.Peers = []topo.BusID{b.BusID, topotest.Bus(0x99)} // the second is not there
		if back {
			b.Peers = []topo.BusID{a.BusID}
		}
		return topotest.Machine(topotest.Socket(topotest.Skylake, 0, a), topotest.Socket(topotest.Skylake, 1, b))
	}
	g := build(t, board(true))
	gpus, switches := g.NodesOf(graph.GPU), g.NodesOf(graph.PCI)
	wantLinks(t, switches[0], "LOC[5000] PCI/20000", "PCI[12] GPU/11000", "PCI[12] CPU/0")
	wantPath(t, g, gpus[0], gpus[1], "3/12/PXB") // not SYS over the sockets
	refused(t, board(false), "LOC link", "none back")

	gpu := topotest.GPU(4, 0, 70, topotest.Gen3)
	gpu.Peers = []topo.BusID{topotest.Bus(5)}
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, gpu)), "pcilink", "no PCI switch")
}

// A GPU that no switch or CPU takes in has no node for its links to start at.
func TestNVLinksOfAGPUBelowAGPU(t *testing.T) {
	outer := topotest.GPU(4, 0, 70, topotest.Gen3)
	outer.Devices = []topo.Device{topotest.GPU(5, 1, 70, topotest.Gen3, topotest.ToGPU(4, 1))}
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, outer)), "0000:05:00.0", "no switch")
}
