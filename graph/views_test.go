package graph_test

import (
	"math"
	"testing"

	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/topo"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

// randomGraph gives the graph of a random machine, nil where it makes no sense.
func randomGraph(t *rapid.T) *graph.Graph {
	g, err := graph.Build(topotest.Random(picker(t)), graph.Options{KeepUnreachable: true})
	if err != nil {
		t.Skip(err)
	}
	return g
}

func ids(it gonum.Nodes) (list []int64) {
	for it.Next() {
		list = append(list, it.Node().ID())
	}
	return list
}

func increasing(list []int64) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return false
		}
	}
	return true
}

// Ids are dense and everything comes in their order, so that gonum's algorithms
// always do the same.
func TestViewsAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		w := g.Weighted()
		all := ids(w.Nodes())
		if !increasing(all) || all[0] != 0 || all[len(all)-1] != int64(len(all)-1) {
			t.Fatalf("ids %v are not dense", all)
		}
		for _, id := range all {
			if g.At(id).ID() != id {
				t.Fatalf("At(%d) is %d", id, g.At(id).ID())
			}
			from, to := ids(w.From(id)), ids(w.To(id))
			if !increasing(from) || !increasing(to) {
				t.Fatalf("neighbours of %d: %v and %v are out of order", id, from, to)
			}
			for _, o := range from {
				if !w.HasEdgeFromTo(id, o) || !w.HasEdgeBetween(o, id) || w.Edge(id, o) == nil {
					t.Fatalf("%d to %d: listed, but no edge", id, o)
				}
			}
		}
	})
}

// The bandwidth of an edge is that of all links between its ends, and the
// multigraph shows each.
func TestViewsShowEveryLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		w, h, m := g.Weighted(), g.Hops(), g.Multigraph()
		sums := map[[2]int64]float64{}
		for _, l := range g.Links() {
			sums[[2]int64{l.From.ID(), l.To.ID()}] += float64(l.BW)
		}
		lines := 0
		for ends, sum := range sums {
			got, ok := w.Weight(ends[0], ends[1])
			if !ok || math.Abs(got-sum) > 1e-6*sum {
				t.Fatalf("edge %v weighs %v, want %v", ends, got, sum)
			}
			if one, ok := h.Weight(ends[0], ends[1]); !ok || one != 1 {
				t.Fatalf("edge %v counts %v links", ends, one)
			}
			total := 0.0
			for it := m.WeightedLines(ends[0], ends[1]); it.Next(); lines++ {
				total += it.WeightedLine().Weight()
			}
			if math.Abs(total-sum) > 1e-6*sum {
				t.Fatalf("lines %v weigh %v, want %v", ends, total, sum)
			}
			if n := m.Lines(ends[0], ends[1]).Len(); n == 0 {
				t.Fatalf("no lines from %d to %d", ends[0], ends[1])
			}
		}
		if lines != len(g.Links()) {
			t.Fatalf("%d lines of %d links", lines, len(g.Links()))
		}
	})
}

// Two links between a GPU and its CPU are two lines, and one edge.
func TestParallelLinks(t *testing.T) {
	sys := topotest.Machine(topotest.Socket(topotest.POWER, 0, topotest.GPU(4, 0, 70, topotest.Gen3)))
	sys.CPUs[0].Devices[0].GPU.NVLinks = append(sys.CPUs[0].Devices[0].GPU.NVLinks, topotest.ToSwitch(3))
	sys.CPUs[0].Devices[0].GPU.NVLinks[0].Class = 2 // a CPU
	g := build(t, sys)
	gpu, cpu := g.NodesOf(graph.GPU)[0].ID(), g.NodesOf(graph.CPU)[0].ID()
	if w, _ := g.Weighted().Weight(gpu, cpu); w != 72 {
		t.Errorf("edge of %v GB/s, want 60 + 12", w)
	}
	lines := g.Multigraph().WeightedLines(gpu, cpu)
	if lines.Len() != 2 {
		t.Fatalf("%d lines, want 2", lines.Len())
	}
	lines.Next()
	l := lines.WeightedLine()
	back := l.ReversedLine()
	if l.From().ID() != gpu || l.To().ID() != cpu || back.From().ID() != cpu || back.To().ID() != gpu || back.ID() != l.ID() {
		t.Errorf("line %d from %d to %d, reversed %d from %d to %d",
			l.ID(), l.From().ID(), l.To().ID(), back.ID(), back.From().ID(), back.To().ID())
	}
	if n := g.Multigraph().Lines(cpu+7, gpu).Len(); n != 0 {
		t.Errorf("%d lines from a node that is not there", n)
	}
}

// gonum's algorithms run: the most that can flow between two V100s is what its
// six NVLinks and its PCI link give.
func TestMaxFlow(t *testing.T) {
	g := build(t, topotest.V100x4())
	gpus := g.NodesOf(graph.GPU)
	if flow := network.MaxFlowDinic(g.Weighted(), gpus[0], gpus[1], 1e-6); math.Abs(flow-132) > 1e-3 {
		t.Errorf("max flow %v GB/s, want 120 over NVLink and 12 over PCI", flow)
	}
	if !topo.PathExistsIn(g.Weighted(), gpus[0], gpus[3]) {
		t.Error("no path")
	}
}

// No flow is more than what the links of its start give, and it is no less than
// what fits through the path that was found.
func TestMaxFlowOfAnyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		gpus := g.NodesOf(graph.GPU)
		if len(gpus) < 2 {
			t.Skip("one GPU")
		}
		w := g.Weighted()
		flow := network.MaxFlowDinic(w, gpus[0], gpus[1], 1e-6)
		out, narrowest := 0.0, 0.0
		for _, l := range gpus[0].Links {
			out += float64(l.BW)
		}
		p, _ := g.Path(gpus[0], gpus[1])
		for i, l := range p.Links {
			if bw := float64(l.BW); p.BW > 0 && (i == 0 || bw < narrowest) {
				narrowest = bw
			}
		}
		if flow < narrowest-1e-3 || flow > out+1e-3 {
			t.Fatalf("flow %v is not between the path's %v and the links' %v", flow, narrowest, out)
		}
	})
}
