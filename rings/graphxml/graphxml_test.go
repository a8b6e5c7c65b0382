package graphxml

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/machines"
)

var update = flag.Bool("update", false, "write the golden files")

// node gives a built-in machine as a node of a communicator of nodes such.
func node(t testing.TB, name string, nodes int, devs ...int) *graph.Graph {
	t.Helper()
	doc, err := machines.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = doc.Select(devs); err != nil {
		t.Fatal(err)
	}
	sys, err := doc.System()
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Build(sys, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := g.Split(nodes * len(g.NodesOf(graph.GPU)))
	if err != nil {
		t.Fatal(err)
	}
	return parts[0]
}

func search(t testing.TB, g *graph.Graph, preset rings.Preset) *rings.Result {
	t.Helper()
	opt := rings.DefaultOptions()
	opt.Preset = preset
	r, err := rings.Search(g, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t testing.TB, g *graph.Graph, r *rings.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, g, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func preset(text string, g *graph.Graph, cross rings.CrossNIC) (rings.Preset, []string, error) {
	f, err := Parse(strings.NewReader(text), "g.xml")
	if err != nil {
		return rings.Preset{}, nil, err
	}
	p, assumed, err := f.Preset(g, cross)
	var notes []string
	for _, a := range assumed {
		notes = append(notes, a.Where+": "+a.What)
	}
	return p, notes, err
}

func TestGolden(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes int
	}{{"v100x4", 1}, {"power9x4", 2}, {"dgx-h100", 2}} {
		g := node(t, test.name, test.nodes)
		got := encode(t, g, search(t, g, rings.Preset{}))
		file := filepath.Join("testdata", fmt.Sprintf("%s.n%d.xml", test.name, test.nodes))
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// A file makes the searches return what it was written from.
func TestRoundTrip(t *testing.T) {
	for _, name := range machines.Names() {
		for _, nodes := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s.n%d", name, nodes), func(t *testing.T) {
				g := node(t, name, nodes)
				want := search(t, g, rings.Preset{})
				text := encode(t, g, want)
				p, notes, err := preset(text, g, rings.CrossAuto)
				if err != nil || len(notes) > 0 {
					t.Fatalf("reading back: %v, notes %q", err, notes)
				}
				compare(t, "ring", want.Ring, *p.Ring)
				compare(t, "tree", want.Tree, *p.Tree)
				if want.NVLS != nil {
					compare(t, "NVLS", *want.NVLS, *p.NVLS)
				}
				if again := encode(t, g, search(t, g, p)); again != text {
					t.Errorf("searching with the file gives something else:\n%s", cmp.Diff(text, again))
				}
			})
		}
	}
}

// compare leaves out what a file does not hold: hops, and digits past the sixth.
func compare(t *testing.T, what string, want, got rings.Set) {
	t.Helper()
	want.NHops = 0
	for _, f := range []*float32{&want.BWIntra, &want.BWInter, &want.LatencyInter} {
		if _, err := fmt.Sscan(decimal(*f), f); err != nil {
			t.Fatal(err)
		}
	}
	if len(want.Inter) == 0 {
		want.Inter = got.Inter
		if len(got.Inter) > 0 {
			t.Errorf("%s: networks out of nowhere: %v", what, got.Inter)
		}
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

// GPUs are named by device, not by rank: a file for other GPUs in the same
// order of ranks does not fit.
func TestDevicesAreNotRanks(t *testing.T) {
	g := node(t, "v100x4", 1, 3, 1)
	text := encode(t, g, search(t, g, rings.Preset{}))
	for _, dev := range []string{`<gpu dev="0x3"/>`, `<gpu dev="0x1"/>`} {
		if !strings.Contains(text, dev) {
			t.Errorf("no %s in\n%s", dev, text)
		}
	}
	p, _, err := preset(text, g, rings.CrossAuto)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1}; !reflect.DeepEqual(p.Ring.Intra[0], want) {
		t.Errorf("channel 0 is %v, want ranks %v", p.Ring.Intra[0], want)
	}
	if _, _, err := preset(text, node(t, "v100x4", 1, 0, 2), rings.CrossAuto); err == nil {
		t.Error("a file for GPUs 3 and 1 was taken for GPUs 0 and 2")
	}
}

func TestEncodeRefuses(t *testing.T) {
	g := node(t, "v100x4", 1)
	for want, set := range map[string]rings.Set{
		"paths of type NET": {TypeIntra: graph.PathNET},
		"paths of type DIS": {TypeInter: graph.DIS},
		"rank 7":            {NChannels: 1, Intra: [][]int{{0, 1, 2, 7}}},
		"only 1 of 2":       {NChannels: 2, Intra: [][]int{{0, 1, 2, 3}}},
	} {
		err := Encode(&bytes.Buffer{}, g, &rings.Result{Ring: set})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", set, err, want)
		}
	}
}

func TestDecimalIsPrintfG(t *testing.T) {
	for f, want := range map[float32]string{
		0: "0", 24: "24", 2.4: "2.4", 0.12: "0.12", 17.5: "17.5", 123.600006: "123.6", 1e5: "100000", 1e6: "1e+06",
		1e-5: "1e-05", 0.0001: "0.0001", 1.0 / 3: "0.333333", 9999999: "1e+07", 5000: "5000",
	} {
		if got := decimal(f); got != want {
			t.Errorf("decimal(%v) = %s, want %s", f, got, want)
		}
	}
}
