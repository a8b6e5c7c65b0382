package graph

import "fmt"

// Split cuts a machine into the nodes of a communicator of ranks ranks in all:
// GPUs that only the network joins are nodes of their own. Where one node holds
// every rank, networks are left out. Nodes come in order of their first GPU.
func (g *Graph) Split(ranks int) ([]*Graph, error) {
	if ranks < len(g.nodes[GPU]) {
		return nil, fmt.Errorf("a communicator of %d ranks cannot hold %d GPUs", ranks, len(g.nodes[GPU]))
	}
	domain := g.domains()
	var parts []*Graph
	for d := range g.nodes[GPU] {
		size := 0
		for _, other := range domain {
			if other == d {
				size++
			}
		}
		if size == 0 {
			continue
		}
		part := g.without(func(n *Node) bool {
			return n.Type == GPU && domain[n.Index] != d || n.Type == NET && size == ranks
		})
		if err := part.computePaths(); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// domains gives each GPU the lowest domain among the GPUs before it that it
// reaches without the network.
func (g *Graph) domains() []int {
	gpus := g.nodes[GPU]
	domain := make([]int, len(gpus))
	for i, n := range gpus {
		domain[i] = i
		for j := range i {
			if n.paths[GPU][j].Type < PathNET {
				domain[i] = min(domain[i], domain[j])
			}
		}
	}
	return domain
}
