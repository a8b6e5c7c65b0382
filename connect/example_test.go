package connect_test

import (
	"fmt"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
)

// Two machines of four V100 in one communicator of eight ranks.
func Example() {
	g, err := graph.Build(topotest.V100x4(), graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := g.Split(8)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := rings.Search(parts[0], rings.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	comm, err := connect.Join([]connect.Node{
		{Graph: parts[0], Search: found, Ranks: []int{0, 1, 2, 3}},
		{Graph: parts[0], Search: found, Ranks: []int{4, 5, 6, 7}},
	}, connect.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d ranks on %d nodes, %d channels\n", comm.NRanks, comm.NNodes, comm.NChannels)
	ring := comm.Rings[1]
	fmt.Println("channel 1:", ring.Order)
	fmt.Println("as rank 5 sees it:", ring.From(5), "at position", ring.Index[5])
	fmt.Println("its children in the tree:", comm.Trees[1].Down[5])
	// Output:
	// 8 ranks on 2 nodes, 12 channels
	// channel 1: [0 1 3 2 4 5 7 6]
	// as rank 5 sees it: [5 7 6 0 1 3 2 4] at position 5
	// its children in the tree: [6 -1 -1]
}
