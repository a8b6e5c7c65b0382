package ncclxml

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/topo"
)

// System turns the document into a machine. GPUs without a rank take no part,
// as in NCCL: Select gives ranks. Values that the file leaves open are assumed
// and listed in the system's Assumed; what no machine can be like is an *Error.
func (d *Document) System() (*topo.System, error) {
	if err := d.Expect(Topology); err != nil {
		return nil, err
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	b := &builder{
		doc: &Document{Name: d.Name, Root: d.Root, Assumed: slices.Clone(d.Assumed), left: d.left},
		at:  map[topo.BusID]*fixture{}, switches: map[topo.BusID]*Element{},
	}
	if err := b.locate(d.Root, nil); err != nil {
		return nil, err
	}
	sys, err := b.system()
	if err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	b.noteMissing()
	sys.Assumed = b.doc.Assumed
	return sys, nil
}

// builder turns elements into the parts of a machine.
type builder struct {
	doc      *Document // a shallow copy that collects the assumptions
	gpus     []*fixture
	at       map[topo.BusID]*fixture
	switches map[topo.BusID]*Element
	pciLinks []pciLink
}

// pciLink is a link between two switches.
type pciLink struct {
	e        *Element
	from, to topo.BusID
}

// fixture is a GPU that takes part.
type fixture struct {
	bus    topo.BusID
	gpu    *Element
	rank   int
	sm     int
	placed bool // a device was made of it
	links  []link
}

// link is an nvlink element and what it was read as.
type link struct {
	from *Element
	topo.NVLink
}

// locate finds the GPUs that take part, so that links can be told from each
// other by their targets.
func (b *builder) locate(e, parent *Element) error {
	if _, ranked := e.Get("rank"); e.Name == "gpu" && ranked {
		bus, err := b.busID(parent, "busid")
		if err != nil {
			return err
		}
		if other := b.at[bus]; other != nil {
			return b.doc.nonsense(e, fmt.Sprintf("a second GPU on %s; the first is %s", bus, other.gpu.at()),
				"each GPU needs a pci element with a busid of its own; parts of one GPU (MIG, MPS, MLOPart) are not supported")
		}
		f := &fixture{bus: bus, gpu: e}
		b.gpus = append(b.gpus, f)
		b.at[bus] = f
	}
	for _, c := range accepted(e) {
		if err := b.locate(c, e); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) system() (*topo.System, error) {
	if len(b.gpus) == 0 {
		return nil, b.doc.nonsense(b.doc.Root, "no GPU in it has a rank", "only GPUs with a rank attribute take part in a job")
	}
	root := b.doc.Root
	if _, ok := root.Get("version"); !ok {
		b.doc.assume(root, "version missing: taken for 1")
	}
	sys := &topo.System{}
	for i, e := range accepted(root) {
		cpu, err := b.cpu(e, i)
		if err != nil {
			return nil, err
		}
		sys.CPUs = append(sys.CPUs, cpu)
	}
	b.noteSize()
	return sys, nil
}

// maxElements is how many elements NCCL 2.22.3 has room for in one machine.
const maxElements = 256

func (b *builder) noteSize() {
	if n := count(b.doc.Root); n > maxElements {
		b.doc.assume(b.doc.Root, fmt.Sprintf("%d elements: NCCL 2.22.3 stops at %d with \"too many XML nodes\"; later releases take more",
			n, maxElements))
	}
}

func (b *builder) cpu(e *Element, index int) (topo.CPU, error) {
	cpu := topo.CPU{Host: hostOf(e), NUMA: b.numa(e, index)}
	cpu.Affinity, _ = e.Get("affinity")
	b.processor(e, &cpu)
	for _, c := range accepted(e) {
		d, ok, err := b.child(c)
		if err != nil {
			return cpu, err
		}
		if ok {
			cpu.Devices = append(cpu.Devices, d)
		}
	}
	return cpu, nil
}

// child makes a device of a child of a cpu or a switch; ok is false for one
// that NCCL makes nothing of.
func (b *builder) child(e *Element) (d topo.Device, ok bool, err error) {
	if e.Name == "nic" {
		nic, err := b.nic(e)
		return topo.Device{Class: topo.ClassNIC, Virtual: true, NIC: nic}, true, err
	}
	return b.pci(e)
}
