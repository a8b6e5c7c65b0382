package graph

import (
	"fmt"

	"github.com/ringtopo/ringtopo/topo"
)

// eachGPU visits the GPUs in the order of the source.
func (b *builder) eachGPU(sys *topo.System, visit func(*Node, *topo.GPU, int64) error) error {
	return b.eachDevice(sys, func(d *topo.Device, system int64) error {
		if d.GPU == nil || len(d.GPU.NVLinks)+len(d.GPU.C2Cs) == 0 {
			return nil
		}
		n := b.g.find(GPU, nodeID(system, int64(d.BusID)))
		if n == nil {
			return fmt.Errorf("%w: GPU %s has NVLinks but hangs below a device that is no switch", ErrNonsense, d.BusID)
		}
		return visit(n, d.GPU, system)
	})
}

func (b *builder) eachDevice(sys *topo.System, visit func(*topo.Device, int64) error) error {
	var walk func(ds []topo.Device, system int64) error
	walk = func(ds []topo.Device, system int64) error {
		for i := range ds {
			if err := visit(&ds[i], system); err != nil {
				return err
			}
			if err := walk(ds[i].Devices, system); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range sys.CPUs {
		if err := walk(sys.CPUs[i].Devices, b.system(sys.CPUs[i].Host)); err != nil {
			return err
		}
	}
	return nil
}

// addNVLinks adds the links that one GPU lists. GPU to GPU each side lists its
// own direction; links to a switch or a CPU are listed by the GPU alone.
func (b *builder) addNVLinks(n *Node, gpu *topo.GPU, system int64) error {
	for _, l := range gpu.NVLinks {
		peer, err := b.nvlinkPeer(n, l, system)
		if err != nil {
			return err
		}
		if peer == nil {
			continue // a GPU that is not in this job
		}
		bw := float32(float32(l.Count) * NVLinkBW(n.GPU.SM))
		if err := connect(n, peer, LinkNVL, bw); err != nil {
			return err
		}
		if peer.Type == GPU {
			continue
		}
		if err := connect(peer, n, LinkNVL, bw); err != nil {
			return err
		}
	}
	return nil
}

// nvlinkPeer finds the other end; all NVSwitches are one node.
func (b *builder) nvlinkPeer(n *Node, l topo.NVLink, system int64) (*Node, error) {
	switch l.Class {
	case topo.ClassGPU:
		return b.g.find(GPU, nodeID(system, int64(l.Target))), nil
	case topo.ClassCPU:
		return b.localCPU(n)
	}
	if nvs := b.g.nodes[NVS]; len(nvs) > 0 {
		return nvs[0], nil
	}
	return b.g.add(NVS, 0)
}

// NVLinkBW is the bandwidth of one link by compute capability, GB/s.
func NVLinkBW(sm int) float32 {
	switch {
	case sm >= 90:
		return 20.6
	case sm == 86:
		return 12
	case sm >= 70:
		return 20
	case sm >= 60:
		return 18
	}
	return 20
}

func (b *builder) addC2C(n *Node, gpu *topo.GPU, _ int64) error {
	for _, c := range gpu.C2Cs {
		cpu, err := b.localCPU(n)
		if err != nil {
			return err
		}
		if cpu == nil {
			continue
		}
		bw := float32(float64(int32(c.MBps*c.Count)) / 1000.0)
		if err := connectBoth(n, cpu, LinkNVL, bw); err != nil {
			return err
		}
	}
	return nil
}

// localCPU climbs the PCI tree; nil where it leads to no CPU.
func (b *builder) localCPU(n *Node) (*Node, error) {
	return climb(n, len(b.g.nodes[PCI])+2)
}

func climb(n *Node, depth int) (*Node, error) {
	if n.Type == CPU {
		return n, nil
	}
	if depth == 0 {
		return nil, fmt.Errorf("%w: %s lies below nested PCI switches from which no way up to a CPU is found", ErrNonsense, n)
	}
	for _, l := range n.Links {
		if l.Type != LinkPCI || l.To.Type != PCI && l.To.Type != CPU {
			continue
		}
		cpu, err := climb(l.To, depth-1)
		if cpu != nil || err != nil {
			return cpu, err
		}
	}
	return nil, nil
}

func (b *builder) addSwitchPeers(sys *topo.System) error {
	return b.eachDevice(sys, func(d *topo.Device, system int64) error {
		if len(d.Peers) == 0 {
			return nil
		}
		n := b.g.find(PCI, nodeID(system, int64(d.BusID)))
		if n == nil {
			return fmt.Errorf("%w: pcilink below %s, which is no PCI switch", ErrNonsense, d.BusID)
		}
		for _, p := range d.Peers {
			peer := b.g.find(PCI, nodeID(system, int64(p)))
			if peer == nil {
				continue
			}
			if err := connect(n, peer, LinkLOC, locBW); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *builder) connectCPUs() error {
	cpus := b.g.nodes[CPU]
	for _, n := range cpus {
		for _, p := range cpus {
			if p == n || p.NodeID.System() != n.NodeID.System() {
				continue
			}
			if err := connect(n, p, LinkSYS, interCPUBW(n.CPU)); err != nil {
				return err
			}
		}
	}
	return nil
}

// interCPUBW is the bandwidth from one socket to the next, GB/s.
func interCPUBW(c *CPUInfo) float32 {
	switch c.Arch {
	case topo.ArchPOWER:
		return 32
	case topo.ArchARM:
		return 6
	case topo.ArchX86:
		return interX86BW(c)
	}
	return locBW
}

func interX86BW(c *CPUInfo) float32 {
	switch c.Vendor {
	case topo.VendorIntel:
		if c.Model == topo.ModelIntelSkylake {
			return 10
		}
		return 6
	case topo.VendorAMD:
		return 16
	case topo.VendorZhaoxin:
		if c.Model == topo.ModelZhaoxinYongfeng {
			return 9
		}
		return 6
	}
	return locBW
}
