package graph

import (
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
)

// Multigraph is the graph as gonum sees one with parallel links: every link is
// a line of its own, weighted by its bandwidth in GB/s. Iteration is in order.
func (g *Graph) Multigraph() graph.WeightedDirectedMultigraph {
	return multigraph{newView(g, bandwidth)}
}

type multigraph struct{ *view }

// line is a link as gonum sees it.
type line struct {
	l        *Link
	reversed bool
}

func (l line) From() graph.Node {
	if l.reversed {
		return l.l.To
	}
	return l.l.From
}

func (l line) To() graph.Node {
	if l.reversed {
		return l.l.From
	}
	return l.l.To
}

func (l line) ID() int64                { return int64(l.l.ID) }
func (l line) Weight() float64          { return float64(l.l.BW) }
func (l line) ReversedLine() graph.Line { return line{l.l, !l.reversed} }

func (m multigraph) between(u, v int64) (ls []*Link) {
	if !m.has(u) || u == v {
		return nil
	}
	for _, l := range m.g.all[u].Links {
		if l.To.id == v {
			ls = append(ls, l)
		}
	}
	return ls
}

func (m multigraph) Lines(u, v int64) graph.Lines {
	var lines []graph.Line
	for _, l := range m.between(u, v) {
		lines = append(lines, line{l: l})
	}
	if len(lines) == 0 {
		return graph.Empty
	}
	return iterator.NewOrderedLines(lines)
}

func (m multigraph) WeightedLines(u, v int64) graph.WeightedLines {
	var lines []graph.WeightedLine
	for _, l := range m.between(u, v) {
		lines = append(lines, line{l: l})
	}
	if len(lines) == 0 {
		return graph.Empty
	}
	return iterator.NewOrderedWeightedLines(lines)
}
