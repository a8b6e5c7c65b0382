package graph_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// twoSwitches has a GPU on each of two switches, joined by NVLink, and a NIC on
// the second switch only.
func twoSwitches(cpu topo.CPU, links int, change func(far, near *topo.Device, nic *topo.Device)) *topo.System {
	far := topotest.GPU(0x11, 0, 80, topotest.Gen4, topotest.ToGPU(0x31, links))
	near := topotest.GPU(0x31, 1, 80, topotest.Gen4, topotest.ToGPU(0x11, links))
	nic := topotest.NIC(0x38, topotest.Gen4, topotest.Net(0, 200000))
	if change != nil {
		change(&far, &near, &nic)
	}
	return topotest.Machine(topotest.Socket(cpu, 0,
		topotest.Switch(0x10, topotest.Gen4, far), topotest.Switch(0x30, topotest.Gen4, near, nic)))
}

func TestPXN(t *testing.T) {
	noGDR := func(far, near, nic *topo.Device) { nic.NIC.Nets[0].GDR = false }
	for name, c := range map[string]struct {
		sys       *topo.System
		opt       graph.Options
		far, near string
	}{
		"over NVLink to the GPU at the NIC": {twoSwitches(topotest.AMD, 2, nil), graph.Options{}, "4/24/PXN", "3/24/PIX"},
		"NCCL_PXN_DISABLE":                  {twoSwitches(topotest.AMD, 2, nil), graph.Options{NoPXN: true}, "5/24/PHB", "3/24/PIX"},
		"also over a narrow NVLink":         {twoSwitches(topotest.AMD, 1, nil), graph.Options{}, "4/20/PXN", "3/24/PIX"},
		"no NVLink, no relay":               {pcieSwitches(), graph.Options{}, "5/24/PHB", "3/24/PIX"},
		"without GPUDirect":                 {twoSwitches(topotest.AMD, 2, noGDR), graph.Options{}, "5/24/PHB", "5/24/PHB"},
	} {
		t.Run(name, func(t *testing.T) {
			g := buildWith(t, c.sys, c.opt)
			gpus, net := g.NodesOf(graph.GPU), g.NodesOf(graph.NET)[0]
			wantPath(t, g, gpus[0], net, c.far)
			wantPath(t, g, gpus[1], net, c.near)
		})
	}
}

func pcieSwitches() *topo.System {
	return twoSwitches(topotest.AMD, 2, func(far, near, _ *topo.Device) { far.GPU.NVLinks, near.GPU.NVLinks = nil, nil })
}

// PXN is for sending only: the NIC writes to the far GPU itself.
func TestPXNIsOneWay(t *testing.T) {
	g := build(t, twoSwitches(topotest.AMD, 2, nil))
	wantPath(t, g, g.NodesOf(graph.NET)[0], g.NodesOf(graph.GPU)[0], "5/24/PHB")
}

// A relay that also gives more bandwidth is taken from a GPU that could reach
// the NIC without a CPU.
func TestPXNForBandwidth(t *testing.T) {
	slow := topotest.GPU(0x11, 0, 80, topotest.Gen3, topotest.ToSwitch(12))
	fast := topotest.GPU(0x12, 1, 80, topotest.Gen4, topotest.ToSwitch(12))
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.Switch(0x10, topotest.Gen4, slow, fast, topotest.NIC(0x18, topotest.Gen4, topotest.Net(0, 200000))))))
	wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.NET)[0], "5/24/PXN")
}

func TestGPUDirectLevel(t *testing.T) {
	for l := graph.LOC; l <= graph.SYS; l++ {
		g := buildWith(t, twoSwitches(topotest.AMD, 2, nil), graph.Options{GDRLevel: level(l)})
		gpus, net := g.NodesOf(graph.GPU), g.NodesOf(graph.NET)[0]
		near, far := "3/24/PIX", "4/24/PXN"
		if l < graph.PIX {
			near = "5/24/PHB" // up to the CPU and back
			// GPU 0 came first, when GPU 1 still was a good relay; then GPUDirect
			// failed for it by the relay's distance.
			far = "5/24/PHB"
		}
		wantPath(t, g, gpus[1], net, near)
		wantPath(t, g, gpus[0], net, far)
	}
}

// Networks and GPUs are gone through one by one: a relay with a lower index has
// lost GPUDirect already when the next GPU asks for it, one with a higher index
// not yet. Both end at the CPU, but by different ways.
func TestOrderOfPXNAndGPUDirect(t *testing.T) {
	machine := func(nearFirst bool) *topo.System {
		near := topotest.Switch(0x30, topotest.Gen4,
			topotest.GPU(0x31, 0, 80, topotest.Gen4, topotest.ToGPU(0x11, 2)), topotest.NIC(0x38, topotest.Gen4, topotest.Net(0, 200000)))
		near.Devices[1].NIC.Nets[0].GDR = false
		far := topotest.Switch(0x10, topotest.Gen4, topotest.GPU(0x11, 1, 80, topotest.Gen4, topotest.ToGPU(0x31, 2)))
		if nearFirst {
			return topotest.Machine(topotest.Socket(topotest.Skylake, 0, near), topotest.Socket(topotest.Skylake, 1, far))
		}
		return topotest.Machine(topotest.Socket(topotest.Skylake, 0, far), topotest.Socket(topotest.Skylake, 1, near))
	}
	// Relay first: PXN is refused, the direct path is SYS and stays as it was
	// found.
	g := build(t, machine(true))
	wantPath(t, g, g.NodesOf(graph.GPU)[1], g.NodesOf(graph.NET)[0], "6/10/SYS")
	// Relay last: PXN is taken, then, since GPUDirect is not, given up for the way
	// through the GPU's own CPU.
	g = build(t, machine(false))
	wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.NET)[0], "6/10/SYS")
	wantPath(t, g, g.NodesOf(graph.NET)[0], g.NodesOf(graph.GPU)[0], "6/10/SYS")
}

// A GPU without GPUDirect goes through the CPU both ways; others do not.
func TestGPUWithoutGPUDirect(t *testing.T) {
	g := build(t, twoSwitches(topotest.AMD, 2, func(_, near, _ *topo.Device) { near.GPU.GDR = false }))
	gpus, net := g.NodesOf(graph.GPU), g.NodesOf(graph.NET)[0]
	wantPath(t, g, gpus[1], net, "5/24/PHB")
	wantPath(t, g, net, gpus[1], "5/24/PHB")
	// GPU 0 took its relay before that: its own flag counts, and the distance
	// of the relay, which was near then.
	wantPath(t, g, gpus[0], net, "4/24/PXN")
}

// NCCL cannot tell which GPU relays where the path to it passes a CPU.
func TestPXNOverTheCPU(t *testing.T) {
	grace := func(bus, rank int) topo.Device {
		d := topotest.GPU(bus, rank, 90, topotest.Gen5)
		d.GPU.C2Cs = []topo.C2C{{Count: 10, MBps: 45000}}
		return d
	}
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.Switch(0x10, topotest.Gen5, grace(0x11, 0)),
		topotest.Switch(0x20, topotest.Gen5, grace(0x21, 1), topotest.NIC(0x28, topotest.Gen5, topotest.Net(0, 200000))))),
		"leads over a CPU", "NCCL_PXN_DISABLE")
}
