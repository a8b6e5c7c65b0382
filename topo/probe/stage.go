package probe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// Stage makes up a machine that answers a probe so that it finds what a topology
// says: sysfs, NVML, CUDA and a network of them. Its job has the ranks of the
// document's GPUs.
//
// Not every document can come of a probe. Probing gives the document back where
// it is complete (all attributes that NCCL writes), fused in rank order with
// devices sorted by bus id within a rank's view, and of processors of one kind.
func Stage(doc *ncclxml.Document) (*Prober, []Rank, error) {
	s := &stage{tree: NewTree(), folders: map[topo.BusID]string{}, doc: doc}
	s.tree.AddDir("/sys/bus/pci")
	for _, cpu := range doc.Root.Children {
		if cpu.Name == "cpu" {
			s.addCPU(cpu)
		}
	}
	for _, g := range s.gpus {
		if err := s.addGPU(g); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", doc.Name, err)
		}
	}
	slices.SortStableFunc(s.ranks, func(a, b Rank) int { return a.Rank - b.Rank })
	slices.SortFunc(s.host.Devices, func(a, b Device) int { return a.Index - b.Index })
	slices.SortFunc(s.host.CUDA, func(a, b CUDADevice) int { return a.Dev - b.Dev })
	if err := s.addNets(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", doc.Name, err)
	}
	p := &Prober{Name: doc.Name, Files: s.tree, Host: s.host, Network: s.network, Env: noEnv}
	return p, s.ranks, nil
}

func noEnv(string) (string, bool) { return "", false }

// stage collects the machine.
type stage struct {
	doc     *ncclxml.Document
	tree    *Tree
	host    Host
	network Network
	ranks   []Rank
	folders map[topo.BusID]string
	ports   int
	gpus    []stagedGPU
	nets    []stagedNet
}

type stagedGPU struct{ pci, gpu *ncclxml.Element }

type stagedNet struct {
	net    *ncclxml.Element
	folder string // of its card; "" for a virtual one
}

// value gives an attribute, "" if it is missing.
func value(e *ncclxml.Element, key string) string {
	v, _ := e.Get(key)
	return v
}

func number(e *ncclxml.Element, key string) int { return cnum.Int32(value(e, key)) }

func (s *stage) addCPU(cpu *ncclxml.Element) {
	if s.host.Arch == "" {
		s.host.Arch = value(cpu, "arch")
		s.host.CUDAVersion = cudaDMABuf
		hash := GUID(cnum.Uint(value(cpu, "host_hash"), 16))
		s.host.HostHash = &hash
		if vendor, ok := cpu.Get("vendor"); ok {
			s.host.CPUID = &CPUID{Vendor: vendor, Family: number(cpu, "familyid"), Model: number(cpu, "modelid")}
		}
	}
	if mask := value(cpu, "affinity"); mask != "" {
		s.tree.AddFile("/sys/devices/system/node/node"+value(cpu, "numaid")+"/cpumap", []byte(mask+"\n"))
	}
	for _, c := range cpu.Children {
		switch c.Name {
		case "pci":
			s.ports++
			root := fmt.Sprintf("/sys/devices/pcif%03x:00", s.ports)
			s.addPCI(c, root)
			s.file(root+"/"+folderName(c), "numa_node", cpu, "numaid")
		case "nic":
			s.addNIC(c, "")
		}
	}
}

func folderName(pci *ncclxml.Element) string { return strings.ToLower(value(pci, "busid")) }

// addPCI puts a device below a port: a root complex or the port of a switch.
func (s *stage) addPCI(pci *ncclxml.Element, port string) {
	id := folderName(pci)
	dir := port + "/" + id
	s.tree.AddLink(dir+"/subsystem", "/sys/bus/pci")
	for _, key := range []string{"class", "vendor", "device", "subsystem_vendor", "subsystem_device"} {
		s.file(dir, key, pci, key)
	}
	for _, at := range []string{dir, port} {
		s.file(at, "max_link_speed", pci, "link_speed")
		s.file(at, "max_link_width", pci, "link_width")
	}
	s.folders[topo.ParseBusID(id)] = dir
	if hidden := value(pci, "link_width") == "" && value(pci, "link_speed") == ""; !hidden {
		s.showBus(id, dir)
	}
	for _, c := range pci.Children {
		switch c.Name {
		case "pci":
			s.ports++
			s.addPCI(c, fmt.Sprintf("%s/ffff:%02x:%02x.%x", dir, s.ports>>8, s.ports>>3&0x1f, s.ports&7))
		case "gpu":
			s.gpus = append(s.gpus, stagedGPU{pci, c})
		case "nic":
			s.addNIC(c, dir)
		case "pcilink":
			s.tree.AddDir(switchLinks + "virtual_switch_links/" + id + "/" + value(c, "target"))
		}
	}
}

// showBus makes sysfs find a device by its bus id. Made-up bus ids may put
// devices of different places on one bus, so each bus has a folder of its own.
func (s *stage) showBus(id, dir string) {
	if len(id) < busIDLen {
		return
	}
	bus := "/sys/devices/buses/" + id[:busLen]
	s.tree.AddDir(bus + "/pci_bus/" + id[:busLen])
	s.tree.AddLink("/sys/class/pci_bus/"+id[:busLen], bus+"/pci_bus/"+id[:busLen])
	s.tree.AddLink(bus+"/"+id[:busIDLen], dir)
}

// file writes an attribute as a file, unless it is missing or empty.
func (s *stage) file(dir, name string, e *ncclxml.Element, key string) {
	if v := value(e, key); v != "" {
		s.tree.AddFile(path.Join(dir, name), []byte(v+"\n"))
	}
}

func (s *stage) addNIC(nic *ncclxml.Element, folder string) {
	for _, net := range nic.Children {
		if _, ok := net.Get("dev"); ok && net.Name == "net" {
			s.nets = append(s.nets, stagedNet{net, folder})
		}
	}
}

func (s *stage) addGPU(g stagedGPU) error {
	id, dev, sm := value(g.pci, "busid"), number(g.gpu, "dev"), number(g.gpu, "sm")
	d := Device{
		Index: dev, BusID: "0000" + strings.ToUpper(id), BusIDLegacy: strings.ToUpper(id),
		ComputeCapability: [2]int{sm / 10, sm % 10},
	}
	for _, c := range g.gpu.Children {
		switch c.Name {
		case "nvlink":
			s.addLinks(&d, c)
		case "c2c":
			for range number(c, "count") {
				d.C2CLinks = append(d.C2CLinks, C2C{Status: 1, MaxBW: number(c, "bw")})
			}
		}
	}
	if limit := maxNVLinks(sm); len(d.NVLinks) > limit {
		return fmt.Errorf("gpu %s has %d NVLinks; NCCL asks GPUs of compute capability %d for %d", id, len(d.NVLinks), sm, limit)
	}
	if s.host.device(topo.ParseBusID(id)) != nil {
		return fmt.Errorf("two GPUs on %s", id)
	}
	s.host.Devices = append(s.host.Devices, d)
	s.host.CUDA = append(s.host.CUDA, CUDADevice{Dev: dev, NVMLIndex: dev, BusID: id, GPUDirectRDMA: number(g.gpu, "gdr")})
	if _, ok := g.gpu.Get("rank"); ok {
		s.ranks = append(s.ranks, Rank{Rank: number(g.gpu, "rank"), CUDADev: dev, NVMLIndex: dev, BusID: id})
	}
	return nil
}

// addLinks adds the links of an nvlink element. A target that is not in the
// document is a device of sysfs alone, or hidden if it is an NVSwitch.
func (s *stage) addLinks(d *Device, link *ncclxml.Element) {
	target := value(link, "target")
	for range number(link, "count") {
		d.NVLinks = append(d.NVLinks, NVLink{
			Link: len(d.NVLinks), P2PSupported: 1, State: 1,
			RemoteBusID: "0000" + strings.ToUpper(target), RemoteBusIDLegacy: strings.ToUpper(target),
		})
	}
	class := value(link, "tclass")
	if s.folders[topo.ParseBusID(target)] != "" || class == topo.ClassNVSwitch.String() {
		return
	}
	dir := "/sys/devices/pciffff:00/" + target
	s.folders[topo.ParseBusID(target)] = dir
	s.file(dir, "class", link, "tclass")
	s.showBus(target, dir)
}

// addNets makes a network plugin of the document's nets.
func (s *stage) addNets() error {
	slices.SortStableFunc(s.nets, func(a, b stagedNet) int { return number(a.net, "dev") - number(b.net, "dev") })
	s.network = Network{Selected: netPlugin, Properties: []Properties{}}
	for i, n := range s.nets {
		if dev := number(n.net, "dev"); dev != i {
			return fmt.Errorf("net %q has device number %d; a probe counts them from 0", value(n.net, "name"), dev)
		}
		guid := GUID(i) // a net without a GUID counts as a card of its own
		if text, ok := n.net.Get("guid"); ok {
			guid = GUID(cnum.Uint(text, 16))
		}
		p := Properties{
			Name: value(n.net, "name"), GUID: guid, PtrSupport: ptrHost, Speed: number(n.net, "speed"),
			Port: number(n.net, "port"), Latency: cnum.Float(value(n.net, "latency")), MaxComms: number(n.net, "maxconn"),
		}
		if n.folder != "" {
			p.PCIPath = &s.nets[i].folder
		}
		if number(n.net, "gdr") != 0 {
			p.PtrSupport |= ptrCUDA
		}
		s.network.Properties = append(s.network.Properties, p)
	}
	return nil
}
