package draw

import (
	"github.com/ringtopo/ringtopo/graph"
)

// column is one place of a host's row of GPUs. A NIC stands above the GPU it
// shares a switch with; either may be missing.
type column struct {
	gpu    *leaf
	nic    *leaf
	upward *graph.Link // NVLink or C2C from the GPU to its CPU
	socket int
	left   float64
	inner  float64 // width of its boxes
	gutter float64 // width beside them, where wires from the NIC run
	climbs int     // riders on its GPU's PCI link

	// Wires leave a GPU at its lower edge and a NIC by the gutter to the right
	// of the column.
	gpuPort port
	nicPort port
}

// columnsOf deals the leaves of a host out to columns and tells each branch
// which columns are below it. The picture has so many columns before.
func columnsOf(roots []*branch, before int) []*column {
	var cols []*column
	for socket, root := range roots {
		root.place(&cols, socket)
	}
	for i, c := range cols {
		c.gpuPort.order = 2 * (before + i)
		c.nicPort.order = c.gpuPort.order + 1
	}
	return cols
}

func (br *branch) place(cols *[]*column, socket int) {
	br.first = len(*cols)
	own := br.ownColumns()
	for _, sub := range br.branches {
		if len(own) > 0 && sub.minRank >= br.leaves[0].rank {
			*cols, own = append(*cols, own...), nil
		}
		sub.place(cols, socket)
	}
	*cols = append(*cols, own...)
	if len(*cols) == br.first {
		*cols = append(*cols, &column{}) // an empty CPU or switch takes room too
	}
	br.last = len(*cols) - 1
	for _, c := range (*cols)[br.first:] {
		c.socket = socket
	}
}

// ownColumns pairs the GPUs and NICs that hang directly from a branch. A GPU
// with links to its CPU needs the room above it for those.
func (br *branch) ownColumns() []*column {
	var cols []*column
	shared := true
	for i := range br.leaves {
		if l := &br.leaves[i]; l.node.Type == graph.GPU {
			up := upwardLink(l.node)
			shared = shared && up == nil
			cols = append(cols, &column{gpu: l, upward: up})
		}
	}
	next := 0
	if !shared {
		next = len(cols)
	}
	for i := range br.leaves {
		l := &br.leaves[i]
		if l.node.Type != graph.NIC {
			continue
		}
		if next == len(cols) {
			cols = append(cols, &column{})
		}
		cols[next].nic = l
		next++
	}
	return cols
}

// nicLeft is where a NIC's box begins in its column, right of the PCI link of
// the GPU below.
func (c *column) nicLeft(m *metrics) float64 {
	if c.gpu == nil {
		return 0
	}
	return 2*m.pciInset + climbPitch*float64(c.climbs)
}

// right is the right edge of the column's boxes.
func (c *column) right() float64 { return c.left + c.inner }

// upwardLink is a GPU's NVLink or C2C to a CPU, nil if it has none.
func upwardLink(gpu *graph.Node) *graph.Link {
	for _, l := range gpu.Links {
		if l.Type == graph.LinkNVL && l.To.Type == graph.CPU {
			return l
		}
	}
	return nil
}
