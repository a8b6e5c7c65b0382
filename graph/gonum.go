package graph

import (
	"math"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
)

// ID is the node's gonum id: 0, 1, 2, ... over the graph, by type and index.
func (n *Node) ID() int64 { return n.id }

// At gives the node with a gonum id.
func (g *Graph) At(id int64) *Node { return g.all[id] }

// Weighted is the graph as gonum sees one without parallel links: an edge's
// weight is the bandwidth of all links between its ends together, in GB/s, so
// that gonum's flow algorithms give GB/s. Iteration is in order of ids.
func (g *Graph) Weighted() graph.WeightedDirected { return newView(g, bandwidth) }

// Hops is the same graph with the weight 1 on every edge, for gonum's path
// algorithms to count links.
func (g *Graph) Hops() graph.WeightedDirected {
	return newView(g, func(sum float64, _ *Link) float64 { return 1 })
}

func bandwidth(sum float64, l *Link) float64 { return sum + float64(l.BW) }

// view is a gonum graph over a Graph; edges are sorted by id on both sides.
type view struct {
	g        *Graph
	from, to [][]edge
}

type edge struct {
	f, t *Node
	w    float64
}

func (e edge) From() graph.Node         { return e.f }
func (e edge) To() graph.Node           { return e.t }
func (e edge) ReversedEdge() graph.Edge { return edge{e.t, e.f, e.w} }
func (e edge) Weight() float64          { return e.w }

func newView(g *Graph, weigh func(sum float64, l *Link) float64) *view {
	v := &view{g: g, from: make([][]edge, len(g.all)), to: make([][]edge, len(g.all))}
	for _, n := range g.all {
		sums := make([]float64, len(g.all))
		linked := make([]bool, len(g.all))
		for _, l := range n.Links {
			if l.To == n {
				continue // gonum's simple graphs have no edges to the node itself
			}
			sums[l.To.id] = weigh(sums[l.To.id], l)
			linked[l.To.id] = true
		}
		for id, there := range linked {
			if there {
				e := edge{n, g.all[id], sums[id]}
				v.from[n.id] = append(v.from[n.id], e)
				v.to[id] = append(v.to[id], e)
			}
		}
	}
	return v
}

func (v *view) has(id int64) bool { return id >= 0 && id < int64(len(v.g.all)) }

func (v *view) Node(id int64) graph.Node {
	if !v.has(id) {
		return nil
	}
	return v.g.all[id]
}

func ordered(nodes []graph.Node) graph.Nodes {
	if len(nodes) == 0 {
		return graph.Empty
	}
	return iterator.NewOrderedNodes(nodes)
}

func (v *view) Nodes() graph.Nodes {
	nodes := make([]graph.Node, len(v.g.all))
	for i, n := range v.g.all {
		nodes[i] = n
	}
	return ordered(nodes)
}

func (v *view) neighbours(edges [][]edge, id int64, end func(edge) *Node) graph.Nodes {
	if !v.has(id) {
		return graph.Empty
	}
	var nodes []graph.Node
	for _, e := range edges[id] {
		nodes = append(nodes, end(e))
	}
	return ordered(nodes)
}

func (v *view) From(id int64) graph.Nodes {
	return v.neighbours(v.from, id, func(e edge) *Node { return e.t })
}

func (v *view) To(id int64) graph.Nodes {
	return v.neighbours(v.to, id, func(e edge) *Node { return e.f })
}

func (v *view) find(u, w int64) (edge, bool) {
	if v.has(u) {
		for _, e := range v.from[u] {
			if e.t.id == w {
				return e, true
			}
		}
	}
	return edge{}, false
}

func (v *view) HasEdgeFromTo(u, w int64) bool { _, ok := v.find(u, w); return ok }

func (v *view) HasEdgeBetween(x, y int64) bool { return v.HasEdgeFromTo(x, y) || v.HasEdgeFromTo(y, x) }

func (v *view) Edge(u, w int64) graph.Edge {
	if e, ok := v.find(u, w); ok {
		return e
	}
	return nil
}

func (v *view) WeightedEdge(u, w int64) graph.WeightedEdge {
	if e, ok := v.find(u, w); ok {
		return e
	}
	return nil
}

// Weight follows gonum: 0 from a node to itself, infinite without an edge.
func (v *view) Weight(x, y int64) (float64, bool) {
	if e, ok := v.find(x, y); ok {
		return e.w, true
	}
	if x == y && v.has(x) {
		return 0, true
	}
	return math.Inf(1), false
}
