package draw

import (
	"github.com/ringtopo/ringtopo/graph"
)

// column is one place of a host's row of GPUs. NICs stand above the GPU that
// they share a switch with; either may be missing.
type column struct {
	gpu    *leaf
	nics   []*nicSlot  // top down
	upward *graph.Link // NVLink or C2C from the GPU to its CPU
	socket int
	left   float64
	inner  float64 // width of its boxes
	gutter float64 // width beside them, where wires from the NICs run
	port   port    // of the GPU's lower edge
}

// right is the right edge of the column's boxes.
func (c *column) right() float64 { return c.left + c.inner }

const (
	wideHost = 16 // columns, from where NICs are stacked
	maxStack = 4  // NICs above each other
)

// columnsOf deals the leaves of a host out to columns and tells each branch
// which columns are below it. The picture has so many columns before.
func columnsOf(roots []*branch, before int) []*column {
	var cols []*column
	for stack := 1; stack == 1 || stack <= maxStack && len(cols) > wideHost; stack++ {
		cols = nil
		for socket, root := range roots {
			root.place(&cols, socket, stack)
		}
	}
	for i, c := range cols {
		c.port.order = portsPerColumn * (before + i)
		for k, slot := range c.nics {
			slot.column = c
			// Wires of lower NICs run left of those of higher ones.
			slot.port.order = c.port.order + len(c.nics) - k
		}
	}
	return cols
}

func (br *branch) place(cols *[]*column, socket, stack int) {
	br.first = len(*cols)
	own := br.ownColumns(stack)
	for _, sub := range br.branches {
		if len(own) > 0 && sub.minRank >= br.leaves[0].rank {
			*cols, own = append(*cols, own...), nil
		}
		sub.place(cols, socket, stack)
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

// ownColumns gives the GPUs and NICs that hang directly from a branch their
// columns. A GPU with links to its CPU needs the room above it for those.
func (br *branch) ownColumns(stack int) []*column {
	var cols []*column
	first := 0 // column with room for NICs
	for i := range br.leaves {
		if l := &br.leaves[i]; l.node.Type == graph.GPU {
			cols = append(cols, &column{gpu: l, upward: upwardLink(l.node)})
			if cols[len(cols)-1].upward != nil {
				first = len(cols)
			}
		}
	}
	nics := br.nics()
	for len(cols)-first < (len(nics)+stack-1)/stack {
		cols = append(cols, &column{})
	}
	for i, l := range nics {
		room := len(cols) - first
		each := (len(nics) + room - 1) / room
		c := cols[first+i/each]
		c.nics = append(c.nics, &nicSlot{leaf: l, row: len(c.nics)})
	}
	return cols
}

func (br *branch) nics() []*leaf {
	var out []*leaf
	for i := range br.leaves {
		if br.leaves[i].node.Type == graph.NIC {
			out = append(out, &br.leaves[i])
		}
	}
	return out
}

// upwardLink is a GPU's NVLink or C2C to a CPU, nil if it has none.
func upwardLink(gpu *graph.Node) *graph.Link {
	for _, l := range gpu.Links {
		if l.Type == graph.LinkNVL && l.To.Type == graph.CPU {
			return l
		}
	}
	return nil
}
