package ncclxml

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo"
)

func system(t testing.TB, text string) *topo.System {
	t.Helper()
	sys, err := decode(t, text).System()
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

const everything = `<system version="1">
  <cpu host_hash="9a3f1c5e7b2d4608" numaid="-1" affinity="ffff,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="0x55">
    <nic>
      <net name="eth0" dev="2" speed="25000"/>
    </nic>
    <pci busid="10000:AB:1f.7" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:12:00.0" class="0x030000" link_speed="2.5 GT/s" link_width="1">
        <gpu dev="3" sm="70" rank="0" gdr="0">
          <nvlink target="0000:13:00.0" count="2" tclass="0x030200"/>
          <c2c bw="44712" count="10"/>
          <nvlink target="fffffff:ff:ff.0" count="4" tclass="0x068000"/>
          <nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>
        </gpu>
      </pci>
      <pcilink target="10000:ac:1f.7"/>
      <pci busid="0000:13:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="4" sm="70" rank="1" gdr="1">
          <nvlink target="00000000:12:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:14:00.1" class="0x020700" link_speed="8.0 GT/s PCIe" link_width="8">
        <nic>
          <net name="mlx5_0" dev="0" speed="100000" port="2" latency="1.5" guid="0x3c5a00030e42ec0" maxconn="131072" gdr="1" coll="1"/>
          <net name="mlx5_1" dev="1" speed="200000" port="1" latency="75.000000" guid="00" maxconn="7" gdr="0"/>
        </nic>
      </pci>
    </pci>
    <pci busid="10000:ac:1f.7" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="4">
      <pcilink target="10000:ab:1f.7"/>
      <pci busid="0000:15:00.0" class="0x068000"/>
    </pci>
  </cpu>
  <cpu host_hash="0x9a3f1c5e7b2d4608" numaid="8" arch="ppc64"/>
</system>`

func TestEveryPartIsRead(t *testing.T) {
	const host = 0x9a3f1c5e7b2d4608
	want := &topo.System{CPUs: []topo.CPU{
		{
			Host: host, NUMA: -1, Affinity: "ffff,0000ffff",
			Arch: topo.ArchX86, Vendor: topo.VendorIntel, Model: topo.ModelIntelSkylake,
			Devices: []topo.Device{
				{Class: topo.ClassNIC, Virtual: true, NIC: &topo.NIC{Nets: []topo.Net{
					{Name: "eth0", Dev: 2, Mbps: 25000, Asic: 2, MaxConn: 32},
				}}},
				{
					BusID: 0x10000ab1f7, Class: topo.ClassSwitch, SwitchID: 0x1000c0101000a096, Speed: 120, Width: 16,
					Peers: []topo.BusID{0x10000ac1f7},
					Devices: []topo.Device{
						{BusID: 0x12000, Class: topo.ClassGPU, Speed: 15, Width: 1, GPU: &topo.GPU{
							Rank: 0, Dev: 3, SM: 70,
							NVLinks: []topo.NVLink{
								{Target: 0x13000, Class: topo.ClassGPU, Count: 2},
								{Target: 0xfffffffffff0, Class: topo.ClassNVSwitch, Count: 4},
								{Target: 0x400000, Class: topo.ClassCPU, Count: 3},
							},
							C2Cs: []topo.C2C{{Count: 10, MBps: 44712}},
						}},
						{BusID: 0x13000, Class: topo.ClassGPU, Speed: 60, Width: 16, GPU: &topo.GPU{
							Rank: 1, Dev: 4, SM: 70, GDR: true,
							NVLinks: []topo.NVLink{{Target: 0x12000, Class: topo.ClassGPU, Count: 2}},
						}},
						{BusID: 0x14001, Class: topo.ClassNIC, Speed: 60, Width: 8, NIC: &topo.NIC{Nets: []topo.Net{
							{Name: "mlx5_0", Dev: 0, Mbps: 100000, Port: 2, Asic: 0x3c5a00030e42ec0, Latency: 1.5, GDR: true, Coll: true, MaxConn: 131072},
							{Name: "mlx5_1", Dev: 1, Mbps: 200000, Port: 1, Asic: 0, Latency: 75, MaxConn: 7},
						}}},
					},
				},
				{BusID: 0x10000ac1f7, Class: topo.ClassSwitch, Speed: 240, Width: 4, Peers: []topo.BusID{0x10000ab1f7}},
			},
		},
		{Host: host, NUMA: 8, Arch: topo.ArchPOWER, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined},
	}, Assumed: []topo.Assumption{{Where: "line 4, net dev 2", What: "gdr missing: no GPUDirect RDMA"}}}
	if diff := cmp.Diff(want, system(t, everything)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// gpuIn is a machine of two GPUs and a network, from which a test takes or to
// which it adds.
const small = `<system version="1">
<cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
<pci busid="0000:10:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="70" rank="0" gdr="1">
<nvlink target="0000:11:00.0" count="2" tclass="0x030200"/>
</gpu></pci>
<pci busid="0000:11:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
<gpu dev="1" sm="70" rank="1" gdr="1">
<nvlink target="0000:10:00.0" count="2" tclass="0x030200"/>
</gpu></pci>
<pci busid="0000:12:00.0" class="0x020000" link_speed="8.0 GT/s PCIe" link_width="16">
<nic>
<net dev="0" speed="100000" gdr="1"/>
</nic></pci>
</cpu>
</system>`

func changed(t testing.TB, old, new string) string {
	t.Helper()
	text := strings.Replace(small, old, new, 1)
	if text == small {
		t.Fatalf("%s is not in the machine", old)
	}
	return text
}

func TestWhatIsMissingIsAssumedAndReported(t *testing.T) {
	if sys := system(t, small); len(sys.Assumed) > 0 {
		t.Fatalf("the whole machine: %v", sys.Assumed)
	}
	for _, test := range []struct{ old, new, where, what string }{
		{` version="1"`, ``, "line 1, system", "version missing: taken for 1"},
		{` numaid="0"`, ``, "line 2, cpu", "numaid missing: counted as 0 by its place"},
		{` numaid="0"`, ` numaid=""`, "line 2, cpu", `numaid "": read as 0`},
		{` arch="x86_64"`, ``, "line 2, cpu numaid 0", `arch missing: taken for "x86_64"`},
		{` arch="x86_64"`, ` arch="aarch64"`, "line 2, cpu numaid 0", `arch "aarch64" is none that NCCL knows`},
		{` vendor="GenuineIntel"`, ``, "line 2, cpu numaid 0", `vendor missing: taken for "GenuineIntel"`},
		{`GenuineIntel`, `HygonGenuine`, "line 2, cpu numaid 0", `vendor "HygonGenuine" is none that NCCL knows`},
		{` familyid="6"`, ``, "line 2, cpu numaid 0", `familyid missing: taken for "6"`},
		{` modelid="85"`, ``, "line 2, cpu numaid 0", `modelid missing: taken for "85"`},
		{` link_speed="8.0 GT/s PCIe"`, ``, "line 3, pci 0000:10:00.0", "link_speed missing: taken for 8 GT/s"},
		{`8.0 GT/s PCIe`, ``, "line 3, pci 0000:10:00.0", `link_speed "": taken for 8 GT/s`},
		{`8.0 GT/s PCIe`, `16.0 GT/s`, "line 3, pci 0000:10:00.0", `link_speed "16.0 GT/s": taken for 8 GT/s`},
		{`8.0 GT/s PCIe`, `Unknown`, "line 3, pci 0000:10:00.0", `link_speed "Unknown"`},
		{` link_width="16"`, ``, "line 3, pci 0000:10:00.0", "link_width missing: taken for 16 lanes"},
		{`link_width="16"`, `link_width="0"`, "line 3, pci 0000:10:00.0", `link_width "0": taken for 16 lanes`},
		{`link_width="16"`, `link_width=""`, "line 3, pci 0000:10:00.0", `link_width "": taken for 16 lanes`},
		{` rank="0" gdr="1"`, ` rank="0"`, "line 4, gpu dev 0", "gdr missing: GPUDirect RDMA taken to work"},
		{`dev="0" sm`, `dev="0 " sm`, "line 4, gpu dev 0 ", `dev "0 ": read as 0, as NCCL does`},
		{` tclass="0x030200"`, ``, "line 5, nvlink 0000:11:00.0", "tclass missing: the target is a GPU"},
		{`100000" gdr="1"`, `100000"`, "line 13, net dev 0", "gdr missing: no GPUDirect RDMA"},
		{` speed="100000"`, ``, "line 13, net dev 0", "speed missing: taken for 10,000 Mb/s"},
		{`100000`, `-1`, "line 13, net dev 0", `speed "-1": taken for 10,000 Mb/s`},
		{`100000`, `fast`, "line 13, net dev 0", `speed "fast": read as 0`},
		{`<net dev="0"`, `<net`, "line 13, net", "dev missing: left out"},
		{`</nic>`, `</nic><nic/>`, "line 14, nic", "not the first nic"},
		{`</cpu>`, `<pci busid="0000:20:00.0" link_speed="8.0 GT/s PCIe" link_width="1"/></cpu>`, "line 15, pci 0000:20:00.0", "class missing: taken for a switch"},
	} {
		sys := system(t, changed(t, test.old, test.new))
		found := false
		for _, a := range sys.Assumed {
			found = found || a.Where == test.where && strings.Contains(a.What, test.what)
		}
		if !found {
			t.Errorf("%s to %s: got %q, want %s: %s", test.old, test.new, sys.Assumed, test.where, test.what)
		}
	}
}

func TestOneCPUHelpsTheOther(t *testing.T) {
	sys := system(t, changed(t, "</system>", `<cpu numaid="1"/></system>`))
	if got, want := sys.CPUs[1], sys.CPUs[0]; got.Arch != want.Arch || got.Vendor != want.Vendor || got.Model != want.Model {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(sys.Assumed) != 4 || !strings.Contains(sys.Assumed[0].What, `arch missing: "x86_64" as on cpu numaid 0`) {
		t.Errorf("assumed %q", sys.Assumed)
	}
}

func TestMachinesThatMakeNoSense(t *testing.T) {
	const second = `<nvlink target="0000:10:00.0" count="2" tclass="0x030200"/>`
	for _, test := range []struct{ name, text, want string }{
		{"no rank", strings.NewReplacer(` rank="0"`, ``, ` rank="1"`, ``).Replace(small), "no GPU in it has a rank"},
		{"no sm", changed(t, ` sm="70"`, ``), "m.xml:4: gpu dev 0: sm is missing; give the compute capability"},
		{"sm 0", changed(t, `sm="70"`, `sm="x"`), "sm is 0"},
		{"no dev", changed(t, ` dev="1"`, ``), "m.xml:8: gpu: dev is missing"},
		{"no busid", changed(t, ` busid="0000:11:00.0"`, ``), "m.xml:7: pci: busid is missing; an address looks like 0000:3b:00.0"},
		{"busid of no address", changed(t, `busid="0000:11:00.0"`, `busid="1"`), `pci 1: busid "1" is no PCI address`},
		{"busid of words", changed(t, `busid="0000:11:00.0"`, `busid="slot:1"`), `busid "slot:1" is no PCI address`},
		{"busid too long", changed(t, `busid="0000:11:00.0"`, `busid="00000000000000000:11:00.0"`), "is no PCI address"},
		{"two on one bus", changed(t, `busid="0000:11:00.0"`, `busid="00000000:10:00.0"`), "m.xml:8: gpu dev 1: a second GPU on 0000:10:00.0; the first is the gpu of line 4"},
		{"two in one pci", changed(t, `</gpu></pci>`, `</gpu><gpu dev="2" sm="70" rank="2"/></pci>`), "a second GPU on 0000:10:00.0"},
		{"hidden behind another", changed(t, `<gpu dev="0"`, `<gpu dev="9"/><gpu dev="0"`), "not the first gpu in its pci"},
		{"rank twice", changed(t, `rank="1"`, `rank="0"`), "m.xml:8: gpu dev 1: rank 0 is also that of the gpu of line 4"},
		{"negative width", changed(t, `link_width="16"`, `link_width="-16"`), "m.xml:3: pci 0000:10:00.0: link_width -16"},
		{"huge width", changed(t, `link_width="16"`, `link_width="1600"`), "link_width 1600; PCI links have 1 to 32 lanes"},
		{"no count", changed(t, ` count="2"`, ``), "m.xml:5: nvlink 0000:11:00.0: count is missing"},
		{"count 0", changed(t, `count="2"`, `count="0"`), "count is 0"},
		{"no target", changed(t, ` target="0000:11:00.0"`, ``), "target is missing"},
		{"no target or class", changed(t, ` target="0000:11:00.0" count="2" tclass="0x030200"`, ` count="2"`), "target is missing"},
		{"target is an index", changed(t, `target="0000:11:00.0"`, `target="1"`), `nvlink 1: target "1" is no PCI address`},
		{"link to itself", changed(t, `target="0000:11:00.0"`, `target="0000:10:00.0"`), "m.xml:5: nvlink 0000:10:00.0: NVLinks that lead from a GPU to itself, at 0000:10:00.0;"},
		{"links to themselves", strings.NewReplacer(`target="0000:11:00.0"`, `target="0000:10:00.0"`, `target="0000:10:00.0"`, `target="0000:11:00.0"`).Replace(small),
			"to itself, at 0000:10:00.0, 0000:11:00.0;"},
		{"one-sided", changed(t, second, ``), "m.xml:8: gpu dev 1: the GPU at 0000:11:00.0 has no nvlink to 0000:10:00.0, which has one to it (line 5)"},
		{"one-sided by class", changed(t, second, strings.Replace(second, "0x030200", "0x068000", 1)), "0000:11:00.0 has no nvlink to 0000:10:00.0"},
		{"c2c without bw", changed(t, `</gpu>`, `<c2c count="1"/></gpu>`), "c2c: bw is missing"},
		{"c2c without count", changed(t, `</gpu>`, `<c2c bw="1"/></gpu>`), "c2c: count is missing"},
		{"c2c of nothing", changed(t, `</gpu>`, `<c2c bw="0" count="1"/></gpu>`), "1 links of 0 MB/s"},
		{"GPU below a card", changed(t, `</nic></pci>`, `</nic><pci busid="0000:13:00.0"><gpu dev="2" sm="70" rank="2"/></pci></pci>`), "m.xml:14: gpu dev 2: the GPU is below a pci element that is no switch"},
		{"GPU below an NVSwitch", changed(t, `</cpu>`, `<pci busid="0000:20:00.0" class="0x068000"><pci busid="0000:13:00.0"><gpu dev="2" sm="70" rank="2"/></pci></pci></cpu>`), "is below a pci element that is no switch"},
		{"pcilink to nowhere named", changed(t, `</cpu>`, `<pci busid="0000:20:00.0" class="0x060400"><pcilink/></pci></cpu>`), "pcilink: target is missing"},
		{"one-sided pcilink", changed(t, `</cpu>`, `<pci busid="0000:20:00.0" class="0x060400"><pcilink target="0000:21:00.0"/></pci>
<pci busid="0000:21:00.0" class="0x060400"/></cpu>`), "m.xml:15: pcilink 0000:21:00.0: the pci of line 16 has no pcilink back to 0000:20:00.0"},
	} {
		_, err := decode(t, test.text).System()
		var typed *Error
		if !errors.As(err, &typed) || !errors.Is(err, ErrNonsense) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %q", test.name, err, test.want)
		}
	}
}

func TestSystemNeedsATopology(t *testing.T) {
	for text, want := range map[string]error{
		`<graphs version="1"/>`: ErrOtherFormat,
		`<system version="1"><cpu host_hash="1"/><cpu host_hash="2"/></system>`: ErrOtherFormat,
		`<system version="1"><gpu/></system>`:                                   ErrNonsense,
	} {
		d, err := Parse(strings.NewReader(text), "m.xml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.System(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestLinksOutOfTheFileAreKeptAndReported(t *testing.T) {
	sys := system(t, changed(t, `</gpu>`, `<nvlink target="0000:99:00.0" count="4" tclass="0x030200"/></gpu>`))
	links := gpusOf(sys)[0].NVLinks
	if want := (topo.NVLink{Target: 0x99000, Class: topo.ClassGPU, Count: 4}); len(links) != 2 || links[1] != want {
		t.Errorf("links %+v", links)
	}
	if want := (topo.Assumption{Where: "line 6, nvlink 0000:99:00.0", What: "the target is not in the file: link left out"}); len(sys.Assumed) != 1 || sys.Assumed[0] != want {
		t.Errorf("assumed %q", sys.Assumed)
	}
}

func TestWhatNCCLSkipsIsSkipped(t *testing.T) {
	for name, text := range map[string]string{
		"a GPU without rank":      changed(t, `</cpu>`, `<pci busid="0000:20:00.0"><gpu dev="7"><nvlink/></gpu></pci></cpu>`),
		"a device of no use":      changed(t, `</cpu>`, `<pci busid="0000:20:00.0" class="0x030000"/></cpu>`),
		"what is below a GPU":     changed(t, `</gpu>`, `</gpu><pci busid="nonsense"/>`),
		"an element of no name":   changed(t, `</cpu>`, `<dram size="1"><pci/></dram></cpu>`),
		"attributes of no use":    changed(t, `numaid="0"`, `numaid="0" color="blue"`),
		"links of an idle GPU":    changed(t, `</cpu>`, `<pci busid="0000:20:00.0" class="0x030200"><gpu dev="7"><nvlink target="0000:10:00.0" count="1" tclass="0x030200"/></gpu></pci></cpu>`),
		"a switch without a name": changed(t, `</cpu>`, `<pci busid="0000:20:00.0" class="0x068000"/></cpu>`),
	} {
		if diff := cmp.Diff(system(t, small), system(t, text)); diff != "" {
			t.Errorf("%s: (-without +with)\n%s", name, diff)
		}
	}
}

func TestGUID(t *testing.T) {
	for text, want := range map[string]int64{
		"0x0": 0, "0x1f": 0x1f, "0xFF": 255, "0x": 0, "ff": 0, "": 0, "0xg": 0, "0x12 ": 0x12,
		"0xffffffffffffffff": -1, "0x1ffffffffffffffff": -1,
	} {
		if got := asic(text); got != want {
			t.Errorf("asic(%q) = %#x, want %#x", text, got, want)
		}
	}
}

func TestLinksThatNCCLMayAddAreNoted(t *testing.T) {
	noLinks := strings.NewReplacer(`<nvlink target="0000:11:00.0" count="2" tclass="0x030200"/>`, "",
		`<nvlink target="0000:10:00.0" count="2" tclass="0x030200"/>`, "").Replace(small)
	for _, test := range []struct {
		text  string
		where string // "" if nothing is to be noted
	}{
		{noLinks, "line 1, system"},
		{strings.ReplaceAll(noLinks, `sm="70"`, `sm="89"`), ""}, // a generation without NVLink
		{strings.NewReplacer("0x030200\"/>\n</gpu>", "0x068000\"/>\n</gpu>").Replace(changed(t, `<nvlink target="0000:10:00.0" count="2" tclass="0x030200"/>`, "")), "line 8, gpu dev 1"},
		{small, ""},
	} {
		sys := system(t, test.text)
		if test.where == "" && len(sys.Assumed) == 0 {
			continue
		}
		if len(sys.Assumed) != 1 || sys.Assumed[0].Where != test.where || !strings.Contains(sys.Assumed[0].What, "nvlink element") {
			t.Errorf("assumed %q, want it at %q", sys.Assumed, test.where)
		}
	}
	// A machine that was not read from a file has no other links: the one note
	// is that of the file, taken along.
	if sys, err := FromSystem(system(t, noLinks), "x").System(); err != nil || len(sys.Assumed) != 1 {
		t.Errorf("%v, %v", sys, err)
	}
}

func TestLargeMachinesAreNoted(t *testing.T) {
	var nics strings.Builder
	for i := range 65 {
		fmt.Fprintf(&nics, `<nic><net dev="%d" speed="1" gdr="0"/><net dev="%d" speed="1" gdr="0"/><net/></nic>`, i, i+100)
	}
	sys := system(t, changed(t, `</cpu>`, nics.String()+`</cpu>`))
	if n := len(sys.Assumed); !strings.Contains(sys.Assumed[n-1].What, "271 elements: NCCL 2.22.3 stops at 256") {
		t.Errorf("assumed %q", sys.Assumed)
	}
}

// TestGPUAndCardInOne reads a device that is both, as converged cards are.
func TestGPUAndCardInOne(t *testing.T) {
	sys := system(t, changed(t, `</gpu></pci>`, `</gpu><nic><net name="n" dev="0" speed="100000"/></nic></pci>`))
	var both int
	for _, c := range sys.CPUs {
		for _, d := range c.Devices {
			if d.GPU != nil && d.NIC != nil && d.NIC.Nets[0].Name == "n" {
				both++
			}
		}
	}
	if both != 1 {
		t.Errorf("%d devices are both, want 1", both)
	}
}

func TestVectorsAreWholeMachines(t *testing.T) {
	for _, file := range vectorFiles(t) {
		sys, err := chosen(t, decodeFile(t, file)).System()
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, a := range sys.Assumed {
			if !strings.Contains(a.What, `link_width "0"`) && !strings.Contains(a.What, `speed "`) && !strings.Contains(a.What, "GPUDirect") &&
				!strings.Contains(a.What, "nvlink element") && !strings.Contains(a.What, "256") &&
				!strings.Contains(a.What, "counted without gaps") {
				t.Errorf("%s: %v", filepath.Base(file), a)
			}
		}
	}
}

func TestSwitchID(t *testing.T) {
	for attrs, want := range map[string]uint64{
		``:              0,
		`vendor="0x10"`: 0x10 << 48,
		`vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096"`: 0x1000c0101000a096,
		`device="-1"`:          0xffffffff00000000,
		`device="0x12345"`:     0x12345 << 32,
		`subsystem_device="9"`: 9,
	} {
		if got := switchID(decode(t, `<system version="1" `+attrs+`/>`).Root); got != want {
			t.Errorf("%s: %#x, want %#x", attrs, got, want)
		}
	}
}

func BenchmarkSystem(b *testing.B) {
	for _, name := range []string{"v100x4_nv2", "dgx2", "aws_p5"} {
		d := chosen(b, decodeFile(b, filepath.Join("..", "..", "testdata", "vectors", "machines", name+".xml")))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.System(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
