package graph_test

import "github.com/ringtopo/ringtopo/graph"

func litGeneration(device, level uint64) int {
	switch device & 0xfffffffffffff000 {
	case 0x1000c0101000a000:
		return 4
	case 0x1000c03010000000 | level*0x1000:
		return 5
	}
	return 0
}

func (l *lit) flatten() {
	for s := 0; s < len(l.nodes[graph.PCI]); {
		p := l.nodes[graph.PCI][s]
		gen := litGeneration(p.device, 0)
		if gen == 0 {
			s++
			continue
		}
		var subs []int64
		var rest []*litLink
		for _, k := range p.links {
			if k.peer.typ == graph.PCI && litGeneration(k.peer.device, 1) == gen {
				subs = append(subs, k.peer.id)
			} else {
				rest = append(rest, k)
			}
		}
		p.links = rest
		for _, id := range subs {
			if sub := l.get(graph.PCI, id); sub != nil {
				l.merge(p, sub)
			}
		}
		p.device |= 0xffff
		s = 1
	}
}

func (l *lit) merge(p, sub *litNode) {
	for _, k := range sub.links {
		if k.peer == p {
			continue
		}
		if len(p.links) == 128 {
			panic("too many links")
		}
		p.links = append(p.links, &litLink{k.typ, k.bw, k.peer})
		for _, b := range k.peer.links {
			if b.peer == sub {
				b.peer = p
				break
			}
		}
	}
	l.remove(sub)
}

func (l *lit) remove(n *litNode) {
	l.nodes[n.typ] = without(l.nodes[n.typ], func(m *litNode) bool { return m == n })
	for _, nodes := range l.nodes {
		for _, m := range nodes {
			m.links = without(m.links, func(k *litLink) bool { return k.peer == n })
		}
	}
}

func without[T any](list []T, drop func(T) bool) (kept []T) {
	for _, x := range list {
		if !drop(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func litSort(n, up *litNode, depth int) {
	if depth > 1000 {
		panic("endless recursion")
	}
	for i, k := range n.links {
		if up != nil && k.peer == up {
			n.links = append(append(append([]*litLink{}, n.links[:i]...), n.links[i+1:]...), k)
			break
		}
	}
	for _, k := range n.links {
		if k.typ == graph.LinkPCI && k.peer != up {
			litSort(k.peer, n, depth+1)
		}
	}
}
