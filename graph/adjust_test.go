package graph_test

import (
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// pair has two GPUs on one CPU, joined by a path of type PHB.
func pair(cpu topo.CPU) *topo.System {
	return topotest.Machine(topotest.Socket(cpu, 0,
		topotest.GPU(4, 0, 80, topotest.Gen4), topotest.GPU(5, 1, 80, topotest.Gen4)))
}

func level(t graph.PathType) *graph.PathType { return &t }

// mayTalk tells whether a pair may talk directly: without shared memory only
// that keeps it off the network.
func mayTalk(t *testing.T, cpu topo.CPU, l *graph.PathType) bool {
	t.Helper()
	g := buildWith(t, pair(cpu), graph.Options{NoSHM: true, P2PLevel: l})
	p, _ := g.Path(g.NodesOf(graph.GPU)[0], g.NodesOf(graph.GPU)[1])
	return p.Type == graph.PHB
}

// Intel, Zhaoxin and ARM forbid direct traffic over a CPU.
func TestP2PLevelByProcessor(t *testing.T) {
	for name, c := range map[string]struct {
		cpu  topo.CPU
		want bool
	}{
		"Intel": {topotest.Skylake, false}, "Broadwell": {topotest.Broadwell, false}, "Zhaoxin": {topotest.Zhaoxin, false},
		"ARM": {topotest.ARM, false}, "AMD": {topotest.AMD, true}, "POWER": {topotest.POWER, true},
		"unknown x86": {topo.CPU{Arch: topo.ArchX86, Vendor: topo.VendorUnknown}, true}, "unknown": {topo.CPU{}, true},
	} {
		if got := mayTalk(t, c.cpu, nil); got != c.want {
			t.Errorf("%s: direct traffic over the CPU %v, want %v", name, got, c.want)
		}
	}
}

// A level that was set counts whatever the processor.
func TestP2PLevelBySetting(t *testing.T) {
	for l := graph.LOC; l <= graph.SYS; l++ {
		for _, cpu := range []topo.CPU{topotest.Skylake, topotest.AMD} {
			if got, want := mayTalk(t, cpu, level(l)), l >= graph.PHB; got != want {
				t.Errorf("level %s: direct traffic over the CPU %v, want %v", l, got, want)
			}
		}
	}
}

// What may not talk directly goes through the destination's own CPU, also where
// NVLink would be there.
func TestThroughTheCPU(t *testing.T) {
	g := buildWith(t, topotest.V100x4(), graph.Options{P2PLevel: level(graph.LOC)})
	gpus := g.NodesOf(graph.GPU)
	wantPath(t, g, gpus[0], gpus[1], "2/12/PHB")
	// To the other socket by the way that GPU 0 has to CPU 1: over NVLink.
	wantPath(t, g, gpus[0], gpus[2], "3/12/PHB")
}

// sockets joins two sockets at some GB/s; each has a GPU and a 24 GB/s NIC on a
// switch.
func sockets(cpu topo.CPU, links ...topo.NVLink) *topo.System {
	side := func(i, bus int) topo.Device {
		g := topotest.GPU(bus+1, i, 80, topotest.Gen4)
		for _, l := range links {
			l.Target = topotest.Bus(0x11 + 0x20*(1-i))
			g.GPU.NVLinks = append(g.GPU.NVLinks, l)
		}
		return topotest.Switch(bus, topotest.Gen4, g, topotest.NIC(bus+8, topotest.Gen4, topotest.Net(i, 200000)))
	}
	return topotest.Machine(topotest.Socket(cpu, 0, side(0, 0x10)), topotest.Socket(cpu, 1, side(1, 0x30)))
}

// GPUs with NICs that are faster than the way between them are left to the
// network.
func TestNetworkBetterThanTheWayBetween(t *testing.T) {
	for name, c := range map[string]struct {
		sys  *topo.System
		opt  graph.Options
		want string
	}{
		"10 GB/s between, 24 out":            {sockets(topotest.Skylake), graph.Options{}, "5/10/NET"},
		"AMD, direct traffic allowed":        {sockets(topotest.AMD), graph.Options{}, "5/16/NET"},
		"as fast between":                    {sockets(topotest.POWER), graph.Options{}, "5/24/SYS"},
		"NCCL_NET_DISABLE_INTRA":             {sockets(topotest.Skylake), graph.Options{NoNetIntra: true}, "5/10/SYS"},
		"no communicator":                    {sockets(topotest.Skylake), graph.Options{KeepUnreachable: true}, "5/10/SYS"},
		"NVLink":                             {sockets(topotest.Skylake, topotest.ToGPU(0, 2)), graph.Options{}, "1/40/NVL"},
		"one NVLink, slower than the NICs":   {sockets(topotest.Skylake, topotest.ToGPU(0, 1)), graph.Options{}, "1/20/NET"},
		"no shared memory, P2P not allowed":  {pair(topotest.Skylake), graph.Options{NoSHM: true}, "2/24/NET"},
		"no shared memory, P2P allowed":      {pair(topotest.AMD), graph.Options{NoSHM: true}, "2/24/PHB"},
		"no P2P, but shared memory":          {pair(topotest.AMD), graph.Options{P2PLevel: level(graph.LOC)}, "2/24/PHB"},
		"neither shared memory nor P2P":      {pair(topotest.AMD), graph.Options{NoSHM: true, P2PLevel: level(graph.LOC)}, "2/24/NET"},
		"NICs behind the CPU are not nearby": {nicsOnCPUs(), graph.Options{}, "3/10/SYS"},
	} {
		t.Run(name, func(t *testing.T) {
			g := buildWith(t, c.sys, c.opt)
			wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.GPU)[1], c.want)
		})
	}
}

func nicsOnCPUs() *topo.System {
	side := func(i int) []topo.Device {
		return []topo.Device{
			topotest.GPU(0x11+0x20*i, i, 80, topotest.Gen4),
			topotest.NIC(0x18+0x20*i, topotest.Gen4, topotest.Net(i, 200000)),
		}
	}
	return topotest.Machine(topotest.Socket(topotest.Skylake, 0, side(0)...), topotest.Socket(topotest.Skylake, 1, side(1)...))
}

// A relay over NVLink is never given up for the network, although the NICs are
// faster; without relays the network wins.
func TestRelayIsExempt(t *testing.T) {
	g := build(t, relayed())
	gpus := g.NodesOf(graph.GPU)
	wantPath(t, g, gpus[0], gpus[2], "2/20/NVB")
	wantPath(t, g, gpus[0], gpus[1], "1/20/NVL") // GPU 1 has no NIC nearby

	g = buildWith(t, relayed(), graph.Options{NoNVB: true})
	wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.GPU)[2], "5/16/NET")
}

// relayed has GPUs 0 and 2 with a NIC each on a switch of their own, on two
// sockets, and GPU 1 between them on NVLink.
func relayed() *topo.System {
	side := func(i, bus int) topo.Device {
		return topotest.Switch(bus, topotest.Gen4, topotest.GPU(bus+1, i, 70, topotest.Gen4, topotest.ToGPU(0x60, 1)),
			topotest.NIC(bus+8, topotest.Gen4, topotest.Net(i/2, 200000)))
	}
	middle := topotest.GPU(0x60, 1, 70, topotest.Gen4, topotest.ToGPU(0x11, 1), topotest.ToGPU(0x31, 1))
	return topotest.Machine(topotest.Socket(topotest.AMD, 0, side(0, 0x10), middle), topotest.Socket(topotest.AMD, 1, side(2, 0x30)))
}

// turns gives the device numbers of the networks that GPUs use in turn.
func turns(g *graph.Graph, gpu int) (devs []int) {
	for _, n := range g.LocalNets(g.NodesOf(graph.GPU)[gpu]) {
		devs = append(devs, n.Net.Dev)
	}
	return devs
}

// shared puts GPUs and NICs below one switch.
func shared(gpus, nics int) *topo.System {
	sw := topotest.Switch(0x10, topotest.Gen4)
	for i := range gpus {
		sw.Devices = append(sw.Devices, topotest.GPU(0x11+i, i, 80, topotest.Gen4, topotest.ToSwitch(12)))
	}
	for i := range nics {
		sw.Devices = append(sw.Devices, topotest.NIC(0x20+i, topotest.Gen4, topotest.Net(i, 200000)))
	}
	return topotest.Machine(topotest.Socket(topotest.AMD, 0, sw))
}

func TestLocalNets(t *testing.T) {
	for _, c := range []struct {
		gpus, nics int
		want       [][]int // by GPU
	}{
		{2, 1, [][]int{{0}, {0}}},
		{2, 2, [][]int{{0}, {1}}},
		{4, 4, [][]int{{0}, {2}, {1}, {3}}}, // the device number's bits mirrored
		{2, 4, [][]int{{0, 1}, {2, 3}}},
		{4, 2, [][]int{{0}, {1}, {0}, {1}}},
		{1, 3, [][]int{{0, 1, 2}}},
		{2, 3, [][]int{{0, 1}, {1, 2}}}, // three: not mirrored, two turns each
		{4, 3, [][]int{{0}, {1}, {2}, {0}}},
	} {
		g := build(t, shared(c.gpus, c.nics))
		for i, want := range c.want {
			if got := turns(g, i); !slices.Equal(got, want) {
				t.Errorf("%d GPUs, %d NICs: GPU %d uses %v, want %v", c.gpus, c.nics, i, got, want)
			}
		}
	}
}

func TestLocalGPU(t *testing.T) {
	for _, c := range []struct {
		gpus, nics int
		want       []int // by network
	}{
		{4, 4, []int{0, 2, 1, 3}}, {2, 4, []int{0, 0, 1, 1}}, {4, 2, []int{0, 1}}, {2, 3, []int{0, 1, 1}},
	} {
		g := build(t, shared(c.gpus, c.nics))
		for i, n := range g.NodesOf(graph.NET) {
			if got := g.LocalGPU(n).Index; got != c.want[i] {
				t.Errorf("%d GPUs, %d NICs: network %d belongs to GPU %d, want %d", c.gpus, c.nics, i, got, c.want[i])
			}
		}
	}
	g := build(t, topotest.V100x4())
	if n := g.LocalNets(g.NodesOf(graph.GPU)[0]); n != nil {
		t.Errorf("networks %v on a machine without", n)
	}
}
