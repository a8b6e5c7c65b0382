package graph

import (
	"fmt"
	"slices"
)

// add appends a node.
func (g *Graph) add(t NodeType, id NodeID) (*Node, error) {
	if len(g.nodes[t]) == MaxNodesPerType {
		return nil, fmt.Errorf("%w: more than %d %s nodes, which NCCL refuses", ErrNonsense, MaxNodesPerType, t)
	}
	n := &Node{Type: t, Index: len(g.nodes[t]), NodeID: id}
	g.nodes[t] = append(g.nodes[t], n)
	return n, nil
}

// find gives the first node of a type with that id, or nil.
func (g *Graph) find(t NodeType, id NodeID) *Node {
	for _, n := range g.nodes[t] {
		if n.NodeID == id {
			return n
		}
	}
	return nil
}

// connect adds bandwidth to the link from a to b, making it if need be. A
// node's links stay in descending bandwidth, equal ones in order of arrival.
func connect(a, b *Node, t LinkType, bw float32) error {
	i := slices.IndexFunc(a.Links, func(l *Link) bool { return l.To == b && l.Type == t })
	if i < 0 {
		if err := appendLink(a, &Link{Type: t, From: a, To: b}); err != nil {
			return err
		}
		i = len(a.Links) - 1
	}
	l := a.Links[i]
	l.BW += bw
	for ; i > 0 && a.Links[i-1].BW < l.BW; i-- {
		a.Links[i] = a.Links[i-1]
	}
	a.Links[i] = l
	return nil
}

func connectBoth(a, b *Node, t LinkType, bw float32) error {
	if err := connect(a, b, t, bw); err != nil {
		return err
	}
	return connect(b, a, t, bw)
}

func appendLink(n *Node, l *Link) error {
	if len(n.Links) == MaxLinksPerNode {
		return fmt.Errorf("%w: %s has more than %d links, which NCCL refuses", ErrNonsense, n, MaxLinksPerNode)
	}
	n.Links = append(n.Links, l)
	return nil
}

// Reverse gives the first link back of the same type, or nil.
func (l *Link) Reverse() *Link {
	for _, r := range l.To.Links {
		if r.To == l.From && r.Type == l.Type {
			return r
		}
	}
	return nil
}

// sortUplinks moves each PCI node's link to its parent behind the others, down
// to so many levels.
func sortUplinks(n, up *Node, levels int) error {
	if levels == 0 {
		return fmt.Errorf("%w: the PCI links around %s form a circle", ErrNonsense, n)
	}
	if up != nil {
		i := slices.IndexFunc(n.Links, func(l *Link) bool { return l.To == up })
		if i >= 0 {
			l := n.Links[i]
			n.Links = append(slices.Delete(n.Links, i, i+1), l)
		}
	}
	for _, l := range n.Links {
		if l.Type == LinkPCI && l.To != up {
			if err := sortUplinks(l.To, n, levels-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove takes a node out, with every link that leads to it.
func (g *Graph) remove(n *Node) {
	g.nodes[n.Type] = slices.Delete(g.nodes[n.Type], n.Index, n.Index+1)
	for i, m := range g.nodes[n.Type] {
		m.Index = i
	}
	for _, nodes := range g.nodes {
		for _, m := range nodes {
			m.Links = slices.DeleteFunc(m.Links, func(l *Link) bool { return l.To == n })
		}
	}
}

// number gives nodes and links their dense ids.
func (g *Graph) number() {
	g.all, g.links = nil, nil
	for _, nodes := range g.nodes {
		for _, n := range nodes {
			n.id = int64(len(g.all))
			g.all = append(g.all, n)
			for _, l := range n.Links {
				l.ID = len(g.links)
				g.links = append(g.links, l)
			}
		}
	}
}

// without copies the graph, less the nodes that drop names, without paths.
func (g *Graph) without(drop func(*Node) bool) *Graph {
	c := &Graph{opt: g.opt}
	twin := make([]*Node, len(g.all))
	for t, nodes := range g.nodes {
		for _, n := range nodes {
			if drop(n) {
				continue
			}
			m := *n
			m.Index, m.Links, m.paths = len(c.nodes[t]), nil, [numNodeTypes][]Path{}
			c.nodes[t] = append(c.nodes[t], &m)
			twin[n.id] = &m
		}
	}
	for _, l := range g.links {
		from, to := twin[l.From.id], twin[l.To.id]
		if from != nil && to != nil {
			from.Links = append(from.Links, &Link{Type: l.Type, BW: l.BW, From: from, To: to})
		}
	}
	c.number()
	return c
}
