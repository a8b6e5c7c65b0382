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
		job := chosen(t, d)
		job.Root.Children[0].Set("numaid", "changed")
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
