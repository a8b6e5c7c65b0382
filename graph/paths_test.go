package graph_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// chain joins GPUs 0-1, 1-2, ... by NVLink, two links each, on one socket.
func chain(cpu topo.CPU, n int) *topo.System {
	var gpus []topo.Device
	for i := range n {
		g := topotest.GPU(4+i, i, 70, topotest.Gen3)
		if i > 0 {
			g.GPU.NVLinks = append(g.GPU.NVLinks, topotest.ToGPU(3+i, 2))
		}
		if i < n-1 {
			g.GPU.NVLinks = append(g.GPU.NVLinks, topotest.ToGPU(5+i, 2))
		}
		gpus = append(gpus, g)
	}
	return topotest.Machine(topotest.Socket(cpu, 0, gpus...))
}

// Traffic passes one GPU, from NVLink to NVLink, but not two.
func TestThroughAGPU(t *testing.T) {
	g := build(t, chain(topotest.AMD, 4))
	gpus := g.NodesOf(graph.GPU)
	wantPath(t, g, gpus[0], gpus[1], "1/40/NVL")
	wantPath(t, g, gpus[0], gpus[2], "2/40/NVB")
	wantPath(t, g, gpus[0], gpus[3], "2/12/PHB")

	g = buildWith(t, chain(topotest.AMD, 4), graph.Options{NoNVB: true})
	gpus = g.NodesOf(graph.GPU)
	wantPath(t, g, gpus[0], gpus[2], "2/12/PHB")
	wantPath(t, g, gpus[0], gpus[1], "1/40/NVL")
}

func TestPCIPathTypes(t *testing.T) {
	gpu := func(bus, rank int) topo.Device { return topotest.GPU(bus, rank, 80, topotest.Gen4) }
	g := build(t, topotest.Machine(
		topotest.Socket(topotest.AMD, 0,
			topotest.Switch(0x10, topotest.Gen4,
				topotest.Switch(0x11, topotest.Gen4, gpu(0x12, 0), gpu(0x13, 1)),
				topotest.Switch(0x21, topotest.Gen4, gpu(0x22, 2))),
			gpu(0x30, 3)),
		topotest.Socket(topotest.AMD, 1, gpu(0x40, 4))))
	gpus := g.NodesOf(graph.GPU)
	wantPath(t, g, gpus[0], gpus[1], "2/24/PIX")
	wantPath(t, g, gpus[0], gpus[2], "4/24/PXB")
	wantPath(t, g, gpus[0], gpus[3], "4/24/PHB")
	wantPath(t, g, gpus[0], gpus[4], "5/16/SYS")
	wantPath(t, g, gpus[0], g.NodesOf(graph.CPU)[1], "4/16/SYS")
	if p, ok := g.Path(gpus[0], g.NodesOf(graph.PCI)[0]); ok || p.Type != graph.DIS {
		t.Errorf("there is a path to a switch: %v", p)
	}
}

// Among equally short ways the widest is taken; among equally wide ones the
// first found.
func TestWiderOfEquallyShort(t *testing.T) {
	narrow := topotest.GPU(4, 0, 70, topotest.Gen3, topotest.ToGPU(5, 1), topotest.ToGPU(6, 3))
	m := topotest.Machine(topotest.Socket(topotest.AMD, 0, narrow,
		topotest.GPU(5, 1, 70, topotest.Gen3, topotest.ToGPU(4, 1), topotest.ToGPU(7, 2)),
		topotest.GPU(6, 2, 70, topotest.Gen3, topotest.ToGPU(4, 3), topotest.ToGPU(7, 2)),
		topotest.GPU(7, 3, 70, topotest.Gen3, topotest.ToGPU(5, 2), topotest.ToGPU(6, 2))))
	g := build(t, m)
	gpus := g.NodesOf(graph.GPU)
	wantPath(t, g, gpus[0], gpus[3], "2/40/NVB")
	if p, _ := g.Path(gpus[0], gpus[3]); p.Links[0].To != gpus[2] {
		t.Errorf("through %s, want the wider way through %s", p.Links[0].To, gpus[2])
	}
}

// Worked example 6.2: on Intel all pairs go through the destination's CPU, with
// the same figures as the direct way; on AMD the sockets are joined at 16.
func TestFourPCIeGPUs(t *testing.T) {
	for _, c := range []struct {
		name string
		cpu  topo.CPU
		far  string
	}{{"Intel", topotest.Skylake, "3/10/SYS"}, {"AMD", topotest.AMD, "3/16/SYS"}} {
		g := build(t, topotest.PCIex4(c.cpu))
		gpus := g.NodesOf(graph.GPU)
		wantPath(t, g, gpus[0], gpus[1], "2/24/PHB")
		wantPath(t, g, gpus[0], gpus[2], c.far)
		if g.MaxBW != 24 || g.TotalBW != 24 {
			t.Errorf("%s: maxBw %v totalBw %v, want 24", c.name, g.MaxBW, g.TotalBW)
		}
	}
}

// Worked examples 6.3 A and B.
func TestBoxPaths(t *testing.T) {
	for _, c := range []struct {
		name           string
		box            topotest.Box
		maxBW, totalBW float32
	}{
		{"A", topotest.Box{CPU: topotest.AMD, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}, 24, 240},
		{"B", topotest.Box{CPU: topotest.Skylake, GPUsPerSwitch: 2, SM: 90, NVLinks: 18, Speed: topotest.Gen5}, 25, 370.80002}, // rounded: searches leave 370.8
	} {
		g := build(t, c.box.Machine())
		if g.MaxBW != c.maxBW || g.TotalBW != c.totalBW {
			t.Errorf("%s: maxBw %v totalBw %v, want %v and %v", c.name, g.MaxBW, g.TotalBW, c.maxBW, c.totalBW)
		}
		gpus, nets := g.NodesOf(graph.GPU), g.NodesOf(graph.NET)
		bw := map[float32]string{24: "24", 25: "25"}[c.maxBW]
		wantPath(t, g, gpus[0], nets[0], "3/"+bw+"/PIX")
		wantPath(t, g, gpus[0], nets[1], "5/"+bw+"/PXN") // two hops over NVLink, three from GPU 2
		wantPath(t, g, nets[1], gpus[0], map[string]string{"A": "5/24/PHB", "B": "5/25/PHB"}[c.name])
		if p, _ := g.Path(gpus[0], nets[1]); p.Links[1].To != gpus[2] {
			t.Errorf("%s: relayed by %s, want %s", c.name, p.Links[1].To, gpus[2])
		}
	}
}

// Worked example 6.3 E: without GPUDirect all network paths go through a CPU.
func TestBoxWithoutGPUDirect(t *testing.T) {
	g := build(t, topotest.Box{CPU: topotest.AMD, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4, NoGDR: true}.Machine())
	for _, n := range g.NodesOf(graph.NET) {
		for _, x := range g.NodesOf(graph.GPU) {
			want := "6/16/SYS"
			if x.Index/4 == n.Index/2 {
				want = "5/24/PHB"
			}
			wantPath(t, g, x, n, want)
		}
	}
}

func TestSingleGPU(t *testing.T) {
	g := build(t, topotest.Machine(topotest.Socket(topotest.AMD, 0, topotest.GPU(4, 0, 89, topotest.Gen4))))
	if g.MaxBW != 5000 || g.TotalBW != 5000 {
		t.Errorf("maxBw %v totalBw %v, want 5000", g.MaxBW, g.TotalBW)
	}
}
