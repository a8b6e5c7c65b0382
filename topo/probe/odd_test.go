package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// The golden machines leave out some of what sysfs can look like. These tests
// follow the description of NCCL's behaviour instead.

// oneGPU is a machine with a GPU that sits on its own port of socket 0.
const oneGPU = `<system version="1">
<cpu host_hash="0x1" numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
<pci busid="0000:10:00.0" class="0x030200" vendor="0x10de" device="0x1" subsystem_vendor="0x10de" subsystem_device="0x2" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="80" rank="0" gdr="1"/>
</pci>
</cpu>
</system>`

// switched is a machine with a GPU and a card behind one switch.
const switched = `<system version="1">
<cpu host_hash="0x1" numaid="3" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
<pci busid="0000:20:00.0" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:21:00.0" class="0x030200" vendor="0x10de" device="0x1" subsystem_vendor="0x10de" subsystem_device="0x2" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="80" rank="0" gdr="1"/>
</pci>
<pci busid="0000:1f:00.0" class="0x020000" vendor="0x15b3" device="0x1" subsystem_vendor="0x15b3" subsystem_device="0x2" link_speed="16.0 GT/s PCIe" link_width="16">
<nic><net name="n0" dev="0" speed="1000" port="1" latency="0.000000" guid="0x7" maxconn="8" gdr="0"/></nic>
</pci>
</pci>
</cpu>
</system>`

// odd is a staged machine under a test's hands.
type odd struct {
	*testing.T
	*Prober
	ranks []Rank
	tree  *Tree
}

func stageText(t *testing.T, text string) *odd {
	t.Helper()
	doc, err := ncclxml.Decode(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	p, ranks, err := Stage(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &odd{t, p, ranks, p.Files.(*Tree)}
}

// dir is the folder of a device.
func (o *odd) dir(busID string) string {
	o.Helper()
	dir := pciPath(o.tree, busID)
	if dir == "" {
		o.Fatalf("%s is not in sysfs", busID)
	}
	return dir
}

func (o *odd) write(path, text string) { o.tree.AddFile(path, []byte(text)) }

func (o *odd) remove(path string) { delete(o.tree.files, path) }

func (o *odd) probe() string {
	o.Helper()
	doc, err := o.Probe(o.ranks)
	if err != nil {
		o.Fatal(err)
	}
	var b bytes.Buffer
	if err := ncclxml.Encode(&b, doc); err != nil {
		o.Fatal(err)
	}
	return b.String()
}

// has checks for texts that come in this order.
func (o *odd) has(texts ...string) {
	o.Helper()
	got := o.probe()
	rest := got
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			o.Fatalf("%s is missing, or not in this order, in\n%s", text, got)
		}
		rest = after
	}
}

func (o *odd) lacks(text string) {
	o.Helper()
	if got := o.probe(); strings.Contains(got, text) {
		o.Fatalf("%s should not be in\n%s", text, got)
	}
}

func TestLinkOfDeviceAndPort(t *testing.T) {
	for _, test := range []struct{ device, port, speed string }{
		{"16.0 GT/s PCIe\n", "8.0 GT/s PCIe\n", "8.0 GT/s PCIe"},
		{"8.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "8.0 GT/s PCIe"},
		{"8 GT/s\n", "8.0 GT/s PCIe\n", "8 GT/s"},
		{"Unknown\n", "2.5 GT/s PCIe\n", "2.5 GT/s PCIe"},
		{"32.0 GT/s PCIe\n", "Unknown speed\n", "32.0 GT/s PCIe"},
		{"Unknown\n", "Other\n", "Unknown"},
		{"", "Other\n", ""},
		{"0 GT/s\n", "Unknown\n", "0 GT/s"},
		{"  5.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "  5.0 GT/s PCIe"},
	} {
		o := stageText(t, oneGPU)
		o.write(o.dir("0000:10:00.0")+"/max_link_speed", test.device)
		o.write("/sys/devices/pcif001:00/max_link_speed", test.port)
		o.has(`link_speed="` + test.speed + `"`)
	}
	for _, test := range []struct{ device, port, width string }{
		{"16\n", "8\n", "8"}, {"4\n", "16\n", "4"}, {"63\n", "0x10\n", "16"}, {"x16\n", "16\n", "0"}, {"16\n", "", "0"}, {"-1\n", "16\n", "-1"},
	} {
		o := stageText(t, oneGPU)
		o.write(o.dir("0000:10:00.0")+"/max_link_width", test.device)
		o.write("/sys/devices/pcif001:00/max_link_width", test.port)
		o.has(`link_width="` + test.width + `"`)
	}
}

func TestTextsOfFiles(t *testing.T) {
	o := stageText(t, oneGPU)
	dir := o.dir("0000:10:00.0")
	o.write(dir+"/device", "0x1234") // the last byte goes, whatever it is
	o.write(dir+"/vendor", "0x10de\x00rest\n")
	o.write(dir+"/subsystem_vendor", "\n")
	o.remove(dir + "/subsystem_device")
	o.write(dir+"/class", "")
	o.has(`class="0x03" vendor="0x10de" device="0x123" link_speed`)
	o.write("/sys/devices/system/node/node0/cpumap", strings.Repeat("00000000,", 28)+"0000ffff,ffffffff\n")
	o.has(`affinity="` + strings.Repeat("00000000,", 28) + `00"`)
	o.remove("/sys/devices/system/node/node0/cpumap")
	o.has(`numaid="0" arch=`)
}

func TestPlainBridge(t *testing.T) {
	// Between the GPU and the root complex there are three devices: a bridge
	// instead of the two ports of a switch leaves the root port in the way.
	o := stageText(t, oneGPU)
	old := o.dir("0000:10:00.0")
	dir := "/sys/devices/pci0000:00/0000:00:01.0/0000:0f:00.0/0000:10:00.0"
	o.tree.AddLink("/sys/devices/buses/0000:10/0000:10:00.0", dir)
	for _, name := range []string{"class", "numa_node"} {
		o.write(dir+"/"+name, string(o.tree.files[old+"/"+name]))
	}
	o.write("/sys/devices/pci0000:00/0000:00:01.0/numa_node", "5\n")
	o.write("/sys/devices/pci0000:00/0000:00:01.0/class", "0x060400\n")
	o.tree.AddDir("/sys/devices/pci0000:00/pci_bus/0000:00")
	o.tree.AddLink("/sys/class/pci_bus/0000:00", "../../devices/pci0000:00/pci_bus/0000:00")
	o.has(`numaid="5"`, `<pci busid="0000:00:01.0" class="0x060400"`, `<pci busid="0000:10:00.0"`)
	o.lacks("0000:0f:00.0")
}

func TestCircle(t *testing.T) {
	o := stageText(t, oneGPU)
	for from, to := range map[string]string{"0000:10:00.0": "0000:11:00.0", "0000:11:00.0": "0000:10:00.0"} {
		dir := "/sys/devices/" + to + "/0000:ff:00.0/" + from
		o.tree.AddDir(dir)
		o.tree.AddDir("/sys/devices/buses/" + from[:7] + "/pci_bus/" + from[:7])
		o.tree.AddLink("/sys/class/pci_bus/"+from[:7], "/sys/devices/buses/"+from[:7]+"/pci_bus/"+from[:7])
		o.tree.AddLink("/sys/devices/buses/"+from[:7]+"/"+from, dir)
	}
	if _, err := o.Probe(o.ranks); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("error %v", err)
	}
}

func TestNUMANumberOfTheTopSwitch(t *testing.T) {
	o := stageText(t, switched)
	o.write(o.dir("0000:21:00.0")+"/numa_node", "7\n")
	o.has(`numaid="3"`)
	o.lacks(`numaid="7"`)
	o.write(o.dir("0000:20:00.0")+"/numa_node", "-1\n")
	o.has(`numaid="-1"`)
}

func TestLinkedSwitches(t *testing.T) {
	o := stageText(t, switched)
	peers := switchLinks + "virtual_switch_links/0000:20:00.0/"
	for _, name := range []string{"0000:21:00.0", "0000:1f:00.0", "0000:99:00.0", "short", "0000:21:00.0-long"} {
		o.write(peers+name, "\n")
	}
	o.write(switchLinks+"refresh_switch_toplogy", "\n")
	// The links come when the switch is completed: below the GPU that led to it,
	// and above the card that the network leads to afterwards, unless its bus id
	// is smaller than the GPU's.
	o.has(`<pci busid="0000:1f:00.0"`, `<pci busid="0000:21:00.0"`, `<pcilink target="0000:21:00.0"/>`, `<pcilink target="0000:1f:00.0"/>`)
	o.lacks("0000:99:00.0")
	o.lacks("short")
	o.write(o.dir("0000:20:00.0")+"/vendor", "0x10b5\n")
	o.lacks("pcilink")
}

func TestNVLinkTargets(t *testing.T) {
	o := stageText(t, switched)
	o.Host.Devices[0].NVLinks = []NVLink{
		{Link: 0, P2PSupported: 1, State: 1, RemoteBusIDLegacy: "0000:1F:00.0"},
		{Link: 3, P2PSupported: 1, State: 1, RemoteBusIDLegacy: "0000:1F:00.0"},
		{Link: 4, P2PSupported: 1, State: 1, RemoteBusIDLegacy: "FFFFFFF:FFFF:FF"},
		{Link: 11, P2PSupported: 1, State: 1, RemoteBusIDLegacy: "0000:77:00.0"},
		{Link: 12, P2PSupported: 1, State: 1, RemoteBusIDLegacy: "0000:78:00.0"}, // one more than NCCL asks for
		{Link: 1, P2PSupported: 1, State: 2, RemoteBusIDLegacy: "0000:79:00.0"},
	}
	o.has(`<nvlink target="0000:1f:00.0" count="2" tclass="0x020000"/>`, `<nvlink target="fffffff:ffff:ff" count="1" tclass="0x068000"/>`,
		`<nvlink target="0000:77:00.0" count="1" tclass="0x068000"/>`)
	o.lacks("0000:78:00.0")
	o.lacks("0000:79:00.0")
	o.write(o.dir("0000:1f:00.0")+"/class", "\n")
	o.has(`<nvlink target="0000:1f:00.0" count="2"/>`)
}

func TestOldCUDA(t *testing.T) {
	o := stageText(t, switched)
	o.Host.CUDAVersion = 11020
	o.has(`<gpu dev="0" sm="80" rank="0" gdr="0"/>`)
	o.Network.Properties[0].PtrSupport |= ptrCUDA
	o.Host.CUDA[0].GPUDirectRDMA = 0
	o.has(`<gpu dev="0" sm="80" rank="0" gdr="1"/>`)
}

func TestMemoryForTheNetwork(t *testing.T) {
	o := stageText(t, switched)
	o.Network.Properties[0].PtrSupport = ptrHost | ptrDMABuf
	o.Host.CUDA[0].DMABuf = 1
	o.has(`maxconn="8" gdr="1"`)
	o.Host.CUDAVersion = 11060 // too old for it
	o.has(`maxconn="8" gdr="0"`)
	o.Host.CUDAVersion = 12000
	o.Env = env("NCCL_DMABUF_ENABLE", "0")
	o.has(`maxconn="8" gdr="0"`)
}

func TestCollNet(t *testing.T) {
	o := stageText(t, switched)
	folder := *o.Network.Properties[0].PCIPath
	o.Network.Properties = append(o.Network.Properties, Properties{Name: "n1", PtrSupport: ptrHost})
	o.Network.CollNet = []Properties{{Name: "c0", PCIPath: &folder, Speed: 5, PtrSupport: ptrHost | ptrCUDA, MaxComms: 2}}
	o.has(`<net name="c0" dev="0" speed="5" port="0" guid="0x0" maxconn="2" gdr="1" coll="1"/>`, `<net name="n0"`)
	o.lacks("n1") // as many devices as CollNet has
}

func TestNamesakes(t *testing.T) {
	o := stageText(t, switched)
	folder := *o.Network.Properties[0].PCIPath
	o.Network.Properties = append(o.Network.Properties, Properties{Name: "n0", PCIPath: &folder, Speed: 9, Port: 2})
	o.has(`<net name="n0" dev="1" speed="1000" port="1"`)
}

func TestTooFarAway(t *testing.T) {
	o := stageText(t, oneGPU)
	o.ranks[0].BusID = "0000:55:00.0"
	if _, err := o.Probe(o.ranks); err == nil || !strings.Contains(err.Error(), "0000:55:00.0") {
		t.Errorf("a GPU that NVML does not know: %v", err)
	}
	if _, err := o.Probe(nil); err == nil {
		t.Error("a job without ranks is probed")
	}
}

func TestNoNetwork(t *testing.T) {
	o := stageText(t, oneGPU)
	addr := "10.0.0.1"
	for _, test := range []struct {
		env  Env
		want string
	}{
		{env("NCCL_SOCKET_IFNAME", "nosuch"), "NCCL_SOCKET_IFNAME=nosuch"},
		{env("NCCL_NET", "ib"), "NCCL_NET=ib"},
		{env("NCCL_SOCKET_FAMILY", "AF_INET6"), "no usable network interface"},
	} {
		o.Env = test.env
		o.Network = Network{Interfaces: []Interface{{Name: "eth0", Addr: &addr}}}
		_, err := o.Probe(o.ranks)
		var network *NetworkError
		if !errors.As(err, &network) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "eth0") && test.want[:8] != "NCCL_NET" {
			t.Errorf("want %s: %v", test.want, err)
		}
	}
}

func TestManyElements(t *testing.T) {
	o := stageText(t, oneGPU)
	for i := range 260 {
		o.Network.Properties = append(o.Network.Properties, Properties{Name: fmt.Sprint("v", i)})
	}
	r, err := o.result(o.ranks, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "265 elements, up to 260 in one") {
		t.Errorf("notes: %q", r.Notes)
	}
}

func TestBlockedPairs(t *testing.T) {
	p, ranks, err := Load("testdata/machines/lo-only", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		read, write [2][]int
		blocked     bool
	}{
		{[2][]int{nil, nil}, [2][]int{nil, nil}, false},
		{[2][]int{{0, 0}, {0, 0}}, [2][]int{{0, 0}, {0, 0}}, false},
		{[2][]int{{0, 0}, {0, 0}}, [2][]int{{0, 0}, {1, 0}}, true},
		{[2][]int{{0, 2}, {0, 0}}, [2][]int{nil, nil}, true},
	} {
		for i := range p.Host.Devices {
			p.Host.Devices[i].P2PRead, p.Host.Devices[i].P2PWrite = test.read[i], test.write[i]
		}
		r, err := p.result(ranks, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.Blocked) == 1 && r.Blocked[0] == [2]int{0, 1}; got != test.blocked || len(r.Notes) != len(r.Blocked) {
			t.Errorf("%v %v: blocked %v, notes %q", test.read, test.write, r.Blocked, r.Notes)
		}
	}
}

// Two devices of one address are parts of one GPU (MIG). The topology cannot be
// used, and the error, which has no lines to point to, says which they are.
func TestPartsOfOneGPU(t *testing.T) {
	p, _, err := Load("testdata/machines/lo-only", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Host.CUDA[1].BusID = p.Host.CUDA[0].BusID
	ranks, err := p.Host.Ranks(nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := p.Probe(ranks)
	if err != nil {
		t.Fatal(err)
	}
	_, err = doc.System()
	var refused *ncclxml.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "a second GPU on 0000:cb:00.0; the first is gpu dev 1;") || !strings.Contains(err.Error(), "MIG") {
		t.Errorf("error %v", err)
	}
}
