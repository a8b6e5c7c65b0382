package connect_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// box of some GPUs on one socket, all joined by NVLink.
func boxOf(t testing.TB, cpu topo.CPU, n, sm int) *graph.Graph {
	t.Helper()
	for i := range n {
		d := topotest.GPU(4+i, i, sm, topotest.Gen4)
		for j := range n {
			if j != i {
				d.GPU.NVLinks = append(d.GPU.NVLinks, topotest.ToGPU(4+j, 2))
			}
		}
		cpu.Devices = append(cpu.Devices, d)
	}
	g, err := graph.Build(topotest.Machine(cpu), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// channels makes a set of channels that visit GPUs in the given orders.
func channels(pattern rings.Pattern, orders ...[]int) rings.Set {
	return rings.Set{Pattern: pattern, NChannels: len(orders), BWIntra: 20, BWInter: 20, SameChannels: 1, Intra: orders}
}

// rotated gives n orders of size GPUs, each starting one further.
func rotated(n, size int) [][]int {
	orders := make([][]int, n)
	for c := range orders {
		for i := range size {
			orders[c] = append(orders[c], (c+i)%size)
		}
	}
	return orders
}

// fake is a node whose search found the given ring orders, and trees alike.
func fake(g *graph.Graph, first int, orders ...[]int) connect.Node {
	ranks := make([]int, len(g.NodesOf(graph.GPU)))
	for i := range ranks {
		ranks[i] = first + i
	}
	return connect.Node{Graph: g, Ranks: ranks, Search: &rings.Result{
		Ring: channels(rings.Ring, orders...), Tree: channels(rings.BalancedTree, orders...),
	}}
}

func mustJoin(t testing.TB, opt connect.Options, nodes ...connect.Node) *connect.Comm {
	t.Helper()
	c, err := connect.Join(nodes, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
