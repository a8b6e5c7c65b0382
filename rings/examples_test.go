package rings_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// The worked examples: whatever a machine's owner can count by hand.

// alone is a machine as the only one of a job; among others with more ranks.
func alone(t rapid.TB, sys *topo.System) *graph.Graph  { return node(t, sys, 1) }
func others(t rapid.TB, sys *topo.System) *graph.Graph { return node(t, sys, 2) }

func node(t rapid.TB, sys *topo.System, boxes int) *graph.Graph {
	t.Helper()
	g, err := graph.Build(sys, graph.Options{KeepUnreachable: true})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := g.Split(boxes * len(g.NodesOf(graph.GPU)))
	if err != nil {
		t.Fatal(err)
	}
	return parts[0]
}

func search(t rapid.TB, g *graph.Graph) *rings.Result {
	t.Helper()
	r, err := rings.Search(g, rings.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines prints a set as NCCL's Pattern lines do.
func lines(s rings.Set) []string {
	out := []string{fmt.Sprintf("Pattern %d, crossNic %d, nChannels %d, bw %v/%v, type %s/%s, sameChannels %d",
		s.Pattern, s.CrossNIC, s.NChannels, s.BWIntra, s.BWInter, s.TypeIntra, s.TypeInter, s.SameChannels)}
	for c, ranks := range s.Intra {
		line := ""
		if len(s.Inter) > 0 {
			line = fmt.Sprintf("NET%d", s.Inter[c][0])
		}
		for _, r := range ranks {
			line += fmt.Sprintf(" %d", r)
		}
		if len(s.Inter) > 0 {
			line += fmt.Sprintf(" NET%d", s.Inter[c][1])
		}
		out = append(out, line)
	}
	return out
}

func want(t *testing.T, what string, s rings.Set, text ...string) {
	t.Helper()
	if d := cmp.Diff(text, lines(s)); d != "" {
		t.Errorf("%s (-want +got)\n%s", what, d)
	}
}

// 6.1
func TestFourV100(t *testing.T) {
	r := search(t, alone(t, topotest.V100x4()))
	want(t, "ring", r.Ring, "Pattern 4, crossNic 0, nChannels 6, bw 20/20, type NVL/PIX, sameChannels 0",
		" 0 1 2 3", " 0 1 3 2", " 0 2 3 1", " 0 2 1 3", " 0 3 1 2", " 0 3 2 1")
	want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 6, bw 20/20, type NVL/PIX, sameChannels 0",
		" 0 1 2 3", " 0 1 2 3", " 0 2 1 3", " 0 2 1 3", " 1 0 3 2", " 1 0 3 2")
	if r.Tree.NHops != 18 {
		t.Errorf("tree: %d hops, want 6 channels of 3", r.Tree.NHops)
	}
	if r.NVLS != nil {
		t.Errorf("NVLS searched without multicast")
	}
}

// 6.1, with NVLS forced upon a machine without an NVSwitch.
func TestNVLSWithoutSwitch(t *testing.T) {
	opt := rings.DefaultOptions()
	opt.Multicast = rings.MulticastForced
	r, err := rings.Search(alone(t, topotest.V100x4()), opt)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "nvls", *r.NVLS, "Pattern 5, crossNic 0, nChannels 0, bw 0/0, type NVL/PIX, sameChannels 0")
}

// 6.2
func TestFourPCIeGPUs(t *testing.T) {
	r := search(t, alone(t, topotest.PCIex4(topotest.Skylake)))
	want(t, "Intel ring", r.Ring, "Pattern 4, crossNic 0, nChannels 1, bw 10/10, type SYS/PIX, sameChannels 1", " 0 1 2 3")
	want(t, "Intel tree", r.Tree, "Pattern 1, crossNic 0, nChannels 1, bw 10/10, type SYS/PIX, sameChannels 1", " 0 1 2 3")
	if r.Ring.NHops != 10 {
		t.Errorf("Intel: %d hops, want 10", r.Ring.NHops)
	}
	r = search(t, alone(t, topotest.PCIex4(topotest.AMD)))
	want(t, "AMD ring", r.Ring, "Pattern 4, crossNic 0, nChannels 1, bw 15/15, type SYS/PIX, sameChannels 1", " 0 1 2 3")
	want(t, "AMD tree", r.Tree, "Pattern 1, crossNic 0, nChannels 1, bw 15/15, type SYS/PIX, sameChannels 1", " 0 1 2 3")
}

// 6.3
func TestBoxesWithNICs(t *testing.T) {
	amd := topotest.Box{CPU: topotest.AMD, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}
	t.Run("A", func(t *testing.T) {
		r := search(t, others(t, amd.Machine()))
		want(t, "ring", r.Ring, "Pattern 4, crossNic 0, nChannels 4, bw 24/24, type NVL/PIX, sameChannels 0",
			"NET0 0 7 6 5 4 3 2 1 NET0", "NET1 2 1 0 7 6 5 4 3 NET1", "NET2 4 3 2 1 0 7 6 5 NET2", "NET3 6 5 4 3 2 1 0 7 NET3")
		want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 4, bw 48/24, type NVL/PIX, sameChannels 0",
			"NET0 0 1 2 3 4 5 6 7 NET0", "NET1 2 3 4 5 6 7 0 1 NET1", "NET2 4 5 6 7 0 1 2 3 NET2", "NET3 6 7 0 1 2 3 4 5 NET3")
	})
	t.Run("B", func(t *testing.T) {
		r := search(t, others(t, topotest.Box{CPU: topotest.Skylake, GPUsPerSwitch: 2, SM: 90, NVLinks: 18, Speed: topotest.Gen5}.Machine()))
		want(t, "ring", r.Ring, "Pattern 4, crossNic 0, nChannels 4, bw 24/24, type NVL/PIX, sameChannels 0",
			"NET0 0 7 6 5 4 3 2 1 NET0", "NET1 2 1 0 7 6 5 4 3 NET1", "NET2 4 3 2 1 0 7 6 5 NET2", "NET3 6 5 4 3 2 1 0 7 NET3")
		want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 4, bw 48/24, type NVL/PIX, sameChannels 0",
			"NET0 0 1 2 3 4 5 6 7 NET0", "NET1 2 3 4 5 6 7 0 1 NET1", "NET2 4 5 6 7 0 1 2 3 NET2", "NET3 6 7 0 1 2 3 4 5 NET3")
		want(t, "nvls", *r.NVLS, "Pattern 5, crossNic 0, nChannels 4, bw 24/24, type NVL/PIX, sameChannels 0",
			"NET0 0 0 0 0 0 0 0 0 NET0", "NET1 2 0 0 0 0 0 0 0 NET1", "NET2 4 0 0 0 0 0 0 0 NET2", "NET3 6 0 0 0 0 0 0 0 NET3")
	})
	pcie := topotest.Box{CPU: topotest.Skylake, GPUsPerSwitch: 1, SM: 80, Speed: topotest.Gen4}
	t.Run("C", func(t *testing.T) {
		r := search(t, others(t, pcie.Machine()))
		want(t, "ring", r.Ring, "Pattern 4, crossNic 1, nChannels 2, bw 10/10, type SYS/SYS, sameChannels 0",
			"NET0 0 1 2 3 NET3", "NET3 3 2 1 0 NET0")
		want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 2, bw 9/7, type SYS/SYS, sameChannels 0",
			"NET0 0 1 2 3 NET0", "NET3 3 2 1 0 NET3")
	})
	t.Run("D", func(t *testing.T) {
		pcie.NoGDR = true
		r := search(t, others(t, pcie.Machine()))
		want(t, "ring", r.Ring, "Pattern 4, crossNic 1, nChannels 4, bw 4/4, type SYS/SYS, sameChannels 0",
			"NET0 0 1 2 3 NET3", "NET3 2 3 1 0 NET0", "NET2 2 3 1 0 NET1", "NET1 0 1 3 2 NET2")
		want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 4, bw 4/4, type SYS/SYS, sameChannels 0",
			"NET0 0 1 2 3 NET0", "NET1 1 0 3 2 NET1", "NET2 2 3 0 1 NET2", "NET3 3 2 1 0 NET3")
	})
	t.Run("E", func(t *testing.T) {
		amd.NoGDR = true
		r := search(t, others(t, amd.Machine()))
		want(t, "ring", r.Ring, "Pattern 4, crossNic 0, nChannels 2, bw 24/24, type NVL/PHB, sameChannels 0",
			"NET0 2 1 0 7 6 5 4 3 NET0", "NET2 6 5 4 3 2 1 0 7 NET2")
		want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 2, bw 48/24, type NVL/PHB, sameChannels 0",
			"NET0 2 3 4 5 6 7 0 1 NET0", "NET2 6 7 0 1 2 3 4 5 NET2")
	})
}

// One GPU: its tree is a plain tree, and 5000 GB/s allow all there is.
func TestOneGPU(t *testing.T) {
	for _, sm := range []int{70, 89, 90} {
		one := topotest.Machine(topotest.Socket(topotest.AMD, 0, topotest.GPU(4, 0, sm, topotest.Gen4)))
		r := search(t, alone(t, one))
		if r.Ring.Pattern != rings.Ring || r.Tree.Pattern != rings.Tree || r.Ring.NChannels != 16 {
			t.Errorf("sm %d: ring %v, tree %v", sm, lines(r.Ring), lines(r.Tree))
		}
		for _, c := range r.Ring.Intra {
			if d := cmp.Diff([]int{0}, c); d != "" {
				t.Error(d)
			}
		}
	}
}

// Where nothing is found one channel remains, in index order, at 0.1 GB/s.
func TestSimpleOrder(t *testing.T) {
	slow := func(bus, rank int) topo.Device {
		d := topotest.GPU(bus, rank, 70, 15)
		d.Width = 1 // 0.1875 GB/s: less than any speed without a network
		return d
	}
	r := search(t, alone(t, topotest.Machine(topotest.Socket(topotest.Skylake, 0, slow(4, 1), slow(5, 0)))))
	want(t, "ring", r.Ring, "Pattern 4, crossNic 0, nChannels 1, bw 0.1/0.1, type SYS/SYS, sameChannels 1", " 1 0")
	want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 1, bw 0.1/0.1, type SYS/SYS, sameChannels 1", " 1 0")
}
