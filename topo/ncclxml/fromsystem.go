package ncclxml

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtopo/ringtopo/topo"
)

// FromSystem writes a machine as a document, for sources that are no XML.
// System reads the same machine from it, as far as NCCL's format can say it:
// lanes have one of the speeds of PCI Express, else none is written.
func FromSystem(sys *topo.System, name string) *Document {
	root := element("system", Attr{"version", "1"})
	for i := range sys.CPUs {
		root.Children = append(root.Children, cpuElement(&sys.CPUs[i]))
	}
	return &Document{Name: name, Root: root, Assumed: slices.Clone(sys.Assumed)}
}

func element(name string, attrs ...Attr) *Element { return &Element{Name: name, Attrs: attrs} }

func cpuElement(cpu *topo.CPU) *Element {
	e := element("cpu")
	if cpu.Host != 0 {
		e.Set("host_hash", fmt.Sprintf("%#x", cpu.Host))
	}
	e.Set("numaid", strconv.Itoa(cpu.NUMA))
	if cpu.Affinity != "" {
		e.Set("affinity", cpu.Affinity)
	}
	e.Set("arch", cpu.Arch.String())
	if cpu.Arch == topo.ArchX86 {
		setProcessor(e, cpu)
	}
	e.Children = deviceElements(cpu.Devices)
	return e
}

// setProcessor writes a vendor, and numbers that stand for the model.
func setProcessor(e *Element, cpu *topo.CPU) {
	e.Set("vendor", cpu.Vendor.String())
	family, model := topo.Numbers(cpu.Vendor, cpu.Model)
	if family != 0 {
		e.Set("familyid", strconv.Itoa(family))
		e.Set("modelid", strconv.Itoa(model))
	}
}

func deviceElements(devices []topo.Device) []*Element {
	var es []*Element
	for i := range devices {
		d := &devices[i]
		if d.Virtual {
			es = append(es, nicElement(d.NIC))
			continue
		}
		e := pciElement(d)
		for _, peer := range d.Peers {
			e.Children = append(e.Children, element("pcilink", Attr{"target", peer.String()}))
		}
		switch {
		case d.GPU != nil:
			e.Children = append(e.Children, gpuElement(d.GPU))
		case d.NIC != nil:
			e.Children = append(e.Children, nicElement(d.NIC))
		}
		e.Children = append(e.Children, deviceElements(d.Devices)...)
		es = append(es, e)
	}
	return es
}

func pciElement(d *topo.Device) *Element {
	e := element("pci", Attr{"busid", d.BusID.String()}, Attr{"class", d.Class.String()})
	for i, key := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
		if d.SwitchID != 0 {
			e.Set(key, fmt.Sprintf("0x%04x", d.SwitchID>>(48-16*i)&0xffff))
		}
	}
	e.Set("link_speed", topo.SpeedText(d.Speed))
	e.Set("link_width", strconv.Itoa(d.Width))
	return e
}

func gpuElement(g *topo.GPU) *Element {
	e := element("gpu",
		Attr{"dev", strconv.Itoa(g.Dev)},
		Attr{"sm", strconv.Itoa(g.SM)},
		Attr{"rank", strconv.Itoa(g.Rank)},
		Attr{"gdr", flag(g.GDR)})
	for _, l := range g.NVLinks {
		e.Children = append(e.Children, element("nvlink",
			Attr{"target", l.Target.String()},
			Attr{"count", strconv.Itoa(l.Count)},
			Attr{"tclass", l.Class.String()}))
	}
	for _, c := range g.C2Cs {
		e.Children = append(e.Children, element("c2c",
			Attr{"bw", strconv.Itoa(c.MBps)},
			Attr{"count", strconv.Itoa(c.Count)}))
	}
	return e
}

func nicElement(nic *topo.NIC) *Element {
	e := element("nic")
	for i := range nic.Nets {
		e.Children = append(e.Children, netElement(&nic.Nets[i]))
	}
	return e
}

func netElement(n *topo.Net) *Element {
	e := element("net")
	if n.Name != "" {
		e.Set("name", n.Name)
	}
	e.Set("dev", strconv.Itoa(n.Dev))
	e.Set("speed", strconv.Itoa(n.Mbps))
	e.Set("port", strconv.Itoa(n.Port))
	e.Set("latency", fmt.Sprintf("%f", n.Latency))
	if n.Asic != int64(n.Dev) {
		e.Set("guid", fmt.Sprintf("0x%x", uint64(n.Asic)))
	}
	e.Set("maxconn", strconv.Itoa(n.MaxConn))
	e.Set("gdr", flag(n.GDR))
	if n.Coll {
		e.Set("coll", "1")
	}
	return e
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
