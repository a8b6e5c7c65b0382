package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/topo"
)

// Limits of NCCL, which refuses larger machines.
const (
	MaxNodesPerType = 256
	MaxLinksPerNode = 128
)

// locBW stands for a connection without a limit, GB/s.
const locBW = 5000

// ErrNonsense is wrapped by every error about a machine that cannot exist or
// that NCCL could not run on.
var ErrNonsense = errors.New("the machine makes no sense")

// Build makes the graph of a whole machine and all its paths. Use
// [Graph.Split] for what a communicator sees of it.
func Build(sys *topo.System, opt Options) (*Graph, error) {
	b := &builder{g: &Graph{opt: opt}}
	if err := b.build(sys); err != nil {
		return nil, err
	}
	b.g.number()
	if len(b.g.nodes[GPU]) == 0 {
		return nil, fmt.Errorf("%w: it has no GPU with a rank", ErrNonsense)
	}
	if err := b.g.computePaths(); err != nil {
		return nil, err
	}
	return b.g, nil
}

// builder adds one machine's parts to a graph, in the order that decides the
// order of nodes and links.
type builder struct {
	g     *Graph
	hosts []uint64
}

func (b *builder) build(sys *topo.System) error {
	if err := b.addCPUs(sys); err != nil {
		return err
	}
	if err := b.eachGPU(sys, b.addNVLinks); err != nil {
		return err
	}
	if err := b.eachGPU(sys, b.addC2C); err != nil {
		return err
	}
	if err := b.addSwitchPeers(sys); err != nil {
		return err
	}
	if err := b.g.flattenSwitches(); err != nil {
		return err
	}
	if err := b.connectCPUs(); err != nil {
		return err
	}
	for _, cpu := range b.g.nodes[CPU] {
		// Below a CPU there are at most all switches and a device.
		if err := sortUplinks(cpu, nil, len(b.g.nodes[PCI])+2); err != nil {
			return err
		}
	}
	return nil
}

// system numbers hosts in order of first appearance.
func (b *builder) system(host uint64) int64 {
	i := slices.Index(b.hosts, host)
	if i < 0 {
		i = len(b.hosts)
		b.hosts = append(b.hosts, host)
	}
	return int64(i)
}

func nodeID(system int64, local int64) NodeID { return NodeID(system<<56 + local) }

func (b *builder) addCPUs(sys *topo.System) error {
	for i := range sys.CPUs {
		c := &sys.CPUs[i]
		system := b.system(c.Host)
		n, err := b.g.add(CPU, nodeID(system, int64(c.NUMA)))
		if err != nil {
			return err
		}
		n.CPU = &CPUInfo{Arch: c.Arch, Vendor: c.Vendor, Model: c.Model, Affinity: c.Affinity}
		for j := range c.Devices {
			if err := b.addDevice(&c.Devices[j], n, system); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) addDevice(d *topo.Device, parent *Node, system int64) error {
	if d.Virtual {
		return b.addVirtualNIC(d, parent, system)
	}
	var n *Node
	var err error
	if d.GPU != nil {
		if n, err = b.addGPU(d, system); err != nil {
			return err
		}
	}
	switch {
	case d.NIC != nil:
		if n, err = b.addNIC(d, n, system); err != nil {
			return err
		}
	case d.GPU == nil && d.Class == topo.ClassSwitch:
		if n, err = b.addSwitch(d, system); err != nil {
			return err
		}
	}
	if n == nil {
		return nil
	}
	return connectBoth(n, parent, LinkPCI, pciBW(d))
}

// pciBW is the bandwidth of a device's PCI link, GB/s.
func pciBW(d *topo.Device) float32 {
	width := d.Width
	if width == 0 {
		width = 16
	}
	return float32(float64(int32(width*d.Speed)) / 80.0)
}

func (b *builder) addGPU(d *topo.Device, system int64) (*Node, error) {
	if d.GPU.Dev < 0 {
		return nil, fmt.Errorf("%w: GPU %s has device number %d", ErrNonsense, d.BusID, d.GPU.Dev)
	}
	n, err := b.g.add(GPU, nodeID(system, int64(d.BusID)))
	if err != nil {
		return nil, err
	}
	n.GPU = &GPUInfo{Rank: d.GPU.Rank, Dev: d.GPU.Dev, SM: d.GPU.SM, GDR: d.GPU.GDR}
	return n, nil
}

// addNIC adds the card; further functions of a card that is already there add
// their networks to it, but no second PCI link.
func (b *builder) addNIC(d *topo.Device, n *Node, system int64) (*Node, error) {
	id := nodeID(system, int64(d.BusID)&^0xf)
	nic := b.g.find(NIC, id)
	if nic == nil {
		var err error
		if nic, err = b.g.add(NIC, id); err != nil {
			return nil, err
		}
		n = nic
	}
	return n, b.addNets(d.NIC, nic, system)
}

// addVirtualNIC hangs a NIC without a PCI device off its CPU. There is one such
// node, with id 0, for the whole machine: those of other CPUs join the first.
func (b *builder) addVirtualNIC(d *topo.Device, cpu *Node, system int64) error {
	nic := b.g.find(NIC, 0)
	if nic == nil {
		var err error
		if nic, err = b.g.add(NIC, nodeID(system, 0)); err != nil {
			return err
		}
		if err := connectBoth(cpu, nic, LinkPCI, locBW); err != nil {
			return err
		}
	}
	return b.addNets(d.NIC, nic, system)
}

func (b *builder) addNets(nic *topo.NIC, n *Node, system int64) error {
	for _, net := range nic.Nets {
		node, err := b.g.add(NET, nodeID(system, int64(net.Dev)))
		if err != nil {
			return err
		}
		mbps := net.Mbps
		if mbps <= 0 {
			mbps = 10000
		}
		node.Net = &NetInfo{
			Name: net.Name, Dev: net.Dev, Asic: net.Asic, Port: net.Port,
			BW: float32(float64(mbps) / 8000.0), Latency: net.Latency,
			GDR: net.GDR, Coll: net.Coll, MaxConn: net.MaxConn,
		}
		if err := connectBoth(n, node, LinkNET, node.Net.BW); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addSwitch(d *topo.Device, system int64) (*Node, error) {
	n, err := b.g.add(PCI, nodeID(system, int64(d.BusID)))
	if err != nil {
		return nil, err
	}
	n.PCI = &PCIInfo{Device: d.SwitchID}
	for i := range d.Devices {
		if err := b.addDevice(&d.Devices[i], n, system); err != nil {
			return nil, err
		}
	}
	return n, nil
}
