package graph_test

import (
	"fmt"

	"gonum.org/v1/gonum/graph/network"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

// Four V100 on two sockets, two NVLinks between every pair.
func Example() {
	g, err := graph.Build(topotest.V100x4(), graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpus, cpus := g.NodesOf(graph.GPU), g.NodesOf(graph.CPU)
	for _, to := range []*graph.Node{gpus[3], cpus[1]} {
		p, _ := g.Path(gpus[0], to)
		fmt.Printf("%s to %s: %d hops, %v GB/s, %s\n", gpus[0], to, p.Hops(), p.BW, p.Type)
	}
	fmt.Printf("between two GPUs over all links: %.0f GB/s\n", network.MaxFlowDinic(g.Weighted(), gpus[0], gpus[1], 1e-6))
	// Output:
	// GPU/4000 to GPU/85000: 1 hops, 40 GB/s, NVL
	// GPU/4000 to CPU/1: 2 hops, 12 GB/s, PHB
	// between two GPUs over all links: 132 GB/s
}

// A box whose two sockets are joined at 10 GB/s, with a 24 GB/s NIC on each, is
// two nodes of a communicator.
func ExampleGraph_Split() {
	g, err := graph.Build(sockets(topotest.Skylake), graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := g.Split(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, p := range parts {
		for _, gpu := range p.NodesOf(graph.GPU) {
			fmt.Printf("node %d: rank %d on %s\n", i, gpu.GPU.Rank, gpu)
		}
	}
	// Output:
	// node 0: rank 0 on GPU/11000
	// node 1: rank 1 on GPU/31000
}
