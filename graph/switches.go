package graph

import "slices"

// switchGeneration tells the two generations of Broadcom PCIe switches whose two levels
// are one chip, by their device and subsystem ids; 0 for any other. The lower
// level's ids differ in the second generation.
func switchGeneration(device uint64, level uint64) int {
	id := device & 0xfffffffffffff000
	switch id {
	case 0x1000c0101000a000:
		return 4
	case 0x1000c03010000000 | level*0x1000:
		return 5
	}
	return 0
}

// flattenSwitches merges the lower half of each two-level switch into its upper
// half: traffic between them does not leave the chip.
func (g *Graph) flattenSwitches() error {
	for s := 0; s < len(g.nodes[PCI]); s++ {
		p := g.nodes[PCI][s]
		gen := switchGeneration(p.PCI.Device, 0)
		if gen == 0 {
			continue
		}
		if err := g.absorb(p, lowerHalves(p, gen)); err != nil {
			return err
		}
		// A merged switch never matches again. NCCL then scans once more, but
		// not from the very first switch.
		p.PCI.Device |= 0xffff
		s = 0
	}
	return nil
}

// lowerHalves takes p's links to switches of the same chip out and names them.
func lowerHalves(p *Node, gen int) []NodeID {
	var subs []NodeID
	p.Links = slices.DeleteFunc(p.Links, func(l *Link) bool {
		if l.To.Type != PCI || switchGeneration(l.To.PCI.Device, 1) != gen {
			return false
		}
		subs = append(subs, l.To.NodeID)
		return true
	})
	return subs
}

func (g *Graph) absorb(p *Node, subs []NodeID) error {
	for _, id := range subs {
		s := g.find(PCI, id)
		if s == nil {
			continue // joined to p twice, and already gone
		}
		for _, l := range s.Links {
			if l.To == p {
				continue
			}
			if err := appendLink(p, &Link{Type: l.Type, BW: l.BW, From: p, To: l.To}); err != nil {
				return err
			}
			if i := slices.IndexFunc(l.To.Links, func(b *Link) bool { return b.To == s }); i >= 0 {
				l.To.Links[i].To = p
			}
		}
		g.remove(s)
	}
	return nil
}
