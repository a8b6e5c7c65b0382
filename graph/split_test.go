package graph_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

func split(t *testing.T, sys *topo.System, ranks int) []*graph.Graph {
	t.Helper()
	parts, err := build(t, sys).Split(ranks)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func ranksOf(g *graph.Graph) (ranks []int) {
	for _, n := range g.NodesOf(graph.GPU) {
		ranks = append(ranks, n.GPU.Rank)
	}
	return ranks
}

func TestNetworksAreLeftOutOnOneNode(t *testing.T) {
	box := topotest.Box{CPU: topotest.AMD, GPUsPerSwitch: 2, SM: 80, NVLinks: 12, Speed: topotest.Gen4}.Machine()
	for ranks, nets := range map[int]int{8: 0, 16: 4, 9: 4} {
		parts := split(t, box, ranks)
		if len(parts) != 1 || len(parts[0].NodesOf(graph.NET)) != nets {
			t.Errorf("%d ranks: %d parts, %d networks, want 1 and %d", ranks, len(parts), len(parts[0].NodesOf(graph.NET)), nets)
		}
		if n := len(parts[0].NodesOf(graph.NIC)); n != 4 {
			t.Errorf("%d ranks: %d NICs, want 4: they stay", ranks, n)
		}
	}
	g := split(t, box, 8)[0]
	if g.MaxBW != 240 || g.TotalBW != 240 {
		t.Errorf("maxBw %v totalBw %v, want 240: NVLink counts, networks do not", g.MaxBW, g.TotalBW)
	}
}

// Two sockets whose NICs are faster than the way between them are two nodes of
// one box; each keeps all networks, as its ranks are not all ranks.
func TestSplitInTwo(t *testing.T) {
	for ranks, want := range map[int]int{2: 2, 4: 2} {
		parts := split(t, sockets(topotest.Skylake), ranks)
		if len(parts) != want {
			t.Fatalf("%d ranks: %d parts, want %d", ranks, len(parts), want)
		}
		for i, p := range parts {
			if r := ranksOf(p); !slices.Equal(r, []int{i}) {
				t.Errorf("part %d has ranks %v", i, r)
			}
			if n := len(p.NodesOf(graph.NET)); n != 2 {
				t.Errorf("part %d has %d networks, want 2", i, n)
			}
			wantPath(t, p, p.NodesOf(graph.GPU)[0], p.NodesOf(graph.NET)[i], "3/24/PIX")
		}
	}
	g, err := graph.Build(sockets(topotest.Skylake), graph.Options{NoNetIntra: true})
	if err != nil {
		t.Fatal(err)
	}
	if parts, _ := g.Split(2); len(parts) != 1 {
		t.Errorf("without the network inside: %d parts, want 1", len(parts))
	}
}

// A GPU belongs to the domain of the first GPU before it that it reaches,
// whoever that one reaches: GPU 1 joins GPUs 0 and 2 by relays only.
func TestDomainsAreFoundInOnePass(t *testing.T) {
	// Without relays 0-1 and 1-2 hold together over NVLink, 0-2 is the network's.
	g := buildWith(t, relayed(), graph.Options{NoNVB: true})
	parts, err := g.Split(3)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 1 || !slices.Equal(ranksOf(parts[0]), []int{0, 1, 2}) {
		t.Errorf("%d parts, the first with ranks %v", len(parts), ranksOf(parts[0]))
	}
	// With GPU 1 last in order, 2 has no one to hold on to when its turn comes.
	last := relayed()
	cpu := &last.CPUs[0]
	last.CPUs[1].Devices = append(last.CPUs[1].Devices, cpu.Devices[1])
	cpu.Devices = cpu.Devices[:1]
	g = buildWith(t, last, graph.Options{NoNVB: true})
	if parts, err = g.Split(3); err != nil {
		t.Fatal(err)
	}
	if len(parts) != 2 || !slices.Equal(ranksOf(parts[0]), []int{0, 1}) || !slices.Equal(ranksOf(parts[1]), []int{2}) {
		t.Errorf("%d parts, ranks %v and on", len(parts), ranksOf(parts[0]))
	}
}

func TestTooFewRanks(t *testing.T) {
	_, err := build(t, topotest.V100x4()).Split(3)
	if err == nil || !strings.Contains(err.Error(), "3 ranks") || !strings.Contains(err.Error(), "4 GPUs") {
		t.Errorf("got %v", err)
	}
}

// Splitting changes nothing in the graph that is split.
func TestSplitLeavesTheWholeAlone(t *testing.T) {
	g := build(t, sockets(topotest.Skylake))
	before := describe(g)
	for range 2 {
		if _, err := g.Split(2); err != nil {
			t.Fatal(err)
		}
	}
	if after := describe(g); !slices.Equal(before.Paths, after.Paths) || !slices.Equal(before.Links, after.Links) {
		t.Error("the graph changed")
	}
}
