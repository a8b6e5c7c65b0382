package ncclxml

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo"
)

func chosen(t testing.TB, d *Document, devs ...int) *Document {
	t.Helper()
	job, err := d.Select(devs)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// The order in which the search sees the GPUs is that of the fused tree.
func TestGPUOrderOfTheVectors(t *testing.T) {
	compared := 0
	for _, file := range vectorFiles(t) {
		var expect struct {
			Cases []struct {
				Nodes  int
				Search []struct{ GPURanks []int }
			}
		}
		text, err := os.ReadFile(strings.NewReplacer("machines", "expect", ".xml", ".json").Replace(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &expect); err != nil {
			t.Fatal(err)
		}
		got := ranksIn(chosen(t, decodeFile(t, file)).Root)
		for _, c := range expect.Cases {
			if c.Nodes == 1 {
				compared++
				if want := c.Search[0].GPURanks; !slices.Equal(got, want) {
					t.Errorf("%s: GPUs %v, want %v", file, got, want)
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d cases compared", compared)
	}
}

func ranksIn(e *Element) (ranks []int) {
	if text, ok := e.Get("rank"); ok && e.Name == "gpu" {
		rank, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		ranks = append(ranks, rank)
	}
	for _, c := range e.Children {
		ranks = append(ranks, ranksIn(c)...)
	}
	return ranks
}

func TestSelectionNumbersTheGivenDevices(t *testing.T) {
	job := chosen(t, decodeFile(t, filepath.Join("..", "..", "testdata", "vectors", "machines", "dgx1v.xml")), 5, 1, 2)
	sys, err := job.System()
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	for _, g := range gpusOf(sys) {
		got[g.Rank] = g.Dev
	}
	if want := map[int]int{0: 5, 1: 1, 2: 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("rank to device %v, want %v", got, want)
	}
	if len(sys.Assumed) > 0 {
		t.Errorf("links to GPUs that were left out are reported: %v", sys.Assumed)
	}
}

func gpusOf(sys *topo.System) (gpus []*topo.GPU) {
	var walk func([]topo.Device)
	walk = func(devices []topo.Device) {
		for _, d := range devices {
			if d.GPU != nil {
				gpus = append(gpus, d.GPU)
			}
			walk(d.Devices)
		}
	}
	for _, cpu := range sys.CPUs {
		walk(cpu.Devices)
	}
	return gpus
}

func gpuAt(bus, attrs string) string {
	return fmt.Sprintf(`<pci busid="0000:%s:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16"><gpu%s/></pci>`, bus, attrs)
}

func machine(devices ...string) string {
	return `<system version="1">
<cpu numaid="0" arch="arm64">` + strings.Join(devices, "\n") + "</cpu></system>"
}

func TestRankOrder(t *testing.T) {
	for _, test := range []struct {
		name string
		gpus []string
		devs []int
		want []int // devices by rank
	}{
		{"by rank where all have one", []string{` dev="0" rank="9"`, ` dev="1" rank="4"`, ` dev="2" rank="7"`}, nil, []int{1, 2, 0}},
		{"by device where one has none", []string{` dev="2" rank="0"`, ` dev="0" rank="1"`, ` dev="1"`}, nil, []int{0, 1, 2}},
		{"by file where nobody is numbered", []string{"", "", ""}, nil, []int{0, 1, 2}},
		{"as asked", []string{` dev="0" rank="1"`, ` dev="1" rank="0"`, ` dev="7" rank="2"`}, []int{7, 0}, []int{7, 0}},
		{"hexadecimal", []string{` dev="0x10"`, ` dev="010"`}, nil, []int{8, 16}},
	} {
		var devices []string
		for i, attrs := range test.gpus {
			devices = append(devices, gpuAt(strconv.Itoa(10+i), attrs+` sm="90" gdr="1"`))
		}
		sys, err := chosen(t, decode(t, machine(devices...)), test.devs...).System()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := make([]int, len(gpusOf(sys)))
		for _, g := range gpusOf(sys) {
			got[g.Rank] = g.Dev
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: devices by rank %v, want %v", test.name, got, test.want)
		}
	}
}

func TestUnknownDevices(t *testing.T) {
	d := decode(t, machine(gpuAt("10", ` dev="0"`), gpuAt("11", ` dev="1"`), gpuAt("12", ` dev="2"`), gpuAt("13", ` dev="5"`)))
	for _, test := range []struct {
		devs []int
		want DeviceError
		text string
	}{
		{[]int{0, 3}, DeviceError{File: "m.xml", Dev: 3, Have: []int{0, 1, 2, 5}}, "there is no GPU 3; the machine has 0-2, 5"},
		{[]int{-1}, DeviceError{File: "m.xml", Dev: -1, Have: []int{0, 1, 2, 5}}, "there is no GPU -1"},
		{[]int{1, 0, 1}, DeviceError{File: "m.xml", Dev: 1, Duplicate: true, Have: []int{0, 1, 2, 5}}, "GPU 1 is given twice"},
	} {
		_, err := d.Select(test.devs)
		var typed *DeviceError
		if !errors.As(err, &typed) || !reflect.DeepEqual(*typed, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: %v, want %q", test.devs, err, test.text)
		}
	}
}

func TestMachinesThatNoJobCanUse(t *testing.T) {
	bare := `<pci busid="0000:10:00.0" class="0x030200"/>`
	for _, test := range []struct{ name, text, want string }{
		{"no GPU", machine(), "there is no GPU in it"},
		{"GPUs to be found", machine(bare, bare), "no gpu element in it, only 2 PCI devices of class 0x03"},
		{"devices to be found", machine(`<pci busid="0000:10:00.0"><pci busid="0000:11:00.0"/></pci>`, `<pci busid="0000:12:00.0"/>`), "only 2 PCI devices: NCCL completes"},
		{"devices and more to be found", `<system version="1"><cpu>` + bare + `</cpu></system>`, "not in it; nor is numaid or arch of the cpu of line 1; use what"},
		{"device twice", machine(gpuAt("10", ` dev="1"`), gpuAt("11", ` dev="1"`)), "m.xml:3: gpu dev 1: dev 1 is also that of the gpu of line 2"},
		{"rank twice", machine(gpuAt("10", ` dev="0" rank="1"`), gpuAt("11", ` dev="1" rank="1"`)), "rank 1 is also that of the gpu of line 2"},
		{"one without number", machine(gpuAt("10", ` dev="0"`), gpuAt("11", ``)), "m.xml:3: gpu: dev is missing"},
		{"GPU in system", `<system version="1"><gpu dev="0"/></system>`, "<gpu> directly inside <system>, where NCCL skips it; put it inside <pci>"},
		{"GPU in cpu", machine(`<gpu dev="0"/>`), "<gpu> directly inside <cpu>"},
		{"cpu in GPU", machine(`<pci busid="0000:10:00.0"><gpu dev="0"><cpu/></gpu></pci>`), "<cpu> directly inside <gpu>"},
		{"net in pci", machine(`<pci busid="0000:10:00.0"><net dev="0"/></pci>`), "put it inside <nic>"},
		{"nvlink in pci", machine(`<pci busid="0000:10:00.0"><nvlink/></pci>`), "put it inside <gpu>"},
		{"two hosts", `<system version="1"><cpu host_hash="0x1" numaid="0"/>
<cpu host_hash="0x2" numaid="0"/></system>`, "m.xml:2: cpu numaid 0: a second host_hash"},
		{"not a topology", `<graphs version="1"/>`, "graph file"},
	} {
		d, err := Parse(strings.NewReader(test.text), "m.xml")
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Select(nil)
		var typed *Error
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestUnknownElementsAreLeftOutOfAJob(t *testing.T) {
	d := decode(t, machine(`<fan rpm="1"><gpu dev="7"/></fan>`, gpuAt("10", ` dev="0"`), `<fan/>`))
	if text := written(t, chosen(t, d)); strings.Contains(text, "fan") || !strings.Contains(text, `<gpu dev="0" rank="0"/>`) {
		t.Errorf("got\n%s", text)
	}
}

func TestSelectLeavesTheDocumentAlone(t *testing.T) {
	for _, file := range vectorFiles(t)[:40] {
		d := decodeFile(t, file)
		before := written(t, d)
		if _, err := d.Select(nil); err != nil {
			t.Fatal(err)
		}
		if written(t, d) != before {
			t.Errorf("%s changed", file)
		}
	}
}

// What a job of all GPUs in rank order sees does not change when it is selected
// again.
func TestSelectAgain(t *testing.T) {
	for _, file := range vectorFiles(t) {
		once := chosen(t, decodeFile(t, file))
		if diff := cmp.Diff(written(t, once), written(t, chosen(t, once))); diff != "" {
			t.Fatalf("%s:\n%s", file, diff)
		}
	}
}

func TestTwoElementsAlikeFuseIntoTheFirst(t *testing.T) {
	// Virtual cards have no attributes to tell them apart: the second rank
	// finds the second card's network missing in the first.
	d := decode(t, machine(`<nic><net dev="0"/></nic>`, `<nic><net dev="1"/></nic>`, gpuAt("10", ` dev="0"`), gpuAt("11", ` dev="1"`)))
	nics := chosen(t, d).Root.Children[0].Children[:2]
	if a, b := len(nics[0].Children), len(nics[1].Children); a != 2 || b != 1 {
		t.Errorf("%d and %d networks, want 2 and 1", a, b)
	}
	if nics = chosen(t, d, 0).Root.Children[0].Children[:2]; len(nics[0].Children) != 1 {
		t.Errorf("a single rank fuses nothing, but there are %d networks", len(nics[0].Children))
	}
}

func TestFormsOfTagsDoNotFuse(t *testing.T) {
	d := decode(t, machine(`<nic></nic>`, `<nic/>`, gpuAt("10", ` dev="0"`), gpuAt("11", ` dev="1"`)))
	if nics := chosen(t, d).Root.Children[0].Children; nics[0].SelfClosed || !nics[1].SelfClosed || nics[2].Name != "pci" {
		t.Errorf("got\n%s", written(t, chosen(t, d)))
	}
}

func TestKeptElementsStayWhole(t *testing.T) {
	d := decode(t, machine(gpuAt("10", ` dev="0"`), `<pci busid="0000:20:00.0" keep="1"><pci busid="0000:21:00.0"/></pci>`,
		`<pci busid="0000:22:00.0" keep="0"><pci busid="0000:23:00.0"/></pci>`))
	text := written(t, chosen(t, d))
	if !strings.Contains(text, `<pci busid="0000:20:00.0">`) || !strings.Contains(text, "0000:21") || strings.Contains(text, "0000:22") {
		t.Errorf("got\n%s", text)
	}
}

// literally does what the rules say, step by step: for each rank a whole copy
// with marks, trimmed, then fused.
func literally(d *Document, devs []int) *Element {
	var fused *Element
	for rank, dev := range devs {
		tree := copyTree(d.Root)
		markRank(tree, dev, rank)
		trim(tree, nil)
		if fused == nil {
			fused = tree
		} else {
			fuseLiterally(fused, tree)
		}
	}
	return fused
}

func copyTree(e *Element) *Element {
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	c.Children = nil
	for _, child := range e.Children {
		if slices.Contains(nesting[e.Name], child.Name) {
			c.Children = append(c.Children, copyTree(child))
		}
	}
	return &c
}

func markRank(e *Element, dev, rank int) {
	if v, _ := e.Get("dev"); e.Name == "net" || e.Name == "gpu" && v == strconv.Itoa(dev) {
		e.Set("keep", "1")
		if e.Name == "gpu" {
			e.Set("rank", strconv.Itoa(rank))
		}
	}
	for _, c := range e.Children {
		markRank(c, dev, rank)
	}
}

func trim(e, parent *Element) bool {
	if v, _ := e.Get("keep"); v == "1" {
		e.Attrs = slices.DeleteFunc(e.Attrs, func(a Attr) bool { return a.Key == "keep" })
		return true
	}
	kept := false
	for _, c := range slices.Clone(e.Children) {
		kept = trim(c, e) || kept
	}
	if !kept && (e.Name == "pci" || e.Name == "cpu") {
		parent.Children = slices.DeleteFunc(parent.Children, func(c *Element) bool { return c == e })
	}
	return kept
}

func fuseLiterally(dst, src *Element) {
	for _, s := range src.Children {
		i := slices.IndexFunc(dst.Children, func(c *Element) bool {
			if c.Name != s.Name || c.SelfClosed != s.SelfClosed || len(c.Attrs) != len(s.Attrs) {
				return false
			}
			for _, a := range s.Attrs {
				if v, ok := c.Get(a.Key); !ok || v != a.Value {
					return false
				}
			}
			return true
		})
		if i < 0 {
			dst.Children = append(dst.Children, copyTree(s))
		} else {
			fuseLiterally(dst.Children[i], s)
		}
	}
}

func TestSelectDoesWhatTheRulesSay(t *testing.T) {
	for _, file := range vectorFiles(t) {
		d := decodeFile(t, file)
		seats, err := d.seats(&Document{})
		if err != nil {
			t.Fatal(err)
		}
		job, err := d.assign(seats, nil)
		if err != nil {
			t.Fatal(err)
		}
		var devs []int
		for _, s := range job {
			devs = append(devs, s.dev)
		}
		slices.Reverse(devs)
		for n := 1; n <= len(devs); n *= 2 {
			want := written(t, &Document{Root: literally(d, devs[:n])})
			if got := written(t, chosen(t, d, devs[:n]...)); got != want {
				t.Fatalf("%s, GPUs %v:\n%s", file, devs[:n], cmp.Diff(want, got))
			}
		}
	}
}

// drawTree makes a tree with few different elements, so that many are alike.
func drawTree(t *rapid.T, name string, depth int, gpus *int) *Element {
	e := &Element{Name: name, SelfClosed: rapid.Bool().Draw(t, "form")}
	for _, key := range []string{"busid", "keep", "x"} {
		if v := rapid.SampledFrom([]string{"", "", "", "1", "2"}).Draw(t, key); v != "" {
			e.Attrs = append(e.Attrs, Attr{key, v})
		}
	}
	if name == "gpu" {
		e.Set("dev", strconv.Itoa(*gpus))
		*gpus++
	}
	names := nesting[name]
	if len(names) == 0 || depth == 0 {
		return e
	}
	for range rapid.IntRange(0, 4).Draw(t, "children") {
		e.Children = append(e.Children, drawTree(t, rapid.SampledFrom(names).Draw(t, "name"), depth-1, gpus))
	}
	return e
}

func TestSelectDoesWhatTheRulesSayOnAnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpus := 0
		root := drawTree(t, "system", 5, &gpus)
		root.Set("version", "1")
		if gpus == 0 {
			t.Skip("no GPU")
		}
		devs := rapid.Permutation(count0(gpus)).Draw(t, "devs")
		devs = devs[:rapid.IntRange(1, gpus).Draw(t, "n")]
		d := &Document{Name: "drawn", Root: root}
		job, err := d.Select(devs)
		if err != nil {
			t.Fatal(err)
		}
		want, got := render(literally(d, devs)), render(job.Root)
		if want != got {
			t.Fatalf("GPUs %v of\n%s\n%s", devs, render(root), cmp.Diff(want, got))
		}
	})
}

func count0(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

// render shows the form of tags, too.
func render(e *Element) string {
	text := fmt.Sprint(e.Name, e.SelfClosed, e.Attrs, "(")
	for _, c := range e.Children {
		text += render(c) + "\n"
	}
	return text + ")"
}

func BenchmarkSelect(b *testing.B) {
	for _, name := range []string{"v100x4_nv2", "dgx2", "aws_p5"} {
		d := decodeFile(b, filepath.Join("..", "..", "testdata", "vectors", "machines", name+".xml"))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.Select(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"v100x4_nv2", "dgx2", "aws_p5"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "machines", name+".xml"))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Decode(strings.NewReader(string(text)), name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
