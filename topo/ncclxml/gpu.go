package ncclxml

import (
	"fmt"

	"github.com/ringtopo/ringtopo/topo"
)

func (b *builder) gpu(f *fixture) (*topo.GPU, error) {
	g := &topo.GPU{}
	var err error
	if g.Rank, err = b.required(f.gpu, "rank", ""); err != nil {
		return nil, err
	}
	f.rank = g.Rank
	if g.Dev, err = b.required(f.gpu, "dev", "number the GPUs as nvidia-smi does"); err != nil {
		return nil, err
	}
	if g.SM, err = b.required(f.gpu, "sm", `give the compute capability without its point, sm="90" for 9.0`); err != nil {
		return nil, err
	}
	if g.SM <= 0 {
		return nil, b.doc.nonsense(f.gpu, fmt.Sprintf("sm is %d", g.SM), `give the compute capability, sm="90" for 9.0`)
	}
	f.sm = g.SM
	g.GDR = b.optional(f.gpu, "gdr", 1, "GPUDirect RDMA taken to work") != 0
	for _, c := range accepted(f.gpu) {
		if c.Name == "c2c" {
			err = b.c2c(c, g)
		} else {
			err = b.nvlink(c, f, g)
		}
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (b *builder) c2c(e *Element, g *topo.GPU) error {
	mbps, err := b.required(e, "bw", "give the MB/s of one link")
	if err != nil {
		return err
	}
	n, err := b.required(e, "count", "give the number of links")
	if err != nil {
		return err
	}
	if mbps <= 0 || n <= 0 {
		return b.doc.nonsense(e, fmt.Sprintf("%d links of %d MB/s", n, mbps), "leave the element out if there is no link")
	}
	g.C2Cs = append(g.C2Cs, topo.C2C{Count: n, MBps: mbps})
	return nil
}

func (b *builder) nvlink(e *Element, f *fixture, g *topo.GPU) error {
	l := link{from: e}
	var err error
	if l.Count, err = b.required(e, "count", "give the number of links to this target"); err != nil {
		return err
	}
	if l.Count <= 0 {
		return b.doc.nonsense(e, fmt.Sprintf("count is %d", l.Count), "leave the element out if there is no link")
	}
	if l.Class, err = b.targetClass(e); err != nil {
		return err
	}
	if _, there := e.Get("target"); there || l.Class == topo.ClassGPU {
		if l.Target, err = b.busID(e, "target"); err != nil {
			return err
		}
	}
	f.links = append(f.links, l)
	g.NVLinks = append(g.NVLinks, l.NVLink)
	return nil
}

// targetClass is the kind of an nvlink's target: a GPU that the file knows, or
// else a switch, where the file does not say.
func (b *builder) targetClass(e *Element) (topo.Class, error) {
	if text, ok := e.Get("tclass"); ok {
		class, _ := topo.ParseClass(text)
		return class, nil
	}
	target, err := b.busID(e, "target")
	if err != nil {
		return 0, err
	}
	if b.at[target] != nil || b.doc.left[target] {
		b.doc.assume(e, "tclass missing: the target is a GPU of the file")
		return topo.ClassGPU, nil
	}
	b.doc.assume(e, "tclass missing: the target is no GPU of the file, taken for an NVSwitch")
	return topo.ClassNVSwitch, nil
}
