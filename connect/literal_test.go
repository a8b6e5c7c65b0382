package connect_test

import (
	"slices"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
)

// What follows joins nodes word by word as the rules are written: every rank
// publishes a record, every rank reads all records. The package must give the
// same for any nodes.

// litRecord is what one rank publishes.
type litRecord struct {
	ringRecv, ringSend, ringPrev, ringNext []int
	parent, child0, child1                 []int
	up, down                               []int // of the chain inside the node
	search                                 *rings.Result
	graph                                  *graph.Graph
}

type litComm struct {
	records    []litRecord
	rankToNode []int
	firstRank  []int
	n          int
	ring       rings.Set
	next       [][]int
	trees      [][][4]int // per channel and rank: up, down
}

func litPublish(node connect.Node, rank, n0 int) litRecord {
	r := litRecord{search: node.Search, graph: node.Graph}
	user := func(chain []int) []int {
		out := make([]int, len(chain))
		for i, x := range chain {
			out[i] = node.Ranks[x]
		}
		return out
	}
	at := func(chain []int, i int) int {
		if i < 0 || i >= len(chain) {
			return -1
		}
		return chain[i]
	}
	child0, child1 := 1, 0
	switch node.Search.Tree.Pattern {
	case rings.Tree:
		child0 = 0
	case rings.SplitTree:
		child1 = 1
	}
	for c := range n0 {
		chain := user(node.Search.Ring.Intra[c])
		i := slices.Index(chain, rank)
		r.ringRecv = append(r.ringRecv, chain[0])
		r.ringSend = append(r.ringSend, chain[len(chain)-1])
		r.ringPrev = append(r.ringPrev, at(chain, i-1))
		r.ringNext = append(r.ringNext, at(chain, i+1))
		chain = user(node.Search.Tree.Intra[c])
		i = slices.Index(chain, rank)
		r.parent = append(r.parent, chain[0])
		r.child0 = append(r.child0, at(chain, child0))
		r.child1 = append(r.child1, at(chain, child1))
		r.up = append(r.up, at(chain, i-1))
		r.down = append(r.down, at(chain, i+1))
	}
	return r
}

// litJoin gives everything before the rules on channel counts: n channels and
// their duplicates.
func litJoin(nodes []connect.Node, nRanks int) *litComm {
	c := &litComm{records: make([]litRecord, nRanks)}
	n := 64
	for _, node := range nodes {
		n0 := min(node.Search.Ring.NChannels, node.Search.Tree.NChannels)
		n = min(n, n0)
		for _, g := range node.Graph.NodesOf(graph.GPU) {
			rank := node.Ranks[g.GPU.Rank]
			c.records[rank] = litPublish(node, rank, n0)
		}
	}
	c.n = n
	for r := range nRanks {
		key := c.records[r].ringRecv[0]
		k := slices.Index(c.firstRank, key)
		if k < 0 {
			k = len(c.firstRank)
			c.firstRank = append(c.firstRank, key)
		}
		c.rankToNode = append(c.rankToNode, k)
	}
	c.reconcile()
	if c.ring.CrossNIC != 0 && n%2 == 0 {
		for r := range nRanks {
			if c.rankToNode[r]%2 == 1 {
				litSwap(&c.records[r], n)
			}
		}
	}
	c.rings()
	for ch := range n {
		c.trees = append(c.trees, c.tree(ch, 0))
	}
	for ch := range n {
		c.trees = append(c.trees, c.tree(ch, 1))
		c.next = append(c.next, c.next[ch])
	}
	return c
}

func litSwap(r *litRecord, n int) {
	for _, list := range [][]int{r.ringRecv, r.ringSend, r.ringPrev, r.ringNext} {
		for ch := 0; ch < n; ch += 2 {
			list[ch], list[ch+1] = list[ch+1], list[ch]
		}
	}
}

func (c *litComm) reconcile() {
	c.ring = c.records[0].search.Ring
	for _, r := range c.records {
		o := r.search.Ring
		c.ring.SameChannels = min(c.ring.SameChannels, o.SameChannels)
		c.ring.BWIntra = min(c.ring.BWIntra, o.BWIntra)
		c.ring.BWInter = min(c.ring.BWInter, o.BWInter)
		c.ring.TypeIntra = max(c.ring.TypeIntra, o.TypeIntra)
		c.ring.TypeInter = max(c.ring.TypeInter, o.TypeInter)
		c.ring.CrossNIC = max(c.ring.CrossNIC, o.CrossNIC)
	}
	c.ring.NChannels = c.n
}

func (c *litComm) rings() {
	nNodes := len(c.firstRank)
	for ch := range c.n {
		next := make([]int, len(c.records))
		for r := range next {
			next[r] = c.records[r].ringNext[ch]
		}
		for k := range nNodes {
			send := c.records[c.firstRank[k]].ringSend[ch]
			next[send] = c.records[c.firstRank[(k+1)%nNodes]].ringRecv[ch]
		}
		c.next = append(c.next, next)
	}
}

// tree gives every rank its place in one of a channel's two trees.
func (c *litComm) tree(ch, t int) [][4]int {
	nNodes := len(c.firstRank)
	of := func(k int) litRecord { return c.records[c.firstRank[k]] }
	rows := make([][4]int, len(c.records))
	for rank, r := range c.records {
		row := &rows[rank]
		*row = [4]int{r.up[ch], r.down[ch], -1, -1}
		node := c.rankToNode[rank]
		b := litDoubleTree(nNodes, node)[t]
		adopt := func(k int) {
			for i := 1; k >= 0; i++ {
				if row[i] < 0 {
					row[i] = of(k).parent[ch]
					return
				}
			}
		}
		if rank == of(node).parent[ch] && b.up >= 0 {
			row[0] = of(b.up).child1[ch]
			if b.typ == 0 {
				row[0] = of(b.up).child0[ch]
			}
		}
		if rank == of(node).child0[ch] {
			adopt(b.d0)
		}
		if rank == of(node).child1[ch] {
			adopt(b.d1)
		}
	}
	return rows
}

type litBranch struct{ up, d0, d1, typ int }

func litTree(n, r int) litBranch {
	b := 1
	for b < n && b&r == 0 {
		b = 2 * b
	}
	if r == 0 {
		d1 := -1
		if n > 1 {
			d1 = b / 2
		}
		return litBranch{-1, -1, d1, 9}
	}
	up := (r ^ b) | 2*b
	if up >= n {
		up = r ^ b
	}
	t := litBranch{up: up, d0: -1, d1: -1}
	if r >= up {
		t.typ = 1
	}
	h := b / 2
	if h == 0 {
		return t
	}
	t.d0 = r - h
	for h > 0 && r+h >= n {
		h /= 2
	}
	if h > 0 {
		t.d1 = r + h
	}
	return t
}

func litDoubleTree(n, r int) [2]litBranch {
	q, back := n-1-r, func(x int) int { return n - 1 - x }
	if n%2 == 1 {
		q, back = (r-1+n)%n, func(x int) int { return (x + 1) % n }
	}
	second := litTree(n, q)
	for _, x := range []*int{&second.up, &second.d0, &second.d1} {
		if *x != -1 {
			*x = back(*x)
		}
	}
	return [2]litBranch{litTree(n, r), second}
}
