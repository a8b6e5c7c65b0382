package connect_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/vectors"
)

// label names a node as the results do.
func label(n *graph.Node) string {
	switch n.Type {
	case graph.GPU:
		return fmt.Sprintf("GPU%d", n.GPU.Rank)
	case graph.NET:
		return fmt.Sprintf("NET%d", n.Index)
	case graph.CPU, graph.NVS:
		return fmt.Sprintf("%s/%d", n.Type, int64(n.NodeID))
	}
	return fmt.Sprintf("%s/%x", n.Type, int64(n.NodeID))
}

func checkSystem(t *testing.T, name string, want *vectors.System, g *graph.Graph) {
	t.Helper()
	if g.MaxBW != want.MaxBW || g.TotalBW != want.TotalBW {
		t.Errorf("%s: maxBw/totalBw %v/%v, want %v/%v", name, g.MaxBW, g.TotalBW, want.MaxBW, want.TotalBW)
	}
	if n, m := len(g.NodesOf(graph.PCI)), len(g.NodesOf(graph.NVS)); n != want.NPCI || m != want.NNVS {
		t.Errorf("%s: %d PCI and %d NVS nodes, want %d and %d", name, n, m, want.NPCI, want.NNVS)
	}
	var links [][4]any
	for _, l := range g.Links() {
		links = append(links, [4]any{label(l.From), label(l.To), l.Type.String(), bandwidth(l.BW)})
	}
	for i := range want.Links {
		want.Links[i][3] = bandwidth(float32(want.Links[i][3].(float64)))
	}
	if d := cmp.Diff(want.Links, links); d != "" {
		t.Errorf("%s: links (-want +got)\n%s", name, d)
	}
	for kind, ends := range map[string][2]graph.NodeType{
		"gpu_gpu": {graph.GPU, graph.GPU}, "gpu_net": {graph.GPU, graph.NET}, "net_gpu": {graph.NET, graph.GPU},
		"gpu_cpu": {graph.GPU, graph.CPU}, "gpu_nvs": {graph.GPU, graph.NVS},
	} {
		rows := [][5]any{}
		for _, row := range want.Paths[kind] {
			rows = append(rows, [5]any{row[0], row[1], row[2], bandwidth(float32(row[3].(float64))), int(row[4].(float64))})
		}
		if d := cmp.Diff(rows, pathRows(g, ends[0], ends[1])); d != "" {
			t.Errorf("%s: paths %s (-want +got)\n%s", name, kind, d)
		}
	}
}

func bandwidth(bw float32) string { return fmt.Sprint(bw) }

func pathRows(g *graph.Graph, from, to graph.NodeType) [][5]any {
	rows := [][5]any{}
	for _, a := range g.NodesOf(from) {
		for _, b := range g.NodesOf(to) {
			if a == b {
				continue
			}
			p, _ := g.Path(a, b)
			rows = append(rows, [5]any{label(a), label(b), p.Type.String(), bandwidth(p.BW), p.Hops()})
		}
	}
	return rows
}
