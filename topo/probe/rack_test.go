package probe

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// rack is a server in the making: what sysfs, NVML, CUDA and the network layer
// say, and beside it where each device must come to hang.
type rack struct {
	t     *rapid.T
	tree  *Tree
	host  Host
	net   Network
	buses int
	roots int

	above map[string]string // what a device hangs from: a switch's id, or the NUMA number after "cpu "
	link  map[string]string // the speed that counts
	gpus  []string          // ids in NVML's order
	cards []string          // ids of NICs
}

// speeds are texts of max_link_speed with their numbers; what is none counts as
// infinitely fast.
var speeds = map[string]float64{
	"2.5 GT/s PCIe": 2.5, "8.0 GT/s PCIe": 8, "8 GT/s": 8, "16.0 GT/s PCIe": 16, "32.0 GT/s PCIe": 32, "64.0 GT/s PCIe": 64,
	"Unknown": math.Inf(1), "Unknown speed": math.Inf(1), "": math.Inf(1),
}

func (r *rack) one(what string, of ...string) string { return rapid.SampledFrom(of).Draw(r.t, what) }

func (r *rack) rarely(what string) bool { return rapid.IntRange(0, 9).Draw(r.t, what) == 9 }

// drawRack makes a server of one to three root complexes with anything on them.
func drawRack(t *rapid.T) *rack {
	r := &rack{t: t, tree: NewTree(), above: map[string]string{}, link: map[string]string{}}
	r.tree.AddDir("/sys/bus/pci")
	r.tree.AddFile("/proc/cpuinfo", []byte("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\nstepping\t: 1\n"))
	for range rapid.IntRange(1, 3).Draw(t, "roots") {
		r.root()
	}
	if len(r.gpus) == 0 {
		r.gpu(r.rootBus(), "cpu 0", "0")
	}
	r.nvlinks()
	r.cuda()
	r.interfaces()
	return r
}

// rootBus makes a root complex and gives its folder.
func (r *rack) rootBus() string {
	r.roots++
	bus := fmt.Sprintf("0000:%02x", 0xe0+r.roots)
	dir := "/sys/devices/pci" + bus
	r.tree.AddDir(dir + "/pci_bus/" + bus)
	r.tree.AddLink("/sys/class/pci_bus/"+bus, "../../devices/pci"+bus+"/pci_bus/"+bus)
	return dir
}

// root fills a root complex: devices in ports of it or, as in virtual machines,
// right on its bus.
func (r *rack) root() {
	dir := r.rootBus()
	numa := r.one("numa", "0", "0", "1", "-1", "")
	for range rapid.IntRange(1, 3).Draw(r.t, "slots") {
		under := dir
		if !r.rarely("virtual machine") {
			under = r.port(dir)
		}
		r.device(under, "cpu "+numa, numa, 2)
	}
}

// port makes a port, of a root complex or a switch, and gives its folder.
func (r *rack) port(under string) string {
	id := r.id()
	dir := under + "/" + id
	r.tree.AddFile(dir+"/class", []byte("0x060400\n"))
	r.speed(dir)
	return dir
}

func (r *rack) id() string {
	r.buses++
	return fmt.Sprintf("%04x:%02x:00.0", r.buses>>7, r.buses&0x7f)
}

// speed gives a folder a link speed, or none.
func (r *rack) speed(dir string) string {
	s := rapid.SampledFrom(slices.Sorted(maps.Keys(speeds))).Draw(r.t, "speed")
	if s != "" {
		r.tree.AddFile(dir+"/max_link_speed", []byte(s+"\n"))
	}
	r.tree.AddFile(dir+"/max_link_width", []byte(r.one("width", "16", "8", "0", "63")+"\n"))
	return s
}

// function makes a PCI function and gives its folder and id.
func (r *rack) function(under, above, numa, class, vendor string) (dir, id string) {
	id = r.id()
	dir = under + "/" + id
	r.tree.AddLink(dir+"/subsystem", "/sys/bus/pci")
	r.tree.AddFile(dir+"/class", []byte(class+"\n"))
	r.tree.AddFile(dir+"/vendor", []byte(vendor+"\n"))
	if numa != "" {
		r.tree.AddFile(dir+"/numa_node", []byte(numa+"\n"))
	}
	own := r.speed(dir)
	port := ""
	if data, err := r.tree.ReadFile(under + "/max_link_speed"); err == nil {
		port = strings.TrimSpace(string(data))
	}
	r.above[id], r.link[id] = above, own
	if speeds[port] < speeds[own] {
		r.link[id] = port
	}
	r.tree.AddDir(under + "/pci_bus/" + id[:busLen])
	r.tree.AddLink("/sys/class/pci_bus/"+id[:busLen], "../../devices"+strings.TrimPrefix(under, "/sys/devices")+"/pci_bus/"+id[:busLen])
	return dir, id
}

func (r *rack) device(under, above, numa string, depth int) {
	switch kind := rapid.IntRange(0, 5).Draw(r.t, "kind"); {
	case kind == 0 && depth > 0:
		dir, id := r.function(under, above, numa, "0x060400", "0x10b5")
		for range rapid.IntRange(1, 3).Draw(r.t, "below") {
			r.device(r.port(dir), id, numa, depth-1)
		}
	case kind == 1:
		r.verbs(r.function(under, above, numa, "0x020700", "0x15b3"))
	case kind == 2:
		dir, id := r.function(under, above, numa, "0x020000", "0x8086")
		r.cards = append(r.cards, id)
		r.netdev(fmt.Sprintf("eth%d", r.buses), dir)
	default:
		r.gpu(under, above, numa)
	}
}

func (r *rack) gpu(under, above, numa string) {
	dir, id := r.function(under, above, numa, "0x030200", "0x10de")
	if r.rarely("hidden") { // as in some containers
		r.hide(dir, id)
	}
	r.gpus = append(r.gpus, id)
	sm := rapid.SampledFrom([][2]int{{7, 0}, {8, 0}, {9, 0}, {5, 2}}).Draw(r.t, "sm")
	r.host.Devices = append(r.host.Devices, Device{
		Index: len(r.host.Devices), BusID: "0000" + strings.ToUpper(id), BusIDLegacy: strings.ToUpper(id), ComputeCapability: sm,
	})
}

// hide takes a device out of sysfs.
func (r *rack) hide(dir, id string) {
	delete(r.tree.links, "/sys/class/pci_bus/"+id[:busLen])
	bus := "/sys/class/pci_bus"
	r.tree.dirs[bus] = slices.DeleteFunc(r.tree.dirs[bus], func(n string) bool { return n == id[:busLen] })
	r.above[id], r.link[id] = "cpu -1", ""
}

// nvlinks joins GPUs with each other, with a switch that sysfs shows, and with
// ones that it hides; some links are down or not told of.
func (r *rack) nvlinks() {
	targets := append([]string{hiddenPeer}, r.gpus...)
	for i := range r.host.Devices {
		d := &r.host.Devices[i]
		for l := range rapid.IntRange(0, 20).Draw(r.t, "links") {
			target := rapid.SampledFrom(targets).Draw(r.t, "target")
			d.NVLinks = append(d.NVLinks, NVLink{
				Link: l, P2PSupported: rapid.IntRange(0, 1).Draw(r.t, "p2p"), State: rapid.IntRange(0, 1).Draw(r.t, "state"),
				RemoteReturn: rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(r.t, "remote"), RemoteBusIDLegacy: strings.ToUpper(target),
			})
		}
	}
}

// cuda shows the process some of the GPUs, in any order.
func (r *rack) cuda() {
	r.host.CUDAVersion = rapid.SampledFrom([]int{12040, 11070, 11030, 10020}).Draw(r.t, "CUDA")
	order := rapid.Permutation(r.gpus).Draw(r.t, "order")
	dmabuf := rapid.IntRange(0, 1).Draw(r.t, "dmabuf") // where GPUs differ, so do the cards that ranks see
	for i, id := range order[:rapid.IntRange(1, len(order)).Draw(r.t, "visible")] {
		r.host.CUDA = append(r.host.CUDA, CUDADevice{
			Dev: i, BusID: id, GPUDirectRDMA: rapid.IntRange(0, 1).Draw(r.t, "gdr"), DMABuf: dmabuf,
		})
	}
}

// verbs makes an InfiniBand or RoCE device of a function.
func (r *rack) verbs(dir, id string) {
	r.cards = append(r.cards, id)
	name := fmt.Sprintf("mlx5_%d", len(r.cards))
	r.tree.AddLink("/sys/class/infiniband/"+name+"/device", dir)
	if r.net.Verbs == nil {
		r.net.Verbs = &Verbs{DMABufErrno: r.one("errno", "", "EOPNOTSUPP", "EBADF")}
	}
	d := VerbsDevice{Name: name, SysImageGUID: fmt.Sprintf("%016x", 0xb00+len(r.cards)), MaxQP: 131072}
	for i := range rapid.IntRange(1, 2).Draw(r.t, "ports") {
		d.Ports = append(d.Ports, VerbsPort{
			Port: i + 1, State: rapid.SampledFrom([]int{4, 4, 4, 1}).Draw(r.t, "state"),
			LinkLayer: rapid.IntRange(0, 2).Draw(r.t, "layer"), ActiveSpeed: 32, ActiveWidth: 2,
		})
	}
	r.net.Verbs.Devices = append(r.net.Verbs.Devices, d)
	r.netdev("ib"+name, dir)
}

// netdev makes a network interface of a function, or of nothing.
func (r *rack) netdev(name, dir string) {
	at := "/sys/class/net/" + name
	if dir != "" {
		r.tree.AddLink(at+"/device", dir)
	}
	if s := r.one("speed", "100000\n", "-1\n", "4294967295\n", "", "\n", "10\n"); s != "" {
		r.tree.AddFile(at+"/speed", []byte(s))
	}
	addr := fmt.Sprintf("172.20.%d.%d", len(r.net.Interfaces), 1+len(name))
	if r.rarely("IPv6") {
		addr = fmt.Sprintf("fe80::%x", 1+len(r.net.Interfaces))
	}
	i := Interface{Name: name, Addr: &addr, Bits: 24}
	if r.rarely("no address") {
		i.Addr = nil
	}
	r.net.Interfaces = append(r.net.Interfaces, i)
}

// interfaces adds those that are no devices.
func (r *rack) interfaces() {
	for _, name := range []string{"lo", "docker0", "bond0"} {
		if rapid.Bool().Draw(r.t, name) {
			r.netdev(name, "")
		}
	}
}

// sources asks the server.
func (r *rack) sources(files Files) Sources {
	m := played{p: &Prober{Host: r.host, Network: r.net}}
	return Sources{Files: files, NVML: m, CUDA: playedCUDA{m}, Network: m}
}

// faulty is a file system of which some files cannot be read, though they are
// there.
type faulty struct {
	Files
	err  error
	fail func(name string) bool
}

func (f faulty) ReadFile(name string) ([]byte, error) {
	if f.fail(name) {
		return nil, f.err
	}
	return f.Files.ReadFile(name)
}

func (f faulty) ReadDir(name string) ([]string, error) {
	if f.fail(name) {
		return nil, f.err
	}
	return f.Files.ReadDir(name)
}

// unreadable makes files of some names unreadable, but never those without
// which there is no probing.
func (r *rack) unreadable(err error) Files {
	names := []string{"class", "vendor", "numa_node", "max_link_speed", "max_link_width", "speed", "cpumap"}
	bad := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(r.t, "unreadable")
	return faulty{r.tree, err, func(name string) bool { return slices.Contains(bad, path.Base(name)) }}
}
