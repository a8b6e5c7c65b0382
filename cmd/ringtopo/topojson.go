package main

import (
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
)

// topoJSON is ringtopo topo -o json, schema ringtopo.topo/v1.
type topoJSON struct {
	Schema  string    `json:"schema"`
	Machine []string  `json:"machine"`
	GPUs    []gpuJSON `json:"gpus"`
	NICs    []nicJSON `json:"nics"`
	SMI     smiJSON   `json:"smi"`
	Paths   pathsJSON `json:"paths"`
	Assumed []string  `json:"assumed"`
}

type gpuJSON struct {
	Rank  int    `json:"rank"`
	Dev   int    `json:"dev"`
	BusID string `json:"busId"`
	SM    int    `json:"sm"`
	NUMA  int    `json:"numa"`
}

type nicJSON struct {
	Dev  int     `json:"dev"`
	Name string  `json:"name"`
	Gbps float64 `json:"gbps"`
	NUMA int     `json:"numa"`
}

// smiJSON has nvidia-smi's words, pathsJSON NCCL's; rows are GPUs.
type smiJSON struct {
	GPU [][]string `json:"gpu"`
	NIC [][]string `json:"nic"`
}

type pathsJSON struct {
	GPU [][]pathJSON `json:"gpu"`
	NIC [][]pathJSON `json:"nic"`
}

type pathJSON struct {
	Type graph.PathType `json:"type"`
	BW   float32        `json:"bw"` // GB/s
	Hops int            `json:"hops"`
}

func newTopoJSON(b job.Box) (topoJSON, error) {
	gpus, nets := byRank(b.Graph), byDev(b.Graph)
	words, err := b.Words()
	if err != nil {
		return topoJSON{}, err
	}
	out := topoJSON{
		Schema: "ringtopo.topo/v1", Machine: []string{b.Machine.Name},
		GPUs: []gpuJSON{}, NICs: []nicJSON{},
		SMI:     smiJSON{words.GPU, words.NIC},
		Assumed: append(job.Assumed([]job.Box{b}), words.Assumed...),
	}
	homes := numaOf(b.Graph)
	for _, g := range gpus {
		out.GPUs = append(out.GPUs, gpuJSON{g.GPU.Rank, g.GPU.Dev, busID(g), g.GPU.SM, homes[g]})
		out.Paths.GPU = append(out.Paths.GPU, pathRow(b.Graph, g, gpus))
		out.Paths.NIC = append(out.Paths.NIC, pathRow(b.Graph, g, nets))
	}
	for _, n := range nets {
		out.NICs = append(out.NICs, nicJSON{n.Net.Dev, n.Net.Name, float64(n.Net.BW) * 8, homes[n]})
	}
	return out, nil
}

func pathRow(g *graph.Graph, from *graph.Node, to []*graph.Node) []pathJSON {
	row := make([]pathJSON, len(to))
	for i, n := range to {
		p, _ := g.Path(from, n)
		row[i] = pathJSON{p.Type, p.BW, p.Hops()}
	}
	return row
}

// numaOf finds the NUMA domain that each node hangs off, along PCI and network
// links.
func numaOf(g *graph.Graph) map[*graph.Node]int {
	homes := map[*graph.Node]int{}
	var visit func(n *graph.Node, home int)
	visit = func(n *graph.Node, home int) {
		if _, seen := homes[n]; seen {
			return
		}
		homes[n] = home
		for _, l := range n.Links {
			if (l.Type == graph.LinkPCI || l.Type == graph.LinkNET) && l.To.Type != graph.CPU {
				visit(l.To, home)
			}
		}
	}
	for _, cpu := range g.NodesOf(graph.CPU) {
		visit(cpu, numa(cpu))
	}
	return homes
}
