package probe_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// roundTrip makes a machine of a topology, records it, and probes the recording.
func roundTrip(t testing.TB, doc *ncclxml.Document, dir string) *ncclxml.Document {
	t.Helper()
	p, ranks, err := probe.Stage(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := probe.Save(dir, p, ranks); err != nil {
		t.Fatal(err)
	}
	r, err := probe.Replay(dir, probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Document
}

// inOrder sorts the children of every element, and says what NCCL says of a
// latency. NCCL's order depends on who finds a device first, so that a machine
// that was described by hand can have another.
func inOrder(e *ncclxml.Element) *ncclxml.Element {
	c := *e
	c.Line, c.SelfClosed, c.Comments, c.Tail, c.Children = 0, false, nil, nil, nil
	for _, child := range e.Children {
		c.Children = append(c.Children, inOrder(child))
	}
	slices.SortStableFunc(c.Children, func(a, b *ncclxml.Element) int { return cmp.Compare(key(a), key(b)) })
	return &c
}

func key(e *ncclxml.Element) string { return fmt.Sprint(e.Name, e.Attrs) }

func TestBuiltInMachinesComeBack(t *testing.T) {
	for _, name := range machines.Names() {
		t.Run(name, func(t *testing.T) {
			file, err := machines.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := file.Select(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := roundTrip(t, want, t.TempDir()+"/first")
			diff := gocmp.Diff(encode(t, &ncclxml.Document{Root: inOrder(want.Root)}), encode(t, &ncclxml.Document{Root: inOrder(got.Root)}))
			if diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again := roundTrip(t, got, t.TempDir()+"/second")
			if diff := gocmp.Diff(encode(t, got), encode(t, again)); diff != "" {
				t.Errorf("what a probe has found is not found again, -want +got:\n%s", diff)
			}
		})
	}
}

// TestAnyMachineComesBack does the same with machines nobody has built. What is
// found must be all of the machine, and be found again byte for byte.
func TestAnyMachineComesBack(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		doc := drawMachine(rt)
		got := roundTrip(t, doc, fmt.Sprintf("%s/%d", dir, n))
		want := encode(t, &ncclxml.Document{Root: inOrder(doc.Root)})
		if diff := gocmp.Diff(want, encode(t, &ncclxml.Document{Root: inOrder(got.Root)})); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
		again := roundTrip(t, got, fmt.Sprintf("%s/%d-again", dir, n))
		if diff := gocmp.Diff(encode(t, got), encode(t, again)); diff != "" {
			rt.Fatalf("second time, -want +got:\n%s", diff)
		}
	})
}

func element(name string, pairs ...string) *ncclxml.Element {
	e := &ncclxml.Element{Name: name}
	for i := 0; i < len(pairs); i += 2 {
		e.Set(pairs[i], pairs[i+1])
	}
	return e
}

// drawn is a machine in the making.
type drawn struct {
	t          *rapid.T
	buses      int
	gpus, nets []*ncclxml.Element
	gpuPCI     []*ncclxml.Element
}

func drawMachine(t *rapid.T) *ncclxml.Document {
	d := &drawn{t: t}
	root := element("system", "version", "1")
	for numa := range rapid.IntRange(1, 3).Draw(t, "sockets") {
		cpu := element("cpu", "host_hash", "0x1234abcd", "numaid", fmt.Sprint(numa),
			"affinity", fmt.Sprintf("%08x,ffffffff", numa), "arch", "x86_64", "vendor", "AuthenticAMD", "familyid", "175", "modelid", "1")
		for range rapid.IntRange(1, 3).Draw(t, "devices") {
			cpu.Children = append(cpu.Children, d.device(2))
		}
		root.Children = append(root.Children, cpu)
	}
	if len(d.gpus) == 0 {
		cpu := root.Children[0]
		cpu.Children = append(cpu.Children, d.gpu(d.pci("0x030200", "0x10de")))
	}
	d.number()
	d.link()
	prune(root)
	return &ncclxml.Document{Name: "drawn", Root: root}
}

func (d *drawn) pci(class, vendor string) *ncclxml.Element {
	d.buses++
	speed := rapid.SampledFrom([]string{"8 GT/s", "16.0 GT/s PCIe", "32.0 GT/s PCIe"}).Draw(d.t, "speed")
	width := rapid.SampledFrom([]string{"0", "1", "8", "16"}).Draw(d.t, "width")
	return element("pci", "busid", fmt.Sprintf("%04x:%02x:00.0", d.buses>>8, d.buses&0xff), "class", class, "vendor", vendor,
		"device", "0x1234", "subsystem_vendor", vendor, "subsystem_device", "0x5678", "link_speed", speed, "link_width", width)
}

func (d *drawn) device(depth int) *ncclxml.Element {
	switch kind := rapid.IntRange(0, 3).Draw(d.t, "kind"); {
	case kind == 0 && depth > 0:
		sw := d.pci("0x060400", "0x10b5")
		for range rapid.IntRange(1, 3).Draw(d.t, "below") {
			sw.Children = append(sw.Children, d.device(depth-1))
		}
		return sw
	case kind == 1:
		return d.nic(d.pci("0x020000", "0x15b3"))
	}
	return d.gpu(d.pci("0x030200", "0x10de"))
}

func (d *drawn) gpu(pci *ncclxml.Element) *ncclxml.Element {
	gpu := element("gpu")
	pci.Children = []*ncclxml.Element{gpu}
	d.gpus, d.gpuPCI = append(d.gpus, gpu), append(d.gpuPCI, pci)
	return pci
}

func (d *drawn) nic(pci *ncclxml.Element) *ncclxml.Element {
	nic := element("nic")
	for range rapid.IntRange(1, 2).Draw(d.t, "ports") {
		net := element("net")
		nic.Children, d.nets = append(nic.Children, net), append(d.nets, net)
	}
	pci.Children = []*ncclxml.Element{nic}
	return pci
}

// number gives devices and ranks their numbers, ranks in any order.
func (d *drawn) number() {
	sm := rapid.SampledFrom([]string{"60", "70", "80", "90"}).Draw(d.t, "sm")
	ranks := rapid.Permutation(slices.Collect(count(len(d.gpus)))).Draw(d.t, "ranks")
	for i, g := range d.gpus {
		gdr := rapid.SampledFrom([]string{"0", "1"}).Draw(d.t, "gdr")
		for _, a := range [][2]string{{"dev", fmt.Sprint(i)}, {"sm", sm}, {"rank", fmt.Sprint(ranks[i])}, {"gdr", gdr}} {
			g.Set(a[0], a[1])
		}
	}
	for i, n := range d.nets {
		gdr := rapid.SampledFrom([]string{"0", "1"}).Draw(d.t, "net gdr")
		for _, a := range [][2]string{{"name", fmt.Sprintf("net%d", i)}, {"dev", fmt.Sprint(i)}, {"speed", "100000"}, {"port", "1"},
			{"latency", "0.500000"}, {"guid", fmt.Sprintf("0x%x", i+1)}, {"maxconn", "16"}, {"gdr", gdr}} {
			n.Set(a[0], a[1])
		}
	}
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// link joins GPUs with as many NVLinks as there can be.
func (d *drawn) link() {
	sm, _ := d.gpus[0].Get("sm")
	room := map[string]int{"60": 4, "70": 6, "80": 12, "90": 18}[sm]
	kind := rapid.IntRange(0, 2).Draw(d.t, "links")
	for i, g := range d.gpus {
		switch {
		case kind == 1:
			g.Children = append(g.Children, element("nvlink", "target", "fffffff:ff:ff.0", "count", fmt.Sprint(room), "tclass", "0x068000"))
		case kind == 2 && len(d.gpus) > 1:
			other, _ := d.gpuPCI[(i+1)%len(d.gpus)].Get("busid")
			n := rapid.IntRange(1, room).Draw(d.t, "count")
			g.Children = append(g.Children, element("nvlink", "target", other, "count", fmt.Sprint(n), "tclass", "0x030200"))
		}
		if sm == "90" && rapid.Bool().Draw(d.t, "c2c") {
			g.Children = append(g.Children, element("c2c", "bw", "44712", "count", "10"))
		}
	}
}

// prune removes what no probe finds: sockets without a GPU or NIC.
func prune(root *ncclxml.Element) {
	root.Children = slices.DeleteFunc(root.Children, func(c *ncclxml.Element) bool {
		var b strings.Builder
		if err := ncclxml.Encode(&b, &ncclxml.Document{Root: c}); err != nil {
			panic(err)
		}
		return !strings.Contains(b.String(), "<gpu") && !strings.Contains(b.String(), "<net")
	})
}
