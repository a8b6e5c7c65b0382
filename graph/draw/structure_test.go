package draw

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/machines"
)

// allBoxes are the boxes of a picture by their ids.
func (p *Picture) allBoxes() map[string]box {
	out := map[string]box{}
	var visit func(bs []box, fs []frame)
	visit = func(bs []box, fs []frame) {
		for _, b := range bs {
			out[b.id] = b
		}
		for _, f := range fs {
			visit(f.boxes, f.frames)
		}
	}
	visit(p.boxes, p.frames)
	return out
}

func (p *Picture) between(from, to string) []wire {
	return slices.DeleteFunc(slices.Clone(p.wires), func(w wire) bool { return w.from != from || w.to != to })
}

// TestEveryPartIsThere compares each built-in machine's picture with its graph.
func TestEveryPartIsThere(t *testing.T) {
	for _, name := range machines.Names() {
		host := machine(t, name, 1)[0]
		p, err := Machines([]Host{host}, nil)
		if err != nil {
			t.Fatal(err)
		}
		boxes := p.allBoxes()
		for _, kind := range []graph.NodeType{graph.GPU, graph.CPU, graph.PCI, graph.NIC, graph.NVS} {
			for _, n := range host.Graph.NodesOf(kind) {
				if _, ok := boxes["h0 "+n.String()]; !ok {
					t.Errorf("%s: no box for %s", name, n)
				}
			}
		}
		for _, l := range host.Graph.Links() {
			if l.Type == graph.LinkNVL || l.Type == graph.LinkPCI {
				checkLink(t, name, p, l)
			}
		}
	}
}

func checkLink(t *testing.T, name string, p *Picture, l *graph.Link) {
	t.Helper()
	from, to := "h0 "+l.From.String(), "h0 "+l.To.String()
	var drawn []wire
	for _, w := range append(p.between(from, to), p.between(to, from)...) {
		if w.width == bandwidthWidth(l.BW) || l.BW >= virtualBW && w.width == minWidth {
			drawn = append(drawn, w)
		}
	}
	if len(drawn) != 1 {
		t.Errorf("%s: %s to %s, %s: drawn %d times", name, from, to, gbps(l.BW), len(drawn))
		return
	}
	if l.Type != graph.LinkNVL {
		return
	}
	var text string
	for _, part := range drawn[0].label {
		text += part.text + " "
	}
	if !strings.Contains(text, linkKind(l)) || !strings.Contains(text, gbps(l.BW)) {
		t.Errorf("%s: %s to %s is labelled %q", name, from, to, text)
	}
}

func TestGPUsStandInRankOrder(t *testing.T) {
	for _, name := range machines.Names() {
		host := machine(t, name, 1)[0]
		p, err := Machines([]Host{host}, nil)
		if err != nil {
			t.Fatal(err)
		}
		boxes := p.allBoxes()
		gpus := slices.Clone(host.Graph.NodesOf(graph.GPU))
		slices.SortFunc(gpus, func(a, b *graph.Node) int { return a.GPU.Rank - b.GPU.Rank })
		last := -1.
		for _, g := range gpus {
			b := boxes["h0 "+g.String()]
			if b.area.x <= last {
				t.Errorf("%s: rank %d stands left of the one before", name, g.GPU.Rank)
			}
			if !strings.Contains(fmt.Sprint(b.lines), fmt.Sprintf("GPU %d", g.GPU.Rank)) {
				t.Errorf("%s: rank %d is called %v", name, g.GPU.Rank, b.lines)
			}
			last = b.area.x
		}
	}
}

// TestRingOverLinks follows a ring of a DGX-1: each hop is one line from GPU to
// GPU with an arrow, next to the link that carries it.
func TestRingOverLinks(t *testing.T) {
	hosts := machine(t, "dgx-1v", 1)
	cycle := []int{0, 3, 2, 1, 5, 6, 7, 4}
	p, err := Machines(hosts, []Overlay{ring(hosts, 0, cycle...)})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]string{}
	for _, n := range hosts[0].Graph.NodesOf(graph.GPU) {
		ids[n.GPU.Rank] = "h0 " + n.String()
	}
	for i, from := range cycle {
		to := cycle[(i+1)%len(cycle)]
		hops := slices.DeleteFunc(p.between(ids[from], ids[to]), func(w wire) bool { return w.color != ringColors[0] })
		if len(hops) != 1 || !hops[0].arrow {
			t.Fatalf("hop %d to %d: %d lines", from, to, len(hops))
		}
		begin, end := hops[0].parts[0][0], hops[0].parts[0][len(hops[0].parts[0])-1]
		boxes := p.allBoxes()
		if a, b := boxes[ids[from]].area, boxes[ids[to]].area; begin.x < a.x || begin.x > a.right() || end.x < b.x || end.x > b.right() {
			t.Errorf("hop %d to %d leads from %v to %v", from, to, begin, end)
		}
	}
}

// TestRingBetweenHosts: the hop leaves by the NIC that sends and arrives at the
// one that receives, and both GPUs' ways to them are drawn.
func TestRingBetweenHosts(t *testing.T) {
	hosts := machine(t, "dgx-h100", 2)
	o := ring(hosts, 0, inOrder(hosts)...)
	p, err := Machines(hosts, []Overlay{o})
	if err != nil {
		t.Fatal(err)
	}
	var crossing []string
	for _, w := range p.wires {
		if w.color == ringColors[0] && w.from[:2] != w.to[:2] {
			crossing = append(crossing, w.from+" to "+w.to)
		}
	}
	nic := cardOf(hosts[0].Graph.NodesOf(graph.NET)[0])
	want := []string{fmt.Sprintf("h0 %s to h1 %s", nic, nic), fmt.Sprintf("h1 %s to h0 %s", nic, nic)}
	if !slices.Contains(crossing, want[0]) || !slices.Contains(crossing, want[1]) || len(crossing) != 2 {
		t.Errorf("crossings: %q", crossing)
	}
	arrives, leaves := 0, 0
	for _, w := range p.wires {
		if w.color == ringColors[0] && w.to == "h0 "+nic.String() && strings.HasPrefix(w.from, "h0 PCI") {
			arrives++
		}
		if w.color == ringColors[0] && w.from == "h0 "+nic.String() && strings.HasPrefix(w.to, "h0 PCI") {
			leaves++
		}
	}
	if arrives != 1 || leaves != 1 {
		t.Errorf("between the NIC and its switch: %d down, %d up", arrives, leaves)
	}
}

func TestHostsWithoutNetwork(t *testing.T) {
	hosts := machine(t, "v100x4", 2)
	p, err := Machines(hosts, []Overlay{ring(hosts, 0, inOrder(hosts)...)})
	if err != nil {
		t.Fatal(err)
	}
	nominal := 0
	for _, w := range p.wires {
		if len(w.label) > 0 && strings.Contains(w.label[0].text, "no NIC") {
			nominal++
		}
	}
	if nominal != 2 {
		t.Errorf("%d nominal hops, want 2", nominal)
	}
}

// TestGPUsOutOfOrder: user ranks decide the names and the order inside a host.
func TestGPUsOutOfOrder(t *testing.T) {
	hosts := machine(t, "h100x4", 1)
	hosts[0].Ranks = []int{7, 6, 5, 4}
	p, err := Machines(hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := map[string]float64{}
	for _, b := range p.allBoxes() {
		if len(b.lines) > 0 {
			x[b.lines[0].text] = b.area.x
		}
	}
	for r := 5; r <= 7; r++ {
		if x[fmt.Sprintf("GPU %d", r)] <= x[fmt.Sprintf("GPU %d", r-1)] {
			t.Errorf("GPU %d is not right of GPU %d: %v", r, r-1, x)
		}
	}
}

// TestOddMachine has an NVLink with unlike directions, nested and joined
// switches, a card with two ports and a CPU without devices.
func TestOddMachine(t *testing.T) {
	gpu := func(bus topo.BusID, rank int, links ...topo.NVLink) topo.Device {
		return topo.Device{BusID: bus, Class: topo.ClassGPU, Speed: 60, Width: 16,
			GPU: &topo.GPU{Rank: rank, Dev: rank, SM: 70, NVLinks: links}}
	}
	nic := topo.Device{BusID: 0x5000, Class: topo.ClassNIC, Speed: 60, Width: 16,
		NIC: &topo.NIC{Nets: []topo.Net{{Name: "a0", Dev: 0, Mbps: 100000}, {Name: "a1", Dev: 1, Mbps: 100000}}}}
	peer := topo.Device{BusID: 0x6000, Speed: 60, Width: 16, Peers: []topo.BusID{0x1000}}
	inner := topo.Device{BusID: 0x2000, Speed: 60, Width: 16, Devices: []topo.Device{gpu(0x3000, 1, topo.NVLink{Target: 0x4000, Class: topo.ClassGPU, Count: 1})}}
	outer := topo.Device{BusID: 0x1000, Speed: 60, Width: 16, Peers: []topo.BusID{0x6000}, Devices: []topo.Device{inner, nic,
		gpu(0x4000, 0, topo.NVLink{Target: 0x3000, Class: topo.ClassGPU, Count: 2})}}
	sys := &topo.System{CPUs: []topo.CPU{
		{NUMA: 0, Arch: topo.ArchX86, Vendor: topo.VendorAMD, Devices: []topo.Device{outer, peer}},
		{NUMA: 1, Arch: topo.ArchX86, Vendor: topo.VendorAMD},
	}}
	if _, err := graph.Build(sys, graph.Options{}); err != nil {
		t.Fatal(err)
	}
	p := draw(t, copies(t, sys, 1), 0)
	for _, f := range faults(p) {
		t.Error(f)
	}
	if joined := p.between("h0 PCI/1000", "h0 PCI/6000"); len(joined) != 1 {
		t.Errorf("the joined switches have %d wires", len(joined))
	}
	texts, _ := p.inked()
	var all []string
	for _, text := range texts {
		all = append(all, text.text)
	}
	for _, want := range []string{"NV2 40 GB/s right, 20 GB/s left", "a0 +1", "2 × 100 Gb/s", "AMD", "NUMA 0", "NUMA 1", "GPU 1"} {
		if !slices.Contains(all, want) {
			t.Errorf("no %q in %q", want, all)
		}
	}
}
