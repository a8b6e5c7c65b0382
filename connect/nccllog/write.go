package nccllog

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// maxListed is how many ranks NCCL names in a Channel line.
const maxListed = 20

// View is a communicator as one of its ranks sees it.
type View struct {
	Comm   *connect.Comm
	Rank   int           // user rank of the one that logs
	Graph  *graph.Graph  // of its node
	Search *rings.Result // of its node, before reconciliation
	// Ranks are the user ranks behind the ranks that Graph and Search name;
	// nil if those are user ranks.
	Ranks []int
}

// user gives the user rank behind a rank of the node.
func (v View) user(local int) int {
	if local < 0 || local >= len(v.Ranks) {
		return local
	}
	return v.Ranks[local]
}

// Write writes every line of a view, in NCCL's order, without the prefix that
// names host, process and device. Channel lines are rank 0's only; full lifts
// their limit of 20 ranks.
func Write(w io.Writer, v View, full bool) error {
	if v.Rank < 0 || v.Rank >= v.Comm.NRanks {
		return fmt.Errorf("rank %d is not one of the communicator's %d ranks", v.Rank, v.Comm.NRanks)
	}
	if v.Graph == nil || v.Search == nil {
		return errors.New("a view needs the graph and the search of its node")
	}
	b := bufio.NewWriter(w)
	writeSystem(b, v)
	writePaths(b, v.Graph)
	writePattern(b, v, v.Search.Ring)
	writePattern(b, v, v.Search.Tree)
	if v.Search.NVLS != nil {
		writePattern(b, v, *v.Search.NVLS)
	}
	if v.Rank == 0 {
		writeMixed(b, v.Comm)
	}
	writeTreeLines(b, v)
	if v.Rank == 0 {
		writeChannels(b, v.Comm, full)
	}
	writeRings(b, v.Comm, v.Rank)
	writeTrees(b, v.Comm, v.Rank)
	return b.Flush()
}

// WriteChannels writes the Channel lines, every ring from rank 0 on. Without
// full a line names 20 ranks at most, as NCCL's does.
func WriteChannels(w io.Writer, c *connect.Comm, full bool) error {
	b := bufio.NewWriter(w)
	writeChannels(b, c, full)
	return b.Flush()
}

func writeChannels(b *bufio.Writer, c *connect.Comm, full bool) {
	n := c.NRanks
	if !full {
		n = min(n, maxListed)
	}
	for id, ring := range c.Rings {
		fmt.Fprintf(b, "Channel %02d/%02d : ", id, len(c.Rings))
		for i, r := 0, int32(0); i < n; i, r = i+1, ring.Next[r] {
			fmt.Fprintf(b, " %3d", r)
		}
		b.WriteByte('\n')
	}
}

func writeRings(b *bufio.Writer, c *connect.Comm, rank int) {
	for id, ring := range c.Rings {
		fmt.Fprintf(b, "Ring %02d : %d -> %d -> %d\n", id, ring.Prev[rank], rank, ring.Next[rank])
	}
}

func writeTrees(b *bufio.Writer, c *connect.Comm, rank int) {
	b.WriteString("Trees")
	for id, t := range c.Trees {
		d := t.Down[rank]
		fmt.Fprintf(b, " [%d] %d/%d/%d->%d->%d", id, d[0], d[1], d[2], rank, t.Up[rank])
	}
	b.WriteByte('\n')
}

// writeTreeLines writes the lines of a rank that joins its node's trees to
// those of other nodes: each channel and its duplicate in turn.
func writeTreeLines(b *bufio.Writer, v View) {
	n := v.Comm.Tree.NChannels
	for c := range min(n, len(v.Search.Tree.Intra)) {
		if !v.joinsNodes(v.Search.Tree.Pattern, v.Search.Tree.Intra[c]) {
			continue
		}
		for _, id := range []int{c, c + n} {
			if id < len(v.Comm.Trees) {
				t := v.Comm.Trees[id]
				d := t.Down[v.Rank]
				fmt.Fprintf(b, "Tree %d : %d -> %d -> %d/%d/%d\n", id, t.Up[v.Rank], v.Rank, d[0], d[1], d[2])
			}
		}
	}
}

// joinsNodes says whether the rank is one of those that talk to other nodes in
// the tree of a chain: its first, and the second where the pattern spreads the
// children over two GPUs.
func (v View) joinsNodes(p rings.Pattern, chain []int) bool {
	ends := min(2, len(chain))
	if p == rings.Tree {
		ends = min(1, len(chain))
	}
	for _, local := range chain[:ends] {
		if v.user(local) == v.Rank {
			return true
		}
	}
	return false
}

func writeMixed(b *bufio.Writer, c *connect.Comm) {
	if c.CPU.Arch == topo.ArchMixed {
		b.WriteString("CPUs with mixed architecture were detected.\n")
	}
	if c.CPU.Vendor == topo.VendorMixed {
		b.WriteString("CPUs with mixed vendors were detected.\n")
	}
}

// writePattern writes what one search found.
func writePattern(b *bufio.Writer, v View, s rings.Set) {
	fmt.Fprintf(b, "Pattern %d, crossNic %d, nChannels %d, bw %f/%f, type %s/%s, sameChannels %d\n",
		s.Pattern, s.CrossNIC, s.NChannels, s.BWIntra, s.BWInter, s.TypeIntra, s.TypeInter, s.SameChannels)
	for c, chain := range s.Intra {
		fmt.Fprintf(b, "%2d :", c)
		if c < len(s.Inter) {
			fmt.Fprintf(b, " NET/%x", uint64(s.Inter[c][0]))
		}
		for i, local := range chain {
			// NVLS fills only the head; the zeros behind it name nobody.
			if s.Pattern != rings.NVLS || i == 0 {
				local = v.user(local)
			}
			fmt.Fprintf(b, " GPU/%d", local)
		}
		if c < len(s.Inter) {
			fmt.Fprintf(b, " NET/%x", uint64(s.Inter[c][1]))
		}
		b.WriteByte('\n')
	}
}
