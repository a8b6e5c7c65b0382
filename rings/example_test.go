package rings_test

import (
	"fmt"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
)

// The rings of four V100, two NVLinks between every pair.
func Example() {
	g, err := graph.Build(topotest.V100x4(), graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodes, err := g.Split(4) // a job of four ranks: one node
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := rings.Search(nodes[0], rings.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rings of %v GB/s over %s\n", found.Ring.NChannels, found.Ring.BWIntra, found.Ring.TypeIntra)
	for _, ranks := range found.Ring.Intra {
		fmt.Println(ranks)
	}
	// Output:
	// 6 rings of 20 GB/s over NVL
	// [0 1 2 3]
	// [0 1 3 2]
	// [0 2 3 1]
	// [0 2 1 3]
	// [0 3 1 2]
	// [0 3 2 1]
}
