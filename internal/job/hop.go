package job

import (
	"slices"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
)

// Hop is one step of a ring: from a user rank to the next.
type Hop struct {
	From, To int
	Type     graph.PathType // PathNET between nodes
	BW       float32        // of the narrowest link on the way, GB/s
	Ways     []Way          // the links on the way: one part inside a node, two between nodes
}

// Way is the part of a hop inside one node.
type Way struct {
	Node  int // in the communicator's order
	Links []*graph.Link
}

// Hops gives the steps of a channel's ring, from rank 0 on. Between nodes each
// part of the way is that to the network which the search gave the channel;
// where a machine has no network the search's own bandwidth stands in.
func (j *Job) Hops(channel int) []Hop {
	order := j.Comm.Rings[channel].Order
	hops := make([]Hop, len(order))
	for i, r := range order {
		hops[i] = j.hop(channel, int(r), int(order[(i+1)%len(order)]))
	}
	return hops
}

// SameWays tells whether the rings of two channels take the same links: the same
// order, and between nodes the same networks.
func (j *Job) SameWays(a, b int) bool {
	order := j.Comm.Rings[a].Order
	if !slices.Equal(order, j.Comm.Rings[b].Order) {
		return false
	}
	for i, r := range order {
		from, to := int(r), int(order[(i+1)%len(order)])
		m, n := j.Comm.RankToNode[from], j.Comm.RankToNode[to]
		if m == n {
			continue
		}
		x, y := &j.Comm.Nodes[m], &j.Comm.Nodes[n]
		if network(x, a, from, 1) != network(x, b, from, 1) || network(y, a, to, 0) != network(y, b, to, 0) {
			return false
		}
	}
	return true
}

// Slowest gives the first of the hops with the least bandwidth.
func Slowest(hops []Hop) Hop {
	least := hops[0]
	for _, h := range hops[1:] {
		if h.BW < least.BW {
			least = h
		}
	}
	return least
}

func (j *Job) hop(channel, from, to int) Hop {
	a, b := j.Comm.RankToNode[from], j.Comm.RankToNode[to]
	if a == b {
		p, _ := j.Comm.Nodes[a].Graph.Path(j.GPU(from), j.GPU(to))
		return Hop{From: from, To: to, Type: p.Type, BW: p.BW, Ways: []Way{{a, p.Links}}}
	}
	h := Hop{From: from, To: to, Type: graph.PathNET}
	out, okOut := j.toNetwork(a, channel, from)
	in, okIn := j.fromNetwork(b, channel, to)
	if !okOut || !okIn {
		h.BW = min(j.Comm.Nodes[a].Search.Ring.BWInter, j.Comm.Nodes[b].Search.Ring.BWInter)
		return h
	}
	h.BW = min(out.BW, in.BW)
	h.Ways = []Way{{a, out.Links}, {b, in.Links}}
	return h
}

func (j *Job) toNetwork(node, channel, rank int) (graph.Path, bool) {
	n := &j.Comm.Nodes[node]
	net := network(n, channel, rank, 1)
	if net == nil {
		return graph.Path{}, false
	}
	return n.Graph.Path(j.GPU(rank), net)
}

func (j *Job) fromNetwork(node, channel, rank int) (graph.Path, bool) {
	n := &j.Comm.Nodes[node]
	net := network(n, channel, rank, 0)
	if net == nil {
		return graph.Path{}, false
	}
	return n.Graph.Path(net, j.GPU(rank))
}

// network finds the network at one end (0 in, 1 out) of the chain that a rank
// begins or ends: the channel's own chain, or where channels were exchanged or
// repeated another one with that end.
func network(n *connect.Node, channel, rank, end int) *graph.Node {
	set := n.Search.Ring
	for i := range set.Inter {
		c := (channel + i) % len(set.Inter)
		chain := set.Intra[c]
		if n.Ranks[chain[end*(len(chain)-1)]] != rank {
			continue
		}
		for _, net := range n.Graph.NodesOf(graph.NET) {
			if int64(net.NodeID) == set.Inter[c][end] {
				return net
			}
		}
	}
	return nil
}
