package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

func build(t testing.TB, sys *topo.System) *graph.Graph { return buildWith(t, sys, graph.Options{}) }

func buildWith(t testing.TB, sys *topo.System, opt graph.Options) *graph.Graph {
	t.Helper()
	g, err := graph.Build(sys, opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// refused builds a machine that makes no sense; the error must say all words.
func refused(t *testing.T, sys *topo.System, words ...string) {
	t.Helper()
	_, err := graph.Build(sys, graph.Options{})
	if !errors.Is(err, graph.ErrNonsense) {
		t.Fatalf("got %v, want an ErrNonsense", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// links lists a node's links as NCCL prints them.
func links(n *graph.Node) (list []string) {
	for _, l := range n.Links {
		list = append(list, fmt.Sprintf("%s[%.4g] %s", l.Type, l.BW, l.To))
	}
	return list
}

func wantLinks(t *testing.T, n *graph.Node, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, links(n)); d != "" {
		t.Errorf("links of %s (-want +got)\n%s", n, d)
	}
}

// path gives hops/bandwidth/type, as NCCL prints a path.
func path(g *graph.Graph, from, to *graph.Node) string {
	p, ok := g.Path(from, to)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%d/%.4g/%s", p.Hops(), p.BW, p.Type)
}

func wantPath(t *testing.T, g *graph.Graph, from, to *graph.Node, want string) {
	t.Helper()
	if got := path(g, from, to); got != want {
		t.Errorf("path from %s to %s: %s, want %s", from, to, got, want)
	}
}

// Worked example 6.1.
func TestFourV100(t *testing.T) {
	g := build(t, topotest.V100x4())
	if g.MaxBW != 40 || g.TotalBW != 120 {
		t.Errorf("maxBw %v totalBw %v, want 40 and 120", g.MaxBW, g.TotalBW)
	}
	gpus, cpus := g.NodesOf(graph.GPU), g.NodesOf(graph.CPU)
	wantLinks(t, gpus[0], "NVL[40] GPU/5000", "NVL[40] GPU/84000", "NVL[40] GPU/85000", "PCI[12] CPU/0")
	wantLinks(t, cpus[0], "PCI[12] GPU/4000", "PCI[12] GPU/5000", "SYS[6] CPU/1")
	wantPath(t, g, gpus[0], gpus[0], "0/5000/LOC")
	wantPath(t, g, gpus[0], gpus[3], "1/40/NVL")
	wantPath(t, g, gpus[0], cpus[0], "1/12/PHB")
	// Through a GPU of the other socket and NVLink, not over the 6 GB/s between
	// the sockets.
	wantPath(t, g, gpus[0], cpus[1], "2/12/PHB")
	if p, _ := g.Path(gpus[0], cpus[1]); p.Links[0].To != gpus[2] {
		t.Errorf("GPU 0 reaches CPU 1 through %s, want %s", p.Links[0].To, gpus[2])
	}
}

func TestPCIBandwidth(t *testing.T) {
	for _, c := range []struct {
		speed, width int
		want         float32
	}{
		{60, 16, 12}, {120, 16, 24}, {240, 16, 48}, {480, 16, 96}, {15, 1, 0.1875},
		{60, 8, 6}, {60, 0, 12}, {30, 4, 1.5},
	} {
		d := topotest.GPU(4, 0, 80, c.speed)
		d.Width = c.width
		g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, d)))
		if got := g.NodesOf(graph.GPU)[0].Links[0].BW; got != c.want {
			t.Errorf("speed %d width %d: %v GB/s, want %v", c.speed, c.width, got, c.want)
		}
	}
}

func TestInterCPUBandwidth(t *testing.T) {
	cpu := func(v topo.Vendor, m topo.CPUModel) topo.CPU {
		return topo.CPU{Arch: topo.ArchX86, Vendor: v, Model: m}
	}
	for _, c := range []struct {
		cpu  topo.CPU
		want float32
	}{
		{topotest.Skylake, 10}, {topotest.Broadwell, 6}, {topotest.AMD, 16}, {topotest.ARM, 6}, {topotest.POWER, 32},
		{topotest.Zhaoxin, 9}, {cpu(topo.VendorZhaoxin, topo.ModelUndefined), 6},
		{cpu(topo.VendorUnknown, topo.ModelUndefined), 5000}, {topo.CPU{}, 5000},
	} {
		other := topotest.Socket(topotest.POWER, 1)
		g := build(t, topotest.Machine(topotest.Socket(c.cpu, 0, topotest.GPU(4, 0, 80, topotest.Gen4)), other))
		cpus := g.NodesOf(graph.CPU)
		for _, l := range cpus[0].Links {
			if l.To == cpus[1] && (l.Type != graph.LinkSYS || l.BW != c.want) {
				t.Errorf("%+v: %s of %v GB/s, want SYS of %v", c.cpu, l.Type, l.BW, c.want)
			}
		}
		// The source's processor decides, so the way back is POWER's.
		wantLinks(t, cpus[1], "SYS[32] CPU/0")
	}
}

func TestNICFunctionsShareOneCard(t *testing.T) {
	second := topotest.NIC(9, topotest.Gen4, topotest.Net(1, 100000))
	second.BusID |= 1
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.GPU(4, 0, 80, topotest.Gen4),
		topotest.NIC(9, topotest.Gen4, topotest.Net(0, 100000)), second)))
	if n := len(g.NodesOf(graph.NIC)); n != 1 {
		t.Fatalf("%d NIC nodes, want 1", n)
	}
	// One PCI link only, not twice the bandwidth.
	wantLinks(t, g.NodesOf(graph.NIC)[0], "NET[12.5] NET/0", "NET[12.5] NET/1", "PCI[24] CPU/0")
}

func TestVirtualNICsShareTheFirstCPU(t *testing.T) {
	virtual := func(dev int) topo.Device {
		return topo.Device{Class: topo.ClassNIC, Virtual: true, NIC: &topo.NIC{Nets: []topo.Net{topotest.Net(dev, 0)}}}
	}
	g := build(t, topotest.Machine(
		topotest.Socket(topotest.AMD, 0, topotest.GPU(4, 0, 80, topotest.Gen4)),
		topotest.Socket(topotest.AMD, 1, virtual(0)),
		topotest.Socket(topotest.AMD, 2, virtual(1))))
	nic := g.NodesOf(graph.NIC)[0]
	if len(g.NodesOf(graph.NIC)) != 1 || nic.NodeID != 0 {
		t.Fatalf("NIC nodes %v, want one with id 0", g.NodesOf(graph.NIC))
	}
	wantLinks(t, nic, "NET[1.25] NET/0", "NET[1.25] NET/1", "PCI[5000] CPU/1") // no speed: 10 Gb/s
	wantPath(t, g, g.NodesOf(graph.GPU)[0], g.NodesOf(graph.NET)[1], "4/1.25/SYS")
}

// A NIC in a GPU's own PCI device takes the link to the switch, so the GPU is
// left to its NVLinks.
func TestGPUAndNICInOneDevice(t *testing.T) {
	both := topotest.GPU(4, 0, 80, topotest.Gen4, topotest.ToGPU(5, 2))
	both.NIC = &topo.NIC{Nets: []topo.Net{topotest.Net(0, 100000)}}
	other := topotest.GPU(5, 1, 80, topotest.Gen4, topotest.ToGPU(4, 2))
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, both, other)))
	gpus, net := g.NodesOf(graph.GPU), g.NodesOf(graph.NET)[0]
	wantLinks(t, gpus[0], "NVL[40] GPU/5000")
	wantLinks(t, g.NodesOf(graph.NIC)[0], "NET[12.5] NET/0", "PCI[24] CPU/0")
	wantPath(t, g, gpus[0], g.NodesOf(graph.CPU)[0], "2/24/PHB")
	wantPath(t, g, gpus[1], net, "3/12.5/PHB")
	wantPath(t, g, gpus[0], net, "0/0/DIS") // GPU 1 is too far from it to relay

	// Where the card is there already, as another function, the GPU keeps its link.
	card := topotest.NIC(4, topotest.Gen4)
	g = build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, card, both, other)))
	wantLinks(t, g.NodesOf(graph.GPU)[0], "NVL[40] GPU/5000", "PCI[24] CPU/0")
}

func TestNUMAMinusOne(t *testing.T) {
	gpu, nic := topotest.GPU(4, 0, 80, topotest.Gen4), topotest.NIC(9, topotest.Gen4, topotest.Net(0, 100000))
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, -1, gpu, nic)))
	if id := g.NodesOf(graph.CPU)[0].NodeID; id != -1 || id.System() != -1 || id.Local() != 1<<56-1 {
		t.Errorf("id %d, system %d, local %x", id, id.System(), id.Local())
	}
	// Beside others it counts as a machine of its own: nothing joins them.
	g = build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, gpu, nic), topotest.Socket(topotest.AMD, -1)))
	wantLinks(t, g.NodesOf(graph.CPU)[1])
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, gpu), topotest.Socket(topotest.AMD, -1, nic)),
		"GPU/4000", "numaid")
}

func TestHostsAreNumbered(t *testing.T) {
	a, b := topotest.Socket(topotest.AMD, 0, topotest.GPU(4, 0, 80, topotest.Gen4)), topotest.Socket(topotest.AMD, 1)
	b.Host = 77
	cpu := build(t, topotest.Machine(a, b)).NodesOf(graph.CPU)[1]
	if cpu.NodeID.System() != 1 || cpu.NodeID.Local() != 1 || cpu.String() != "CPU/100000000000001" {
		t.Errorf("%s: system %d, local %d", cpu, cpu.NodeID.System(), cpu.NodeID.Local())
	}
}

// Of two networks with one id the first is found; the second only stands there.
func TestNetworksWithOneID(t *testing.T) {
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0,
		topotest.GPU(4, 0, 80, topotest.Gen4), topotest.NIC(9, topotest.Gen4, topotest.Net(0, 100000)),
		topotest.NIC(0xa, topotest.Gen4, topotest.Net(0, 200000)))))
	gpu, nets := g.NodesOf(graph.GPU)[0], g.NodesOf(graph.NET)
	wantPath(t, g, gpu, nets[0], "3/24/PHB") // the wider way, which the second one found
	wantPath(t, g, gpu, nets[1], "0/0/DIS")
}

func TestRefused(t *testing.T) {
	gpu := topotest.GPU(4, 0, 80, topotest.Gen4)
	var nets []topo.Net
	for i := range 257 {
		nets = append(nets, topotest.Net(i, 0))
	}
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0)), "no GPU")
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, gpu, topotest.NIC(9, topotest.Gen4, nets[:129]...))), "128 links")
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, gpu,
		topotest.NIC(9, topotest.Gen4, nets[:100]...), topotest.NIC(10, topotest.Gen4, nets[100:200]...),
		topotest.NIC(11, topotest.Gen4, nets[200:]...))), "256 NET")
	dev := topotest.GPU(5, 1, 80, topotest.Gen4)
	dev.GPU.Dev = -1
	refused(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, gpu, dev)), "device number -1")
}
