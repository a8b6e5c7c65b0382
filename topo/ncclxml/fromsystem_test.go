package ncclxml

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo"
)

// model is what a topology file says of a machine, without what was assumed.
var model = cmp.Options{cmpopts.IgnoreFields(topo.System{}, "Assumed"), cmpopts.EquateEmpty()}

func TestVectorsAsSystemsComeBack(t *testing.T) {
	for _, file := range vectorFiles(t) {
		sys, err := chosen(t, decodeFile(t, file)).System()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(t, written(t, FromSystem(sys, "x"))).System()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !reflect.DeepEqual(sys.CPUs, again.CPUs) {
			t.Fatalf("%s (-read +written):\n%s", file, cmp.Diff(sys, again, model))
		}
	}
}

func TestFromSystemIsInNCCLsForm(t *testing.T) {
	sys := system(t, everything)
	got := written(t, FromSystem(sys, "x"))
	for _, line := range []string{
		`  <cpu host_hash="0x9a3f1c5e7b2d4608" numaid="-1" affinity="ffff,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">`,
		`      <net name="eth0" dev="2" speed="25000" port="0" latency="0.000000" maxconn="32" gdr="0"/>`,
		`    <pci busid="10000:ab:1f.7" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096" link_speed="16.0 GT/s PCIe" link_width="16">`,
		`      <pcilink target="10000:ac:1f.7"/>`,
		`      <pci busid="0000:12:00.0" class="0x030200" link_speed="2.5 GT/s PCIe" link_width="1">`,
		`        <gpu dev="3" sm="70" rank="0" gdr="0">`,
		`          <nvlink target="0000:13:00.0" count="2" tclass="0x030200"/>`,
		`          <nvlink target="fffffff:ff:ff.0" count="4" tclass="0x068000"/>`,
		`          <nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>`,
		`          <c2c bw="44712" count="10"/>`,
		`          <net name="mlx5_0" dev="0" speed="100000" port="2" latency="1.500000" guid="0x3c5a00030e42ec0" maxconn="131072" gdr="1" coll="1"/>`,
		`  <cpu host_hash="0x9a3f1c5e7b2d4608" numaid="8" arch="ppc64"/>`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
}

func TestFromSystemTakesAssumptionsAlong(t *testing.T) {
	assumed := []topo.Assumption{{Where: "the text", What: "sm=80"}}
	d := FromSystem(&topo.System{CPUs: []topo.CPU{{Devices: []topo.Device{
		{BusID: 0x10000, Class: topo.ClassGPU, Speed: 60, Width: 16, GPU: &topo.GPU{SM: 80}}}}}, Assumed: assumed}, "x")
	sys, err := d.System()
	if err != nil || len(sys.Assumed) != 2 || sys.Assumed[0] != assumed[0] { // the second: no such architecture
		t.Errorf("%v, %v", sys, err)
	}
	if want := "cpu numaid 0"; sys.Assumed[1].Where != want {
		t.Errorf("an element that is in no file is at %q, want %q", sys.Assumed[1].Where, want)
	}
}

// drawSystem draws a machine that a file can say: every GPU and card with an
// address of its own, links both ways.
func drawSystem(t *rapid.T) *topo.System {
	d := &drawer{T: t}
	sys := &topo.System{}
	for i := range rapid.IntRange(1, 3).Draw(t, "cpus") {
		cpu := topo.CPU{NUMA: i - 1, Affinity: rapid.SampledFrom([]string{"", "ff,ffffffff"}).Draw(t, "affinity")}
		cpu.Arch = rapid.SampledFrom([]topo.Arch{topo.ArchX86, topo.ArchARM, topo.ArchPOWER}).Draw(t, "arch")
		cpu.Vendor, cpu.Model = topo.VendorUndefined, topo.ModelUndefined
		if cpu.Arch == topo.ArchX86 {
			cpu.Vendor = rapid.SampledFrom([]topo.Vendor{topo.VendorUnknown, topo.VendorIntel, topo.VendorAMD, topo.VendorZhaoxin}).Draw(t, "vendor")
			cpu.Model = topo.ModelOf(cpu.Vendor, rapid.IntRange(5, 8).Draw(t, "family"), rapid.IntRange(0x50, 0x5c).Draw(t, "model"))
		}
		cpu.Devices = d.devices(3, true)
		sys.CPUs = append(sys.CPUs, cpu)
	}
	d.link()
	return sys
}

type drawer struct {
	*rapid.T
	buses int
	gpus  []*topo.Device
}

func (d *drawer) devices(depth int, top bool) []topo.Device {
	var devices []topo.Device
	for range rapid.IntRange(0, 3).Draw(d.T, "devices") {
		devices = append(devices, d.device(depth, top))
	}
	for i := range devices {
		if devices[i].GPU != nil {
			d.gpus = append(d.gpus, &devices[i])
		}
	}
	return devices
}

func (d *drawer) device(depth int, top bool) topo.Device {
	d.buses++
	dev := topo.Device{BusID: topo.BusID(d.buses) << 12, Speed: rapid.SampledFrom([]int{15, 30, 60, 120, 240, 480}).Draw(d.T, "speed"),
		Width: rapid.IntRange(1, 32).Draw(d.T, "width")}
	switch kind := rapid.IntRange(0, 3).Draw(d.T, "kind"); {
	case kind == 0 && depth > 0:
		dev.Class = topo.ClassSwitch
		dev.SwitchID = rapid.Uint64().Draw(d.T, "id")
		dev.Devices = d.devices(depth-1, false)
	case kind == 1:
		dev.Class, dev.NIC = topo.ClassNIC, d.nic()
	case kind == 2 && top:
		return topo.Device{Class: topo.ClassNIC, Virtual: true, NIC: d.nic()}
	default:
		dev.Class = topo.ClassGPU
		dev.GPU = &topo.GPU{Dev: d.buses, Rank: d.buses, SM: rapid.IntRange(1, 120).Draw(d.T, "sm"), GDR: rapid.Bool().Draw(d.T, "gdr")}
	}
	return dev
}

func (d *drawer) nic() *topo.NIC {
	nic := &topo.NIC{}
	for range rapid.IntRange(0, 2).Draw(d.T, "nets") {
		nic.Nets = append(nic.Nets, topo.Net{
			Name: rapid.SampledFrom([]string{"", "mlx5_0", `a "b" <c> & d`}).Draw(d.T, "name"),
			Dev:  rapid.IntRange(0, 9).Draw(d.T, "dev"), Mbps: rapid.IntRange(0, 1<<20).Draw(d.T, "speed"),
			Port: rapid.IntRange(0, 3).Draw(d.T, "port"), Asic: rapid.Int64().Draw(d.T, "guid"),
			Latency: float32(rapid.IntRange(0, 200).Draw(d.T, "latency")) / 2,
			GDR:     rapid.Bool().Draw(d.T, "gdr"), Coll: rapid.Bool().Draw(d.T, "coll"), MaxConn: rapid.IntRange(0, 1<<20).Draw(d.T, "maxconn"),
		})
	}
	return nic
}

// link joins neighbours both ways, and every GPU to a switch.
func (d *drawer) link() {
	for i, g := range d.gpus {
		g.GPU.NVLinks = append(g.GPU.NVLinks, topo.NVLink{Target: 0xfffffffffffff, Class: topo.ClassNVSwitch, Count: 1 + i})
		g.GPU.C2Cs = append(g.GPU.C2Cs, topo.C2C{Count: 1 + i, MBps: 1000})
		if i > 0 && rapid.Bool().Draw(d.T, "linked") {
			other := d.gpus[i-1]
			g.GPU.NVLinks = append(g.GPU.NVLinks, topo.NVLink{Target: other.BusID, Class: topo.ClassGPU, Count: 2})
			other.GPU.NVLinks = append(other.GPU.NVLinks, topo.NVLink{Target: g.BusID, Class: topo.ClassGPU, Count: 2})
		}
	}
}

func TestAnySystemComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sys := drawSystem(t)
		d := FromSystem(sys, "drawn")
		again, err := d.System()
		if err != nil {
			if strings.Contains(err.Error(), "no GPU") {
				t.Skip("no GPU")
			}
			t.Fatal(err)
		}
		if !reflect.DeepEqual(sys.CPUs, again.CPUs) {
			t.Fatalf("(-want +got)\n%s", cmp.Diff(sys, again, model))
		}
		var text strings.Builder
		if err := Encode(&text, d); err != nil {
			t.Fatal(err)
		}
		read, err := Decode(strings.NewReader(text.String()), "drawn")
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if !same(d.Root, read.Root) {
			t.Fatalf("(-written +read)\n%s", cmp.Diff(d, read, sameContent))
		}
	})
}
