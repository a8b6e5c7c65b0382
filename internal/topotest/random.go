package topotest

import (
	"slices"

	"github.com/ringtopo/ringtopo/topo"
)

// Pick chooses one of 0..n-1. A choice of 0 always gives the plainest machine,
// so that failing machines shrink to plain ones.
type Pick func(n int) int

// Bytes chooses by bytes, and 0 when they are used up.
func Bytes(data []byte) Pick {
	return func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b) % n
	}
}

// maxGPUs bounds random machines, so that searching them does not take long.
const maxGPUs = 8

// Random makes a machine that could exist, mostly: some have links listed on
// one side only, or parts that nothing joins.
func Random(pick Pick) *topo.System { return (&maker{pick: pick}).system() }

// Wild makes a machine in which any number can be anything.
func Wild(pick Pick) *topo.System { return (&maker{pick: pick, wild: true}).system() }

type maker struct {
	pick     Pick
	wild     bool
	sys      topo.System
	bus      int
	gpus     []place
	switches []*topo.Device
	nets     int
	nics     int
	cpu      topo.CPU // what most of the machine's sockets are
	speed    int
	sm       int
	gdr      bool
}

// place is a GPU and where it is.
type place struct {
	bus topo.BusID
	gpu *topo.GPU
}

// rarely is true one time in n.
func (m *maker) rarely(n int) bool { return m.pick(n) == n-1 }

// number gives n, or in a wild machine now and then something else.
func (m *maker) number(n int) int {
	if m.wild && m.rarely(10) {
		return []int{0, -1, 1, 33, 127, 1 << 20, 1<<31 - 1, -1 << 31}[m.pick(8)]
	}
	return n
}

// of chooses one of some values.
func of[T any](m *maker, values ...T) T { return values[m.pick(len(values))] }

var processors = []topo.CPU{
	{Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelSkylake},
	{Arch: topo.ArchX86, Vendor: topo.VendorAMD, Model: topo.ModelUndefined},
	{Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelBroadwell},
	{Arch: topo.ArchX86, Vendor: topo.VendorZhaoxin, Model: topo.ModelZhaoxinYongfeng},
	{Arch: topo.ArchX86, Vendor: topo.VendorZhaoxin, Model: topo.ModelUndefined},
	{Arch: topo.ArchX86, Vendor: topo.VendorUnknown, Model: topo.ModelUndefined},
	{Arch: topo.ArchPOWER, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined},
	{Arch: topo.ArchARM, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined},
	{Arch: topo.ArchUndefined, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined},
}

func (m *maker) system() *topo.System {
	m.cpu = of(m, processors...)
	m.speed = of(m, 60, 120, 240, 30)
	m.sm = of(m, 70, 80, 90, 60, 75, 86, 89, 100)
	m.gdr = !m.rarely(4)
	for i := range 1 + m.pick(3) {
		m.sys.CPUs = append(m.sys.CPUs, m.socket(i))
	}
	if len(m.gpus) == 0 && !m.wild {
		cpu := &m.sys.CPUs[0]
		cpu.Devices = append(cpu.Devices, m.gpu())
	}
	m.rank()
	m.nvlinks()
	m.switchPeers()
	return &m.sys
}

func (m *maker) socket(i int) topo.CPU {
	cpu := m.cpu
	if m.rarely(20) {
		cpu = of(m, processors...)
	}
	cpu.NUMA = m.number(i)
	if m.rarely(15) {
		cpu.NUMA = -1
	}
	if m.rarely(40) {
		cpu.Host = 7
	}
	for range 1 + m.pick(3) {
		cpu.Devices = append(cpu.Devices, m.device(0))
	}
	if m.rarely(10) {
		nic := m.nic()
		nic.Virtual = true
		cpu.Devices = append(cpu.Devices, nic)
	}
	return cpu
}

func (m *maker) device(depth int) topo.Device {
	switch k := m.pick(8); {
	case k < 3 && len(m.gpus) < maxGPUs:
		return m.gpu()
	case k < 5:
		return m.nic()
	case k < 7 && depth < 3:
		return m.pciSwitch(depth)
	case m.rarely(3) && len(m.gpus) < maxGPUs:
		d := m.gpu()
		d.NIC = m.nic().NIC
		return d
	}
	return m.nic()
}

// slot makes a PCI device.
func (m *maker) slot() topo.Device {
	m.bus++
	d := topo.Device{
		BusID: topo.BusID(m.number(m.bus<<12 | of(m, 0, 0, 0, 0x10))),
		Speed: m.number(m.speed), Width: m.number(16),
	}
	if m.rarely(5) {
		d.Speed, d.Width = of(m, 15, 30, 60, 120, 240, 480), of(m, 16, 8, 4, 1, 0)
	}
	return d
}

func (m *maker) gpu() topo.Device {
	d := m.slot()
	d.Class = topo.ClassGPU
	d.GPU = &topo.GPU{SM: m.number(m.sm), GDR: m.gdr}
	if m.rarely(12) {
		d.GPU.SM = of(m, 60, 70, 80, 90)
	}
	m.gpus = append(m.gpus, place{d.BusID, d.GPU})
	return d
}

// nic makes a card of its own, or one more function of the card before.
func (m *maker) nic() topo.Device {
	function := topo.BusID(0)
	if m.nics > 0 && m.rarely(5) {
		m.bus--
		function = 1
	} else {
		m.nics++
	}
	d := m.slot()
	d.BusID |= function
	d.Class, d.NIC = topo.ClassNIC, &topo.NIC{}
	for range 1 + m.pick(2) {
		d.NIC.Nets = append(d.NIC.Nets, m.net())
	}
	return d
}

func (m *maker) net() topo.Net {
	n := topo.Net{
		Dev: m.number(m.nets), Port: m.number(of(m, 0, 1)),
		Mbps: m.number(of(m, 100000, 200000, 400000, 25000, 10000, 12345, 0)),
		Asic: int64(m.number(of(m, 0x100+m.nics, 0x100+m.nics, m.nets))),
		GDR:  m.gdr, MaxConn: 32,
	}
	if m.rarely(10) {
		n.GDR = !n.GDR
	}
	if m.rarely(10) {
		n.Latency = 3
	}
	if !m.rarely(30) {
		m.nets++
	}
	return n
}

func (m *maker) pciSwitch(depth int) topo.Device {
	d := m.slot()
	d.Class = topo.ClassSwitch
	d.SwitchID = of(m, uint64(0), 0, 0, 0x1000c0101000a000, 0x1000c03010000000, 0x1000c03010001000)
	for range 1 + m.pick(4) {
		d.Devices = append(d.Devices, m.device(depth+1))
	}
	return d
}

// rank numbers the GPUs, in order or not.
func (m *maker) rank() {
	order := make([]int, len(m.gpus))
	for i := range order {
		order[i] = i
	}
	if m.rarely(3) {
		for i := range order {
			j := i + m.pick(len(order)-i)
			order[i], order[j] = order[j], order[i]
		}
	}
	for i, p := range m.gpus {
		p.gpu.Rank, p.gpu.Dev = order[i], m.number(order[i])
	}
}

// switchPeers joins two switches directly, as some boards do.
func (m *maker) switchPeers() {
	for i := range m.sys.CPUs {
		m.collectSwitches(m.sys.CPUs[i].Devices)
	}
	if len(m.switches) < 2 || !m.rarely(5) {
		return
	}
	a, b := of(m, m.switches...), of(m, m.switches...)
	if a == b {
		return
	}
	a.Peers = append(a.Peers, b.BusID)
	if !m.rarely(6) {
		b.Peers = append(b.Peers, a.BusID)
	}
}

func (m *maker) collectSwitches(ds []topo.Device) {
	for i := range ds {
		if d := &ds[i]; d.Class == topo.ClassSwitch && d.GPU == nil && d.NIC == nil {
			m.switches = append(m.switches, d)
			m.collectSwitches(d.Devices)
		}
	}
}

// nvlinks joins the GPUs in one of the ways that machines have, or at random.
func (m *maker) nvlinks() {
	count := of(m, 2, 1, 3, 4, 12)
	n := len(m.gpus)
	switch m.pick(8) {
	case 1: // all with all
		m.join(count, func(a, b int) bool { return true })
	case 2: // a ring
		m.join(count, func(a, b int) bool { return b == a+1 || a == 0 && b == n-1 })
	case 3: // pairs
		m.join(count, func(a, b int) bool { return b == a+1 && a%2 == 0 })
	case 4: // a cube
		m.join(count, func(a, b int) bool { d := a ^ b; return d&(d-1) == 0 })
	case 5:
		m.join(count, func(a, b int) bool { return m.rarely(2) })
	case 6:
		m.toAll(count, topo.ClassNVSwitch)
	case 7:
		m.toAll(count, topo.ClassCPU)
		m.join(count, func(a, b int) bool { return b == a+1 && a%2 == 0 })
	}
	for _, p := range m.gpus {
		if m.rarely(20) {
			p.gpu.C2Cs = append(p.gpu.C2Cs, topo.C2C{Count: m.number(10), MBps: m.number(45000)})
		}
	}
}

func (m *maker) toAll(count int, class topo.Class) {
	for _, p := range m.gpus {
		p.gpu.NVLinks = append(p.gpu.NVLinks, topo.NVLink{Target: 0xfffffffffffff, Class: class, Count: m.number(count)})
	}
}

func (m *maker) join(count int, linked func(a, b int) bool) {
	for a, p := range m.gpus {
		for b := a + 1; b < len(m.gpus); b++ {
			if !linked(a, b) {
				continue
			}
			q := m.gpus[b]
			k := m.number(count)
			if m.rarely(8) {
				k++
			}
			p.gpu.NVLinks = append(p.gpu.NVLinks, topo.NVLink{Target: q.bus, Class: topo.ClassGPU, Count: k})
			if !m.rarely(60) {
				q.gpu.NVLinks = append(q.gpu.NVLinks, topo.NVLink{Target: p.bus, Class: topo.ClassGPU, Count: k})
			}
		}
	}
	if m.rarely(3) {
		for _, p := range m.gpus {
			slices.Reverse(p.gpu.NVLinks)
		}
	}
}
