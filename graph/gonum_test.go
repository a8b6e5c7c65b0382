package graph

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/testgraph"
)

// contract makes graphs of the nodes and edges of gonum's own test cases, for
// those that have our ids: 0, 1, 2, ...
type contract struct {
	view  func(*Graph) graph.Graph
	lines bool // a multigraph
	used  int
}

func (c *contract) build(nodes []graph.Node, edges []testgraph.WeightedLine, _, _ float64) (
	g graph.Graph, n []graph.Node, e []testgraph.Edge, self, absent float64, ok bool,
) {
	ids := map[int64]bool{}
	for _, x := range nodes {
		ids[x.ID()] = true
	}
	for _, x := range edges {
		ids[x.From().ID()], ids[x.To().ID()] = true, true
	}
	own := &Graph{}
	for i := range len(ids) {
		if _, err := own.add(GPU, 0); err != nil || !ids[int64(i)] {
			return nil, nil, nil, 0, 0, false
		}
	}
	seen := map[[2]int64]bool{}
	for _, x := range edges {
		key := [2]int64{x.From().ID(), x.To().ID()}
		if key[0] == key[1] || seen[key] && !c.lines {
			continue // to the node itself: left out; parallel edges: would add up
		}
		seen[key] = true
		a, b := own.nodes[GPU][key[0]], own.nodes[GPU][key[1]]
		a.Links = append(a.Links, &Link{BW: float32(x.Weight()), From: a, To: b})
	}
	own.number()
	for _, x := range own.all {
		n = append(n, x)
	}
	for _, l := range own.links {
		if c.lines {
			e = append(e, line{l: l})
		} else {
			e = append(e, edge{l.From, l.To, float64(l.BW)})
		}
	}
	c.used++
	return c.view(own), n, e, 0, math.Inf(1), true
}

func TestWeightedKeepsGonumsContract(t *testing.T) {
	c := &contract{view: func(g *Graph) graph.Graph { return g.Weighted() }}
	testgraph.ReturnAllNodes(t, c.build, true)
	testgraph.ReturnNodeSlice(t, c.build, true)
	testgraph.NodeExistence(t, c.build)
	testgraph.EdgeExistence(t, c.build, true)
	testgraph.ReturnAdjacentNodes(t, c.build, true, true)
	testgraph.Weight(t, c.build)
	if c.used < 6*4 {
		t.Errorf("only %d of gonum's cases fit", c.used)
	}
}

func TestMultigraphKeepsGonumsContract(t *testing.T) {
	c := &contract{view: func(g *Graph) graph.Graph { return only{g.Multigraph()} }, lines: true}
	testgraph.ReturnAllNodes(t, c.build, true)
	testgraph.NodeExistence(t, c.build)
	if c.used < 2*4 {
		t.Errorf("only %d of gonum's cases fit", c.used)
	}
}

// only hides what a multigraph has beyond its interface.
type only struct {
	graph.WeightedDirectedMultigraph
}

func (only) HasEdge(int64, int64) bool    { return false }
func (only) Edge(int64, int64) graph.Edge { return nil }
