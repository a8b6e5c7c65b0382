package nccllog

import (
	"bufio"
	"fmt"
	"io"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// maxListed is how many ranks NCCL names in a Channel line.
const maxListed = 20

// Write writes every line of one rank, in NCCL's order, without the prefix that
// names host, process and device. Channel lines are rank 0's only; full lifts
// their limit of 20 ranks.
func Write(w io.Writer, c *connect.Comm, rank int, full bool) error {
	if rank < 0 || rank >= c.NRanks {
		return fmt.Errorf("rank %d is not one of the communicator's %d", rank, c.NRanks)
	}
	trees, err := allTrees(c)
	if err != nil {
		return err
	}
	v := view{&c.Nodes[c.RankToNode[rank]]}
	b := bufio.NewWriter(w)
	v.writeSystem(b)
	v.writePaths(b)
	v.writePattern(b, v.Search.Ring)
	v.writePattern(b, v.Search.Tree)
	if v.Search.NVLS != nil {
		v.writePattern(b, *v.Search.NVLS)
	}
	if rank == 0 {
		writeMixed(b, c)
	}
	v.writeJoints(b, trees, rank)
	if rank == 0 {
		writeChannels(b, c, full)
	}
	writeRings(b, c, rank)
	writeTrees(b, c, rank)
	return b.Flush()
}

// view is a node as its ranks see it.
type view struct{ *connect.Node }

// user gives the user rank behind a rank of the node.
func (v view) user(local int) int { return v.Ranks[local] }

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
		for _, r := range ring.Order[:n] {
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

// allTrees gives the trees of all channels that the nodes have in common and of
// their duplicates, before limits cut some off or repeat others: that is when
// NCCL logs them.
func allTrees(c *connect.Comm) ([]connect.Tree, error) {
	all := 2 * c.Tree.NChannels
	uncut, err := connect.Join(c.Nodes, connect.DefaultOptions())
	if err != nil {
		return nil, err
	}
	return uncut.Trees[:min(all, len(uncut.Trees))], nil
}

// writeJoints writes the lines of a rank that joins its node's trees to those
// of other nodes: each channel and its duplicate in turn.
func (v view) writeJoints(b *bufio.Writer, trees []connect.Tree, rank int) {
	n := len(trees) / 2
	for ch, chain := range v.Search.Tree.Intra[:n] {
		if !v.joins(chain, rank) {
			continue
		}
		for _, id := range []int{ch, ch + n} {
			t := trees[id]
			d := t.Down[rank]
			fmt.Fprintf(b, "Tree %d : %d -> %d -> %d/%d/%d\n", id, t.Up[rank], rank, d[0], d[1], d[2])
		}
	}
}

// joins says whether the rank is one of those that talk to other nodes in the
// tree of a chain: its first, and the second where the pattern spreads the
// children over two GPUs.
func (v view) joins(chain []int, rank int) bool {
	ends := 2
	if v.Search.Tree.Pattern == rings.Tree {
		ends = 1
	}
	for _, local := range chain[:min(ends, len(chain))] {
		if v.user(local) == rank {
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
func (v view) writePattern(b *bufio.Writer, s rings.Set) {
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
