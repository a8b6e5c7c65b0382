package topotest

import "github.com/ringtopo/ringtopo/topo"

// Processors of the worked examples.
var (
	Broadwell = topo.CPU{Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelBroadwell}
	Skylake   = topo.CPU{Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelSkylake}
	AMD       = topo.CPU{Arch: topo.ArchX86, Vendor: topo.VendorAMD, Model: topo.ModelUndefined}
	ARM       = topo.CPU{Arch: topo.ArchARM, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined}
	POWER     = topo.CPU{Arch: topo.ArchPOWER, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined}
	Zhaoxin   = topo.CPU{Arch: topo.ArchX86, Vendor: topo.VendorZhaoxin, Model: topo.ModelZhaoxinYongfeng}
)

// Lane speeds, in the units of topo.Device.
const (
	Gen3 = 60
	Gen4 = 120
	Gen5 = 240
)

// Bus gives the address of a PCI device by its bus number.
func Bus(n int) topo.BusID { return topo.BusID(n << 12) }

// GPU makes a GPU on a x16 slot; rank and device number are the same.
func GPU(bus, rank, sm, speed int, links ...topo.NVLink) topo.Device {
	return topo.Device{
		BusID: Bus(bus), Class: topo.ClassGPU, Speed: speed, Width: 16,
		GPU: &topo.GPU{Rank: rank, Dev: rank, SM: sm, GDR: true, NVLinks: links},
	}
}

// NIC makes a card on a x16 slot.
func NIC(bus, speed int, nets ...topo.Net) topo.Device {
	return topo.Device{
		BusID: Bus(bus), Class: topo.ClassNIC, Speed: speed, Width: 16,
		NIC: &topo.NIC{Nets: nets},
	}
}

// Net makes a network of some Mb/s, a card of its own.
func Net(dev, mbps int) topo.Net {
	return topo.Net{Dev: dev, Mbps: mbps, Port: 1, Asic: int64(0xabc0 + dev), GDR: true, MaxConn: 1000}
}

// Switch makes a PCI switch on a x16 slot.
func Switch(bus, speed int, below ...topo.Device) topo.Device {
	return topo.Device{BusID: Bus(bus), Class: topo.ClassSwitch, Speed: speed, Width: 16, Devices: below}
}

// Socket gives a copy of a processor as NUMA domain n.
func Socket(cpu topo.CPU, n int, devices ...topo.Device) topo.CPU {
	cpu.NUMA, cpu.Devices = n, devices
	return cpu
}

// Machine makes a machine of its sockets.
func Machine(cpus ...topo.CPU) *topo.System { return &topo.System{CPUs: cpus} }

// ToGPU is a bundle of NVLinks to the GPU on a bus.
func ToGPU(bus, count int) topo.NVLink {
	return topo.NVLink{Target: Bus(bus), Class: topo.ClassGPU, Count: count}
}

// ToSwitch is a bundle of NVLinks to the NVSwitch.
func ToSwitch(count int) topo.NVLink {
	return topo.NVLink{Target: 0xfffffffffffff, Class: topo.ClassNVSwitch, Count: count}
}

// V100x4 is worked example 6.1: four V100 on two sockets, two NVLinks between
// every pair, no network.
func V100x4() *topo.System {
	buses := []int{0x04, 0x05, 0x84, 0x85}
	gpu := func(rank int) topo.Device {
		d := GPU(buses[rank], rank, 70, Gen3)
		for i, b := range buses {
			if i != rank {
				d.GPU.NVLinks = append(d.GPU.NVLinks, ToGPU(b, 2))
			}
		}
		return d
	}
	return Machine(Socket(Broadwell, 0, gpu(0), gpu(1)), Socket(Broadwell, 1, gpu(2), gpu(3)))
}

// PCIex4 is worked example 6.2: four PCIe GPUs on two sockets.
func PCIex4(cpu topo.CPU) *topo.System {
	return Machine(
		Socket(cpu, 0, GPU(0x04, 0, 80, Gen4), GPU(0x05, 1, 80, Gen4)),
		Socket(cpu, 1, GPU(0x84, 2, 80, Gen4), GPU(0x85, 3, 80, Gen4)),
	)
}

// Box is the machine of worked examples 6.3: two sockets with two switches
// each, and on each switch some GPUs and a 200 Gb/s NIC.
type Box struct {
	CPU           topo.CPU
	GPUsPerSwitch int
	SM, NVLinks   int // NVLinks go to an NVSwitch; 0 for none
	Speed         int
	NoGDR         bool
}

// Machine makes it.
func (b Box) Machine() *topo.System {
	var slots []topo.Device
	rank := 0
	for i, bus := range []int{0x10, 0x30, 0x50, 0x70} {
		sw := Switch(bus, b.Speed)
		for j := range b.GPUsPerSwitch {
			g := GPU(bus+1+j, rank, b.SM, b.Speed)
			if b.NVLinks > 0 {
				g.GPU.NVLinks = []topo.NVLink{ToSwitch(b.NVLinks)}
			}
			sw.Devices = append(sw.Devices, g)
			rank++
		}
		net := Net(i, 200000)
		net.GDR = !b.NoGDR
		sw.Devices = append(sw.Devices, NIC(bus+8, b.Speed, net))
		slots = append(slots, sw)
	}
	return Machine(Socket(b.CPU, 0, slots[:2]...), Socket(b.CPU, 1, slots[2:]...))
}
