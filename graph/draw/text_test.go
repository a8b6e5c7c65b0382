package draw

import (
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
)

func TestCPUNames(t *testing.T) {
	for _, c := range []struct {
		id        graph.NodeID
		cpu       graph.CPUInfo
		name, sub string
	}{
		{0, graph.CPUInfo{Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelBroadwell}, "NUMA 0", "Intel"},
		{1, graph.CPUInfo{Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelSkylake}, "NUMA 1", "Intel, Skylake or later"},
		{3, graph.CPUInfo{Arch: topo.ArchX86, Vendor: topo.VendorAMD}, "NUMA 3", "AMD"},
		{8, graph.CPUInfo{Arch: topo.ArchPOWER, Vendor: topo.VendorUndefined}, "NUMA 8", "POWER"},
		{0, graph.CPUInfo{Arch: topo.ArchARM, Vendor: topo.VendorUndefined}, "NUMA 0", "Arm"},
		{0, graph.CPUInfo{Arch: topo.ArchX86, Vendor: topo.VendorZhaoxin}, "NUMA 0", "Zhaoxin"},
		{0, graph.CPUInfo{Arch: topo.ArchX86, Vendor: topo.VendorUnknown}, "NUMA 0", "x86"},
		{0, graph.CPUInfo{}, "NUMA 0", "CPU"},
		{-1, graph.CPUInfo{Arch: topo.ArchARM}, "CPU", "Arm"},
		{1<<56 + 2, graph.CPUInfo{Arch: topo.ArchARM}, "NUMA 2, host 1", "Arm"},
	} {
		lines := cpuLines(&graph.Node{Type: graph.CPU, NodeID: c.id, CPU: &c.cpu})
		if lines[0].text != c.name || lines[1].text != c.sub {
			t.Errorf("%d %+v: %q, %q", c.id, c.cpu, lines[0].text, lines[1].text)
		}
	}
}

func TestBusIDsAreShort(t *testing.T) {
	for text, want := range map[string]string{"0000:3b:00.0": "3b:00.0", "0001:3b:00.0": "0001:3b:00.0"} {
		if got := shortBusID(graph.NodeID(topo.ParseBusID(text))); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestCapabilityOfAll(t *testing.T) {
	gpu := func(sm int) *graph.Node { return &graph.Node{Type: graph.GPU, GPU: &graph.GPUInfo{SM: sm}} }
	if got := capability([]*graph.Node{gpu(90), gpu(90)}); got != "sm_90" {
		t.Error(got)
	}
	if got := capability([]*graph.Node{gpu(90), gpu(70), gpu(80)}); got != "sm_70 to sm_90" {
		t.Error(got)
	}
}

func TestLinkKinds(t *testing.T) {
	gpu := func(sm int) *graph.Node { return &graph.Node{Type: graph.GPU, GPU: &graph.GPUInfo{SM: sm}} }
	cpu := func(a topo.Arch) *graph.Node { return &graph.Node{Type: graph.CPU, CPU: &graph.CPUInfo{Arch: a}} }
	nvs := &graph.Node{Type: graph.NVS}
	for _, c := range []struct {
		link graph.Link
		want string
	}{
		{graph.Link{Type: graph.LinkNVL, BW: 40, From: gpu(70), To: gpu(70)}, "NV2"},
		{graph.Link{Type: graph.LinkNVL, BW: 370.8, From: gpu(90), To: nvs}, "NV18"},
		{graph.Link{Type: graph.LinkNVL, BW: 370.8, From: nvs, To: gpu(90)}, "NV18"},
		{graph.Link{Type: graph.LinkNVL, BW: 54, From: gpu(60), To: cpu(topo.ArchPOWER)}, "NV3"},
		{graph.Link{Type: graph.LinkNVL, BW: 447, From: cpu(topo.ArchARM), To: gpu(90)}, "C2C"},
		{graph.Link{Type: graph.LinkPCI, BW: 12, From: gpu(70), To: cpu(topo.ArchX86)}, "PCI"},
		{graph.Link{Type: graph.LinkSYS, BW: 10, From: cpu(topo.ArchX86), To: cpu(topo.ArchX86)}, "SYS"},
	} {
		if got := linkKind(&c.link); got != c.want {
			t.Errorf("%+v is called %s, want %s", c.link, got, c.want)
		}
	}
}

// A switch above one GPU is as narrow as the GPU; it is told from others by its
// address all the same.
func TestNarrowSwitchesSayWhichTheyAre(t *testing.T) {
	inner := topotest.Switch(0x20, topotest.Gen4, topotest.GPU(0x21, 1, 80, topotest.Gen4))
	outer := topotest.Switch(0x10, topotest.Gen4, topotest.GPU(0x11, 0, 80, topotest.Gen4), inner)
	hosts := copies(t, topotest.Machine(topotest.Socket(topotest.Skylake, 0, outer)), 1)
	p, err := Machines(hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	boxes := p.allBoxes()
	for _, n := range hosts[0].Graph.NodesOf(graph.PCI) {
		id := shortBusID(n.NodeID)
		switch got := boxes[nodeID(0, hosts[0].Graph, n)].lines[0].text; got {
		case "PCI switch " + id, "PCI " + id:
		default:
			t.Errorf("the switch at %s is called %q", id, got)
		}
	}
}
