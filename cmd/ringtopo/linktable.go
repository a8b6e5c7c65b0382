package main

import (
	"fmt"
	"sort"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
)

// linkKey is one direction of a link of one node.
type linkKey struct {
	node int
	link *graph.Link
}

// maxNodes is how many nodes' links a table shows.
const maxNodes = 2

// countLinks counts how many channels use each link.
func countLinks(rows []*ringRow) map[linkKey]int {
	uses := map[linkKey]int{}
	for _, r := range rows {
		for _, h := range r.hops {
			for _, way := range h.Ways {
				for _, l := range way.Links {
					uses[linkKey{way.Node, l}] += len(r.channels)
				}
			}
		}
	}
	return uses
}

// linkTable shows how often the rings use each link, and what is left of its
// bandwidth for each use.
func linkTable(j *job.Job, rows []*ringRow, full bool) table.Writer {
	uses := countLinks(rows)
	keys := make([]linkKey, 0, len(uses))
	for k := range uses {
		if full || k.node < maxNodes {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(a, b int) bool {
		if keys[a].node != keys[b].node {
			return keys[a].node < keys[b].node
		}
		return keys[a].link.ID < keys[b].link.ID
	})
	t := newTable()
	header := table.Row{"Link", "Type", "GB/s", "Used", "GB/s per use"}
	if j.Comm.NNodes > 1 {
		header = append(table.Row{"Node"}, header...)
	}
	t.AppendHeader(header)
	for _, k := range keys {
		n := uses[k]
		row := table.Row{
			fmt.Sprintf("%s > %s", nodeName(j, k.node, k.link.From), nodeName(j, k.node, k.link.To)),
			k.link.Type, fmt.Sprintf("%.1f", k.link.BW), n, fmt.Sprintf("%.1f", k.link.BW/float32(n)),
		}
		if j.Comm.NNodes > 1 {
			row = append(table.Row{k.node}, row...)
		}
		t.AppendRow(row)
	}
	if !full && j.Comm.NNodes > maxNodes {
		t.SetCaption("links of nodes 0 to %d; --full shows all", maxNodes-1)
	}
	return t
}

// nodeName names a graph node for people: GPUs by user rank, others by address.
func nodeName(j *job.Job, node int, n *graph.Node) string {
	if n.Type == graph.GPU {
		return fmt.Sprintf("GPU %d", j.Comm.Nodes[node].Ranks[n.GPU.Rank])
	}
	return plainName(n)
}
