package draw

import (
	"fmt"
	"math"
	"strings"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
)

// gpuLines is what stands in a GPU's box: its user rank, and where there is
// room its device number, if another, and its place on the bus.
func (l *layout) gpuLines(p *hostPlan, c *column) []line {
	gpu := c.gpu.node
	if l.m.compact {
		return []line{{"GPU", smallSize, false, softInk}, {fmt.Sprint(c.gpu.rank), nameSize + 1, true, ink}}
	}
	where := shortBusID(gpu.NodeID)
	if gpu.GPU.Dev != c.gpu.rank {
		where = fmt.Sprintf("dev %d, %s", gpu.GPU.Dev, where)
	}
	return []line{{fmt.Sprintf("GPU %d", c.gpu.rank), nameSize, true, ink}, {where, smallSize, false, softInk}}
}

// shortBusID leaves out the domain where it is 0.
func shortBusID(id graph.NodeID) string {
	return strings.TrimPrefix(topo.BusID(id.Local()).String(), "0000:")
}

// nicLines is what stands in a NIC's box: its devices and, where there is room,
// their speed.
func (l *layout) nicLines(nic *graph.Node) []line {
	nets := netsOf(nic)
	if len(nets) == 0 {
		if l.m.compact {
			return []line{{"NIC", nicSize, true, ink}}
		}
		return []line{{"NIC", nicSize, true, ink}, {shortBusID(nic.NodeID), smallSize, false, softInk}}
	}
	name, speed := netName(nets[0]), gbit(nets[0].Net.BW)
	if len(nets) > 1 {
		name += fmt.Sprintf(" +%d", len(nets)-1)
		speed = fmt.Sprintf("%d × %s", len(nets), speed)
	}
	if l.m.compact {
		return []line{{name, nicSize, true, ink}}
	}
	return []line{{name, nicSize, true, ink}, {speed, smallSize, false, softInk}}
}

func netName(n *graph.Node) string {
	if n.Net.Name == "" {
		return fmt.Sprintf("NET %d", n.Net.Dev)
	}
	return n.Net.Name
}

func netsOf(nic *graph.Node) []*graph.Node {
	var nets []*graph.Node
	for _, l := range nic.Links {
		if l.Type == graph.LinkNET {
			nets = append(nets, l.To)
		}
	}
	return nets
}

// gbit writes a network's speed as its makers do.
func gbit(gbps float32) string { return fmt.Sprintf("%.0f Gb/s", math.Round(float64(gbps)*8)) }

func cpuLines(n *graph.Node) []line {
	name := fmt.Sprintf("NUMA %d", n.NodeID.Local())
	if n.NodeID.Local() == 0xffffffffffffff {
		name = "CPU" // the machine hides its NUMA domains
	}
	if s := n.NodeID.System(); s > 0 {
		name += fmt.Sprintf(", host %d", s)
	}
	return []line{{name, nicSize, true, ink}, {processor(n.CPU), smallSize, false, softInk}}
}

// processor names the kind of a CPU as far as it is known.
func processor(c *graph.CPUInfo) string {
	switch c.Arch {
	case topo.ArchPOWER:
		return "POWER"
	case topo.ArchARM:
		return "Arm"
	case topo.ArchX86:
	default:
		return "CPU"
	}
	switch c.Vendor {
	case topo.VendorIntel:
		switch c.Model {
		case topo.ModelIntelBroadwell:
			return "Intel"
		case topo.ModelIntelSkylake:
			return "Intel, Skylake or later"
		}
		return "Intel"
	case topo.VendorAMD:
		return "AMD"
	case topo.VendorZhaoxin:
		return "Zhaoxin"
	}
	return "x86"
}

// hostTitle names a host and says what it has.
func hostTitle(p *hostPlan) []line {
	var parts []string
	gpus := p.host.Graph.NodesOf(graph.GPU)
	parts = append(parts, fmt.Sprintf("%d GPU%s (%s)", len(gpus), plural(len(gpus)), capability(gpus)))
	if n := len(p.host.Graph.NodesOf(graph.NIC)); n > 0 {
		parts = append(parts, fmt.Sprintf("%d NIC%s", n, plural(n)))
	}
	return []line{{p.host.Name + "  ·  " + strings.Join(parts, ", "), titleSize, true, ink}}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// capability gives the compute capability that the GPUs share.
func capability(gpus []*graph.Node) string {
	low, high := math.MaxInt, 0
	for _, g := range gpus {
		low, high = min(low, g.GPU.SM), max(high, g.GPU.SM)
	}
	if low == high {
		return fmt.Sprintf("sm_%d", low)
	}
	return fmt.Sprintf("sm_%d to sm_%d", low, high)
}
