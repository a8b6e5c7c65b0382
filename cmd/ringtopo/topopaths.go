package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
)

// byRank gives the GPUs of a graph in rank order.
func byRank(g *graph.Graph) []*graph.Node {
	return slices.SortedStableFunc(slices.Values(g.NodesOf(graph.GPU)), func(a, b *graph.Node) int {
		return cmp.Compare(a.GPU.Rank, b.GPU.Rank)
	})
}

// byDev gives the networks of a graph by device number.
func byDev(g *graph.Graph) []*graph.Node {
	return slices.SortedStableFunc(slices.Values(g.NodesOf(graph.NET)), func(a, b *graph.Node) int {
		return cmp.Compare(a.Net.Dev, b.Net.Dev)
	})
}

// writePaths writes every path between GPUs and from GPUs to networks.
func writePaths(w io.Writer, b job.Box) error {
	gpus, nets := byRank(b.Graph), byDev(b.Graph)
	if len(gpus) == 1 && len(nets) == 0 {
		_, err := fmt.Fprintf(w, "%s has no other GPU and no network to reach\n", plainName(gpus[0]))
		return err
	}
	for _, from := range gpus {
		for _, to := range append(gpus[:len(gpus):len(gpus)], nets...) {
			if from == to {
				continue
			}
			p, _ := b.Graph.Path(from, to)
			if _, err := fmt.Fprintln(w, pathText(from, to, p)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathText spells a path out, with the bandwidth of each link.
func pathText(from, to *graph.Node, p graph.Path) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s > %s: %s %.1f GB/s, %d hop", plainName(from), plainName(to), p.Type, p.BW, p.Hops())
	if p.Hops() != 1 {
		s.WriteByte('s')
	}
	fmt.Fprintf(&s, ": %s", plainName(from))
	for _, l := range p.Links {
		fmt.Fprintf(&s, " -%s %.1f- %s", l.Type, l.BW, plainName(l.To))
	}
	return s.String()
}
