package smi

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtopo/ringtopo/topo"
)

// System makes a machine with the distances of the matrix: devices that are PIX
// apart are on one switch, PXB on switches below one switch, PHB and NODE on one
// NUMA domain, which is all that NCCL tells apart of these two. The name is for
// messages. What was chosen is in the machine's Assumed. Distances that no tree
// of devices has are an *Error.
func (m *Matrix) System(name string, o Options) (*topo.System, error) {
	b := &builder{Matrix: m, assumed: slices.Clone(m.Notes)}
	domains, assumed, err := m.domains(name)
	if err != nil {
		return nil, err
	}
	if b.switches, err = m.within(sameSwitches, name); err != nil {
		return nil, err
	}
	if b.oneSwitch, err = m.within(sameSwitch, name); err != nil {
		return nil, err
	}
	if _, err = m.within(sameBridge, name); err != nil {
		return nil, err
	}
	b.wiring = m.wire(o)
	links := b.wiring.maxPerGPU()
	var defaults []topo.Assumption
	b.Options, defaults = o.defaults(links, len(m.NICs) > 0)
	b.assume(b.wiring.assumed, defaults, assumed)
	b.noteOddities(links)
	sys := &topo.System{}
	b.buses = make([]topo.BusID, m.size())
	for _, d := range domains {
		sys.CPUs = append(sys.CPUs, b.cpu(d))
	}
	b.connect(sys)
	switch {
	case b.arm():
		b.note("Arm processors, because GPU NUMA ID has numbers: NUMA domains joined at 6 GB/s; chip-to-chip links are not in a matrix")
	case len(sys.CPUs) > 1:
		b.note("x86 processors of Intel, Skylake or newer: NUMA domains joined at 10 GB/s")
	}
	sys.Assumed = b.assumed
	return sys, nil
}

// builder makes the devices of a machine.
type builder struct {
	*Matrix
	Options
	wiring              *wiring
	switches, oneSwitch groups
	buses               []topo.BusID // by device index
	used                int          // buses given out
	assumed             []topo.Assumption
}

func (b *builder) assume(lists ...[]topo.Assumption) {
	for _, l := range lists {
		b.assumed = append(b.assumed, l...)
	}
}

func (b *builder) note(format string, args ...any) {
	b.assume([]topo.Assumption{{What: fmt.Sprintf(format, args...)}})
}

// noteOddities points at what the matrix hides or overstates.
func (b *builder) noteOddities(links int) {
	if links > maxLinks(90) {
		b.note("a GPU with %d NVLinks, more than any has: taken as printed", links)
	}
	for i := range b.GPUs {
		for j := range i {
			if b.level(i, j) == unknown && b.switches[i] != b.switches[j] {
				b.note("GPUs that NVLinks join share no PCI switch unless a NIC shows it (the matrix has no PCI distance for them)")
				return
			}
		}
	}
}

func (b *builder) cpu(d domain) topo.CPU {
	cpu := topo.CPU{
		NUMA: d.numa, Affinity: mask(d.cpus),
		Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelSkylake,
	}
	if b.arm() {
		cpu.Arch, cpu.Vendor, cpu.Model = topo.ArchARM, topo.VendorUndefined, topo.ModelUndefined
	}
	for _, members := range b.switches.members(d.devices) {
		cpu.Devices = append(cpu.Devices, b.tree(members))
	}
	return cpu
}

// arm tells a machine of Grace processors, whose GPUs have NUMA numbers.
func (b *builder) arm() bool {
	return slices.ContainsFunc(b.GPUs, func(g GPU) bool {
		_, err := strconv.ParseUint(g.MemoryNUMA, 10, 16)
		return err == nil
	})
}

// tree puts devices that share switches below one: directly if they are all on
// the same, else each group of neighbours on a switch of its own.
func (b *builder) tree(members []int) topo.Device {
	if len(members) == 1 {
		return b.leaf(members[0])
	}
	top := b.device(topo.ClassSwitch)
	inner := b.oneSwitch.members(members)
	for _, group := range inner {
		if len(inner) == 1 {
			for _, i := range group {
				top.Devices = append(top.Devices, b.leaf(i))
			}
			break
		}
		sub := b.device(topo.ClassSwitch)
		for _, i := range group {
			sub.Devices = append(sub.Devices, b.leaf(i))
		}
		top.Devices = append(top.Devices, sub)
	}
	return top
}

// device makes a device on the next bus.
func (b *builder) device(class topo.Class) topo.Device {
	b.used++
	const perDomain, domainBits, busBits = 255, 20, 12
	bus, pciDomain := (b.used-1)%perDomain+1, (b.used-1)/perDomain
	return topo.Device{
		BusID: topo.BusID(pciDomain)<<domainBits | topo.BusID(bus)<<busBits,
		Class: class, Speed: b.Speed, Width: topo.DefaultWidth,
	}
}

// leaf makes the device of a GPU or NIC.
func (b *builder) leaf(i int) topo.Device {
	if i < len(b.GPUs) {
		d := b.device(topo.ClassGPU)
		d.GPU = &topo.GPU{Rank: i, Dev: b.GPUs[i].Dev, SM: b.SM, GDR: true}
		b.buses[i] = d.BusID
		return d
	}
	d := b.device(topo.ClassNIC)
	dev := i - len(b.GPUs)
	d.NIC = &topo.NIC{Nets: []topo.Net{{
		Name: b.NICs[dev].Name, Dev: dev, Mbps: b.Mbps, Port: 1, Asic: int64(dev), GDR: true, MaxConn: maxConn,
	}}}
	b.buses[i] = d.BusID
	return d
}

// maxConn is how many connections a usual card takes.
const maxConn = 131072

// connect gives the GPUs their NVLinks, now that all of them have bus ids.
func (b *builder) connect(sys *topo.System) {
	var visit func(devices []topo.Device)
	visit = func(devices []topo.Device) {
		for i := range devices {
			if g := devices[i].GPU; g != nil {
				g.NVLinks = b.wiring.of(g.Rank, func(j int) topo.BusID { return b.buses[j] })
			}
			visit(devices[i].Devices)
		}
	}
	for i := range sys.CPUs {
		visit(sys.CPUs[i].Devices)
	}
}
