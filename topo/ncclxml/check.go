package ncclxml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// check refuses machines whose parts contradict each other.
func (b *builder) check() error {
	for _, check := range []func() error{b.checkPlaced, b.checkRanks, b.checkSelf, b.checkBothWays, b.checkPeers} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkPlaced finds GPUs in parts of the tree that NCCL skips: below a pci that
// is neither a switch nor the GPU's own.
func (b *builder) checkPlaced() error {
	for _, f := range b.gpus {
		if !f.placed {
			return b.doc.nonsense(f.gpu, "the GPU is below a pci element that is no switch, so NCCL does not see it",
				`give that element class="0x060400", or move the GPU`)
		}
	}
	return nil
}

func (b *builder) checkRanks() error {
	seen := map[int]*fixture{}
	for _, f := range b.gpus {
		if other := seen[f.rank]; other != nil {
			return b.doc.nonsense(f.gpu, fmt.Sprintf("rank %d is also that of %s", f.rank, other.gpu.at()),
				"each GPU needs a rank of its own")
		}
		seen[f.rank] = f
	}
	return nil
}

func (b *builder) checkSelf() error {
	var first *Element
	var names []string
	for _, f := range b.gpus {
		i := slices.IndexFunc(f.links, func(l link) bool { return l.Class == topo.ClassGPU && l.Target == f.bus })
		if i < 0 {
			continue
		}
		names = append(names, f.bus.String())
		if first == nil {
			first = f.links[i].from
		}
	}
	if first == nil {
		return nil
	}
	return b.doc.nonsense(first, "NVLinks that lead from a GPU to itself, at "+strings.Join(names, ", "),
		"target must be the busid of the GPU at the other end; nvidia-smi topo -m shows the pairs")
}

// checkBothWays finds NVLinks that only one of two GPUs has, on which NCCL
// fails, and notes those that lead out of the file.
func (b *builder) checkBothWays() error {
	for _, f := range b.gpus {
		for _, l := range f.links {
			if l.Class != topo.ClassGPU {
				continue
			}
			peer := b.at[l.Target]
			switch {
			case peer == nil && !b.doc.left[l.Target]:
				b.doc.assume(l.from, "the target is not in the file: link left out")
			case peer != nil && !peer.leadsTo(f.bus):
				where := ""
				if l.from.Line > 0 {
					where = fmt.Sprintf(" (line %d)", l.from.Line)
				}
				return b.doc.nonsense(peer.gpu, fmt.Sprintf("the GPU at %s has no nvlink to %s, which has one to it%s",
					peer.bus, f.bus, where), "NVLinks run both ways: add the missing element, or check the link with nvidia-smi nvlink -s")
			}
		}
	}
	return nil
}

// noteMissing notes where a file may leave NVLinks to NCCL to find: it asks the
// driver for those of every GPU that has none in the file. Documents that come
// from no file hold what there is.
func (b *builder) noteMissing() {
	if b.doc.Root.Line == 0 {
		return
	}
	var without []*fixture
	for _, f := range b.gpus {
		if f.gpu.Child("nvlink") == nil {
			without = append(without, f)
		}
	}
	if len(without) < len(b.gpus) {
		for _, f := range without {
			b.doc.assume(f.gpu, "no nvlink element, though other GPUs have some: taken for a GPU without NVLink")
		}
	} else if len(b.gpus) > 1 && b.oftenLinked() {
		b.doc.assume(b.doc.Root, "no gpu has an nvlink element: taken for GPUs without NVLink; on the machine NCCL adds what is there")
	}
}

// oftenLinked tells whether the GPUs are of a generation whose GPUs in servers
// mostly have NVLink.
func (b *builder) oftenLinked() bool {
	return slices.ContainsFunc(b.gpus, func(f *fixture) bool {
		return f.sm == 60 || f.sm == 70 || f.sm == 80 || f.sm >= 90 && f.sm < 120
	})
}

func (f *fixture) leadsTo(bus topo.BusID) bool {
	return slices.ContainsFunc(f.links, func(l link) bool { return l.Class == topo.ClassGPU && l.Target == bus })
}

// checkPeers does the same for the links between PCI switches.
func (b *builder) checkPeers() error {
	for _, l := range b.pciLinks {
		peer := b.switches[l.to]
		if peer == nil || slices.ContainsFunc(b.pciLinks, func(m pciLink) bool { return m.from == l.to && m.to == l.from }) {
			continue
		}
		return b.doc.nonsense(l.e, fmt.Sprintf("%s has no pcilink back to %s", peer.at(), l.from),
			"links between switches run both ways: add the missing element")
	}
	return nil
}
