package machines

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// facts are what the makers publish about a machine.
type facts struct {
	gpus, sm int
	nvlinks  int // of each GPU, without those to its CPU
	switched bool
	nets     int
	mbps     int
	numa     []int
}

var published = map[string]facts{
	"v100x4":   {gpus: 4, sm: 70, nvlinks: 6, numa: []int{0, 1}},
	"dgx-1v":   {gpus: 8, sm: 70, nvlinks: 6, nets: 4, mbps: 100000, numa: []int{0, 1}},
	"dgx-2":    {gpus: 16, sm: 70, nvlinks: 6, switched: true, nets: 8, mbps: 100000, numa: []int{0, 1}},
	"dgx-a100": {gpus: 8, sm: 80, nvlinks: 12, switched: true, nets: 8, mbps: 200000, numa: []int{3, 1, 7, 5}},
	"dgx-h100": {gpus: 8, sm: 90, nvlinks: 18, switched: true, nets: 8, mbps: 400000, numa: []int{0, 1}},
	"dgx-h200": {gpus: 8, sm: 90, nvlinks: 18, switched: true, nets: 8, mbps: 400000, numa: []int{0, 1}},
	"a100x4":   {gpus: 4, sm: 80, nvlinks: 12, numa: []int{0}},
	"h100x4":   {gpus: 4, sm: 90, nvlinks: 18, numa: []int{0, 1}},
	"h200x2":   {gpus: 2, sm: 90, nvlinks: 18, switched: true, nets: 1, mbps: 10000, numa: []int{-1}},
	"p4d":      {gpus: 8, sm: 80, nvlinks: 12, switched: true, nets: 4, mbps: 100000, numa: []int{0, 1}},
	"p5":       {gpus: 8, sm: 90, nvlinks: 18, switched: true, nets: 32, mbps: 100000, numa: []int{0, 1}},
	"ndv4":     {gpus: 8, sm: 80, nvlinks: 12, switched: true, nets: 8, mbps: 200000, numa: []int{0, 1, 2, 3}},
	"ndv5":     {gpus: 8, sm: 90, nvlinks: 18, switched: true, nets: 8, mbps: 400000, numa: []int{0, 1}},
	"gh200x4":  {gpus: 4, sm: 90, nvlinks: 18, nets: 4, mbps: 200000, numa: []int{0, 1, 2, 3}},
	"power9x4": {gpus: 4, sm: 70, nvlinks: 3, nets: 2, mbps: 100000, numa: []int{0, 8}},
	"pcie8":    {gpus: 8, sm: 89, nets: 4, mbps: 200000, numa: []int{0, 1}},
}

func TestMachinesAreAsPublished(t *testing.T) {
	for _, m := range List() {
		t.Run(m.Name, func(t *testing.T) {
			want, ok := published[m.Name]
			if !ok {
				t.Fatal("the test knows no facts about it")
			}
			sys := load(t, m.Name)
			for _, a := range sys.Assumed {
				t.Errorf("a built-in machine leaves something open: %s: %s", a.Where, a.What)
			}
			var numa []int
			for _, cpu := range sys.CPUs {
				numa = append(numa, cpu.NUMA)
			}
			if !slices.Equal(numa, want.numa) {
				t.Errorf("NUMA domains %v, want %v", numa, want.numa)
			}
			gpus, nets := parts(sys)
			if len(gpus) != want.gpus || len(nets) != want.nets {
				t.Fatalf("%d GPUs and %d networks, want %d and %d", len(gpus), len(nets), want.gpus, want.nets)
			}
			for _, g := range gpus {
				checkGPU(t, g, want)
			}
			for _, n := range nets {
				if n.Mbps != want.mbps {
					t.Errorf("network %s has %d Mb/s, want %d", n.Name, n.Mbps, want.mbps)
				}
			}
		})
	}
}

func checkGPU(t *testing.T, g *topo.GPU, want facts) {
	t.Helper()
	if g.Rank != g.Dev || g.SM != want.sm || !g.GDR {
		t.Errorf("GPU %d: rank %d, sm %d, GPUDirect %v", g.Dev, g.Rank, g.SM, g.GDR)
	}
	links := 0
	for _, l := range g.NVLinks {
		if l.Class == topo.ClassCPU {
			continue
		}
		links += l.Count
		if (l.Class == topo.ClassNVSwitch) != want.switched {
			t.Errorf("GPU %d: link of class %v, switched %v", g.Dev, l.Class, want.switched)
		}
	}
	if links != want.nvlinks {
		t.Errorf("GPU %d has %d NVLinks, want %d", g.Dev, links, want.nvlinks)
	}
}

func load(t *testing.T, name string) *topo.System {
	t.Helper()
	doc, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	job, err := doc.Select(nil)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := job.System()
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func parts(sys *topo.System) (gpus []*topo.GPU, nets []topo.Net) {
	var walk func([]topo.Device)
	walk = func(devices []topo.Device) {
		for _, d := range devices {
			if d.GPU != nil {
				gpus = append(gpus, d.GPU)
			}
			if d.NIC != nil {
				nets = append(nets, d.NIC.Nets...)
			}
			walk(d.Devices)
		}
	}
	for _, cpu := range sys.CPUs {
		walk(cpu.Devices)
	}
	return gpus, nets
}

// The DGX-1V's cube mesh: GPU i reaches its cube's GPUs and its double in the
// other cube.
func TestCubeMesh(t *testing.T) {
	gpus, _ := parts(load(t, "dgx-1v"))
	for _, g := range gpus {
		if len(g.NVLinks) != 4 {
			t.Errorf("GPU %d has %d neighbours, want 4", g.Dev, len(g.NVLinks))
		}
	}
}

func TestFilesAreInTheFormatThatNCCLWrites(t *testing.T) {
	for _, name := range Names() {
		text, err := files.ReadFile("xml/" + name + ".xml")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := ncclxml.Encode(&out, doc); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), text) {
			t.Errorf("%s: written back it differs from its file", name)
		}
	}
}

func TestListAndFilesAgree(t *testing.T) {
	found, err := fs.Glob(files, "xml/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range found {
		have = append(have, strings.TrimSuffix(path.Base(f), ".xml"))
	}
	want := Names()
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("files %v, names %v", have, want)
	}
	for _, m := range List() {
		if m.Summary == "" || strings.Contains(m.Summary, "\n") {
			t.Errorf("%s: summary %q is not one line", m.Name, m.Summary)
		}
	}
}

func TestListIsACopy(t *testing.T) {
	List()[0].Name = "changed"
	if Names()[0] == "changed" {
		t.Error("a caller can change the list")
	}
}

func TestUnknownName(t *testing.T) {
	for name, near := range map[string]string{
		"dgx1v": "dgx-1v", "DGX_A100": "dgx-a100", "v100x8": "v100x4", "dgxh100": "dgx-h100", "dgx-h20": "dgx-h200",
		"gh200": "gh200x4", "p4": "p4d", "cray-1": "", "": "", "machine.xml": "", strings.Repeat("x", 300): "",
	} {
		_, err := Open(name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Fatalf("Open(%q): %v, want an UnknownError", name, err)
		}
		if unknown.Near != near {
			t.Errorf("Open(%q): near %q, want %q", name, unknown.Near, near)
		}
		if near != "" && !strings.Contains(err.Error(), "did you mean "+near) || !strings.Contains(err.Error(), "power9x4") {
			t.Errorf("Open(%q): %v: no help in it", name, err)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
