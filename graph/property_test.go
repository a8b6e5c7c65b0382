package graph_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	gonum "gonum.org/v1/gonum/graph"
	gonumpath "gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// targets are the types of nodes that paths lead to.
var targets = []graph.NodeType{graph.GPU, graph.NVS, graph.CPU, graph.NET}

// eachPath visits every path that there is.
func eachPath(g *graph.Graph, visit func(from, to *graph.Node, p graph.Path)) {
	for _, to := range targets {
		for _, b := range g.NodesOf(to) {
			for t := graph.GPU; t <= graph.NET; t++ {
				for _, a := range g.NodesOf(t) {
					if p, ok := g.Path(a, b); ok {
						visit(a, b, p)
					}
				}
			}
		}
	}
}

// A path is a chain of links from one end to the other.
func TestPathsAreChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := graph.Build(topotest.Random(picker(t)), randomOptions(picker(t)))
		if err != nil {
			t.Skip(err)
		}
		twice := duplicated(g)
		eachPath(g, func(from, to *graph.Node, p graph.Path) {
			if p.BW == 0 || twice[to.Type] {
				return // no way, or that of another node with the same id
			}
			at := from
			for _, l := range p.Links {
				if l.From != at || !slices.Contains(at.Links, l) {
					t.Fatalf("%s to %s: link %s to %s does not start at %s", from, to, l.From, l.To, at)
				}
				at = l.To
			}
			if at != to {
				t.Fatalf("%s to %s: the path ends at %s", from, to, at)
			}
		})
	})
}

// duplicated tells the types of which two nodes share an id, and so paths.
func duplicated(g *graph.Graph) map[graph.NodeType]bool {
	twice := map[graph.NodeType]bool{}
	for _, t := range targets {
		seen := map[graph.NodeID]bool{}
		for _, n := range g.NodesOf(t) {
			twice[t] = twice[t] || seen[n.NodeID]
			seen[n.NodeID] = true
		}
	}
	return twice
}

// As long as nothing bends it, a path is as wide as its narrowest link. All
// links are as wide as those back in these machines.
func TestPathsAreAsWideAsTheirNarrowestLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := unbent(t)
		eachPath(g, func(from, to *graph.Node, p graph.Path) {
			bw := float32(math.Inf(1))
			for _, l := range p.Links {
				if back := l.Reverse(); back == nil || back.BW != l.BW {
					return
				}
				bw = min(bw, l.BW)
			}
			if p.Hops() > 0 && p.Type != graph.DIS && p.BW != bw {
				t.Fatalf("%s to %s: %v GB/s, its narrowest link has %v", from, to, p.BW, bw)
			}
		})
	})
}

// unbent is a random machine whose paths are all as the search finds them.
func unbent(t *rapid.T) *graph.Graph {
	sys := topotest.Random(picker(t))
	g, err := graph.Build(sys, graph.Options{P2PLevel: level(graph.SYS), GDRLevel: level(graph.SYS), NoPXN: true, KeepUnreachable: true})
	if err != nil || slices.ContainsFunc(slices.Collect(values(duplicated(g))), func(b bool) bool { return b }) {
		t.Skip(err)
	}
	for i := range sys.CPUs {
		if hasFlag(sys.CPUs[i].Devices, func(d *topo.Device) bool { return d.GPU != nil && !d.GPU.GDR }) {
			t.Skip("GPUDirect")
		}
	}
	for _, n := range g.NodesOf(graph.NET) {
		if !n.Net.GDR {
			t.Skip("GPUDirect")
		}
	}
	return g
}

func values(m map[graph.NodeType]bool) func(func(bool) bool) {
	return func(yield func(bool) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func hasFlag(ds []topo.Device, is func(*topo.Device) bool) bool {
	for i := range ds {
		if is(&ds[i]) || hasFlag(ds[i].Devices, is) {
			return true
		}
	}
	return false
}

// reversedHops is what gonum makes of the graph as a search from base sees it:
// links run away from base, and of the GPUs only base passes traffic on.
func reversedHops(g *graph.Graph, base *graph.Node, atLeast float32) gonum.Graph {
	r := simple.NewDirectedGraph()
	all := g.Weighted().Nodes()
	for all.Next() {
		r.AddNode(all.Node())
	}
	for _, l := range g.Links() {
		if l.BW < atLeast || l.From == l.To || l.From != base && l.From.Type == graph.GPU {
			continue
		}
		r.SetEdge(r.NewEdge(l.From, l.To))
	}
	return r
}

// Without relays a path has as few links as any, which gonum counts
// independently, and is as wide as any of so few: over the links at least as
// wide as the path there is a way of that length, and over wider ones there is
// not.
func TestPathsAgainstGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sys := topotest.Random(picker(t))
		g, err := graph.Build(sys, graph.Options{
			NoNVB: true, NoPXN: true, P2PLevel: level(graph.SYS), GDRLevel: level(graph.SYS), KeepUnreachable: true,
		})
		if err != nil || duplicated(g)[graph.CPU] {
			t.Skip(err)
		}
		// CPUs are searched first, and nothing bends their paths.
		for _, base := range g.NodesOf(graph.CPU) {
			compareWithGonum(t, g, base)
		}
	})
}

func compareWithGonum(t *rapid.T, g *graph.Graph, base *graph.Node) {
	shortest := gonumpath.DijkstraFrom(base, reversedHops(g, base, 0))
	for typ := graph.GPU; typ <= graph.NET; typ++ {
		for _, n := range g.NodesOf(typ) {
			p, ok := g.Path(n, base)
			hops := shortest.WeightTo(n.ID())
			if reached := ok && p.BW > 0; reached != !math.IsInf(hops, 1) {
				t.Fatalf("%s reached from %s: %v, gonum says %v", n, base, reached, hops)
			}
			if !ok || p.Hops() == 0 {
				continue
			}
			if float64(p.Hops()) != hops {
				t.Fatalf("%s to %s: %d hops, gonum counts %v", n, base, p.Hops(), hops)
			}
			if w := gonumpath.DijkstraFrom(base, reversedHops(g, base, p.BW)).WeightTo(n.ID()); w != hops {
				t.Fatalf("%s to %s: gonum finds no way of %v GB/s with %v hops, but one with %v", n, base, p.BW, hops, w)
			}
			wider := math.Nextafter32(p.BW, math.MaxFloat32)
			if w := gonumpath.DijkstraFrom(base, reversedHops(g, base, wider)).WeightTo(n.ID()); w == hops {
				t.Fatalf("%s to %s: gonum finds a way wider than %v GB/s with %v hops", n, base, p.BW, hops)
			}
		}
	}
}

// The same machine gives the same graph, also when several are built at once.
func TestBuildIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sys := topotest.Random(picker(t))
		var all [4]description
		var done sync.WaitGroup
		for i := range all {
			done.Go(func() {
				if g, err := graph.Build(sys, graph.Options{}); err == nil {
					all[i] = describe(g)
					_, _ = g.Split(len(g.NodesOf(graph.GPU))) // must not disturb the others
				}
			})
		}
		done.Wait()
		for _, d := range all[1:] {
			if x := cmp.Diff(all[0], d); x != "" {
				t.Fatalf("two graphs of one machine differ\n%s", x)
			}
		}
	})
}

// The parts of a machine hold every GPU once, in order.
func TestPartsHoldEveryGPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := graph.Build(topotest.Random(picker(t)), graph.Options{})
		if err != nil {
			t.Skip(err)
		}
		parts, err := g.Split(len(g.NodesOf(graph.GPU)))
		if err != nil {
			t.Skip(err)
		}
		var got, want []int
		for _, p := range parts {
			got = append(got, ranksOf(p)...)
		}
		want = ranksOf(g)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("parts hold ranks %v of %v", got, want)
		}
	})
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Fuzz(func(t *testing.T, data []byte) {
		pick := topotest.Bytes(data)
		g, err := graph.Build(topotest.Wild(pick), randomOptions(pick))
		if err != nil {
			return
		}
		g.Weighted()
		n := len(g.NodesOf(graph.GPU))
		for _, ranks := range []int{n, n + 1} {
			_, _ = g.Split(ranks) // an error is an answer
		}
	})
}
