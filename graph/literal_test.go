package graph_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

// picker lets rapid choose.
func picker(t *rapid.T) topotest.Pick {
	return topotest.Bytes(rapid.SliceOfN(rapid.Byte(), 300, 300).Draw(t, "choices"))
}

// randomOptions are those that someone sets, now and then.
func randomOptions(pick topotest.Pick) graph.Options {
	level := func() *graph.PathType {
		if pick(4) != 3 {
			return nil
		}
		t := graph.PathType(pick(int(graph.SYS) + 1))
		return &t
	}
	set := func() bool { return pick(6) == 5 }
	return graph.Options{
		P2PLevel: level(), GDRLevel: level(),
		NoNVB: set(), NoPXN: set(), NoNetIntra: set(), NoSHM: set(), KeepUnreachable: set(),
	}
}

// try runs f and gives what it panics with.
func try(f func()) (failed any) {
	defer func() { failed = recover() }()
	f()
	return nil
}

// TestLiteral compares the package with the rules followed word by word.
func TestLiteral(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		sys, opt := topotest.Random(picker(t)), randomOptions(picker(t))
		var want *lit
		failed := try(func() {
			want = literal(sys, opt)
			want.computePaths()
		})
		g, err := graph.Build(sys, opt)
		if failed != nil {
			return // what the rules do not say; there must be no panic
		}
		if err != nil {
			t.Fatalf("Build: %v", err)
		}
		compared++
		diff(t, want, g)
		boxes := 1 + rapid.IntRange(0, 1).Draw(t, "more boxes")
		compareParts(t, sys, opt, g, boxes*len(g.NodesOf(graph.GPU)))
	})
	t.Logf("%d machines compared", compared)
}

// compareParts compares the nodes that a machine is cut into.
func compareParts(t *rapid.T, sys *topo.System, opt graph.Options, g *graph.Graph, ranks int) {
	wants := map[int]*lit{} // by rank
	for _, own := range g.NodesOf(graph.GPU) {
		want := literal(sys, opt)
		want.computePaths()
		if failed := try(func() { want.split(own.Index, ranks) }); failed != nil {
			return
		}
		wants[own.GPU.Rank] = want
	}
	parts, err := g.Split(ranks)
	if err != nil {
		t.Fatalf("Split: %v", err)
	}
	for rank, want := range wants {
		diff(t, want, partOf(t, parts, rank))
	}
}

func partOf(t *rapid.T, parts []*graph.Graph, rank int) *graph.Graph {
	for _, p := range parts {
		for _, n := range p.NodesOf(graph.GPU) {
			if n.GPU.Rank == rank {
				return p
			}
		}
	}
	t.Fatalf("rank %d is in no part", rank)
	return nil
}

func diff(t *rapid.T, want *lit, g *graph.Graph) {
	if d := cmp.Diff(want.describe(), describe(g)); d != "" {
		t.Fatalf("(-want +got)\n%s", d)
	}
}

// description is all that there is to a graph, in words.
type description struct {
	Bandwidths string
	Links      []string
	Paths      []string
}

func (l *lit) describe() description {
	maxBW, totalBW := l.bandwidths()
	d := description{Bandwidths: fmt.Sprint(maxBW, totalBW)}
	for _, nodes := range l.nodes {
		for _, n := range nodes {
			for _, k := range n.links {
				d.Links = append(d.Links, fmt.Sprintf("%s/%x %s %v %s", n.name(l), n.id, k.typ, k.bw, k.peer.name(l)))
			}
			for t, ps := range n.paths {
				for i, p := range ps {
					s := fmt.Sprintf("%s to %s%d: %s %v", n.name(l), graph.NodeType(t), i, p.typ, p.bw)
					for _, k := range p.list[:p.count] {
						s += fmt.Sprintf(" %s %s", k.typ, k.peer.name(l))
					}
					d.Paths = append(d.Paths, s)
				}
			}
		}
	}
	return d
}

func describe(g *graph.Graph) description {
	name := func(n *graph.Node) string { return fmt.Sprintf("%s%d", n.Type, n.Index) }
	d := description{Bandwidths: fmt.Sprint(g.MaxBW, g.TotalBW)}
	for t := graph.GPU; t <= graph.NET; t++ {
		for _, n := range g.NodesOf(t) {
			for _, k := range n.Links {
				d.Links = append(d.Links, fmt.Sprintf("%s/%x %s %v %s", name(n), int64(n.NodeID), k.Type, k.BW, name(k.To)))
			}
			for to := graph.GPU; to <= graph.NET; to++ {
				for _, m := range g.NodesOf(to) {
					p, ok := g.Path(n, m)
					if !ok {
						continue
					}
					s := fmt.Sprintf("%s to %s: %s %v", name(n), name(m), p.Type, p.BW)
					for _, k := range p.Links {
						s += fmt.Sprintf(" %s %s", k.Type, name(k.To))
					}
					d.Paths = append(d.Paths, s)
				}
			}
		}
	}
	return d
}
