package machinejson

import (
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// mbpsPerUnit turns topo's unit of lane speed into Mb/s.
const mbpsPerUnit = 100

// New gives the format of a machine, ready to be marshalled.
func New(sys *topo.System, name string) *Machine {
	m := &Machine{Schema: Schema, Name: name, CPUs: []CPU{}}
	for _, c := range sys.CPUs {
		m.CPUs = append(m.CPUs, CPU{
			Host: hex(c.Host), NUMA: c.NUMA, Affinity: c.Affinity,
			Arch: archWords().name(c.Arch), Vendor: vendorWords().name(c.Vendor), Model: modelWords(c.Vendor).name(c.Model),
			Devices: newDevices(c.Devices),
		})
	}
	for _, a := range sys.Assumed {
		m.Assumed = append(m.Assumed, strings.TrimPrefix(a.Where+": "+a.What, ": "))
	}
	return m
}

func newDevices(devices []topo.Device) []Device {
	out := make([]Device, len(devices))
	for i, d := range devices {
		out[i] = Device{
			BusID: busID(d.BusID), Class: classWords().name(d.Class), Virtual: d.Virtual, SwitchID: hex(d.SwitchID),
			LaneMbps: d.Speed * mbpsPerUnit, Lanes: d.Width, Devices: newDevices(d.Devices),
		}
		for _, p := range d.Peers {
			out[i].Peers = append(out[i].Peers, busID(p))
		}
		if d.GPU != nil {
			out[i].GPU = newGPU(d.GPU)
		}
		if d.NIC != nil {
			out[i].Nets = newNets(d.NIC.Nets)
		}
	}
	return out
}

func newGPU(g *topo.GPU) *GPU {
	out := &GPU{Rank: g.Rank, Dev: g.Dev, SM: g.SM, GDR: g.GDR}
	for _, l := range g.NVLinks {
		out.NVLinks = append(out.NVLinks, NVLink{busID(l.Target), classWords().name(l.Class), l.Count})
	}
	for _, c := range g.C2Cs {
		out.C2Cs = append(out.C2Cs, C2C(c))
	}
	return out
}

func newNets(nets []topo.Net) []Net {
	out := make([]Net, len(nets))
	for i, n := range nets {
		out[i] = Net{
			Name: n.Name, Dev: n.Dev, Mbps: n.Mbps, Port: n.Port, Latency: n.Latency,
			GDR: n.GDR, Coll: n.Coll, MaxConn: n.MaxConn,
		}
		if n.Asic != int64(n.Dev) {
			asic := hex(n.Asic)
			out[i].Asic = &asic
		}
	}
	return out
}
