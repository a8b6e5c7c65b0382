package machinejson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

func system(t testing.TB, name string) *topo.System {
	t.Helper()
	doc, err := machines.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = doc.Select(nil); err != nil {
		t.Fatal(err)
	}
	sys, err := doc.System()
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func text(t testing.TB, sys *topo.System) string {
	t.Helper()
	out, err := json.Marshal(New(sys, "box"))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestMachinesComeBack sends every built-in machine through JSON and, as a
// user's file goes, on to a document.
func TestMachinesComeBack(t *testing.T) {
	for _, name := range machines.Names() {
		want := system(t, name)
		got, err := Decode(strings.NewReader(text(t, want)), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		again, err := ncclxml.FromSystem(got, name).System()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s as a document: %s", name, diff)
		}
	}
}

func TestOddCornersComeBack(t *testing.T) {
	want := &topo.System{
		CPUs: []topo.CPU{
			{Host: 1<<63 + 5, NUMA: -1, Arch: topo.ArchARM, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined, Devices: []topo.Device{
				{Virtual: true, Class: topo.ClassNIC, NIC: &topo.NIC{Nets: []topo.Net{{Name: "eth0", Dev: 3, Mbps: -1, Asic: -2, Latency: 1.5, Coll: true, MaxConn: 9}, {Dev: 4}}}},
				{BusID: topo.ParseBusID("fffffff:ff:ff.0"), Class: topo.ClassSwitch, SwitchID: 1<<63 + 1, Speed: 15, Width: 1, Peers: []topo.BusID{7}},
				{BusID: 1 << 12, Class: topo.ClassGPU, Speed: 480, Width: 16, GPU: &topo.GPU{SM: 90, GDR: true,
					NVLinks: []topo.NVLink{{Target: topo.ParseBusID("fffffff:ffff:ff"), Class: topo.ClassNVSwitch, Count: 18}, {Class: topo.ClassCPU, Count: 1}},
					C2Cs:    []topo.C2C{{Count: 10, MBps: 44712}}}},
			}},
			{Arch: topo.ArchX86, Vendor: topo.VendorZhaoxin, Model: topo.ModelZhaoxinYongfeng, Affinity: "ff,00"},
			{Arch: topo.ArchX86, Vendor: topo.VendorUnknown, Model: topo.ModelUndefined},
			{Arch: topo.ArchUndefined, Vendor: topo.VendorUndefined, Model: topo.ModelUndefined},
		},
		Assumed: []topo.Assumption{{What: "everything"}},
	}
	first := text(t, want)
	got, err := Decode(strings.NewReader(first), "box")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	head := `{"schema": "ringtopo.machine/v1", "cpus": [`
	bad := map[string]string{
		``:                                "box:1: unexpected end",
		"{\n\"schema\": \n":               "box:3: unexpected end",
		`{"schema": "ringtopo.rings/v1"}`: `the schema is "ringtopo.rings/v1"`,
		`{}`:                              `the schema is ""`,
		`[]`:                              "box:1: ",
		head + "\n{\"numa\": \"x\"}]}":    "box:2: ",
		head + `{"nuna": 1}]}`:            `unknown field "nuna"`,
		head + `{"arch": "riscv"}]}`:      `cpu 0 (NUMA 0): arch "riscv" is not one of arm64, ppc64, x86_64`,
		head + `{"arch": "x86_64", "vendor": "AuthenticAMD", "model": "skylake"}]}`:                           `model "skylake" is not one of`,
		head + `{"arch": "x86_64", "devices": [{"busId": "0000:01:00.0", "class": "fpga"}]}]}`:                `device 0000:01:00.0: class "fpga"`,
		head + `{"arch": "x86_64", "devices": [{"busId": "nowhere"}]}]}`:                                      `"nowhere" is not a bus id`,
		head + `{"arch": "x86_64", "devices": [{"class": "switch", "virtual": true}]}]}`:                      "it is virtual, as only a NIC can be",
		head + `{"arch": "x86_64", "devices": [{"class": "nic", "virtual": true, "gpu": {}}]}]}`:              "neither a GPU nor",
		head + `{"arch": "x86_64", "devices": [{"class": "nic", "virtual": true, "devices": [{}]}]}]}`:        "nor devices below it",
		head + `{"arch": "x86_64", "host": "many"}]}`:                                                         `"many" is not a number`,
		head + `{"arch": "x86_64", "devices": [{"class": "gpu", "gpu": {"nvlinks": [{"class": "moon"}]}}]}]}`: `NVLink to 0000:00:00.0: class "moon"`,
	}
	for in, want := range bad {
		if _, err := Decode(strings.NewReader(in), "box"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %s", in, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := Decode(iotest.ErrReader(broken), "box"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestDecodeIsBounded(t *testing.T) {
	if _, err := Decode(endless{}, "box"); err == nil || !strings.Contains(err.Error(), "not a machine") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"v100x4", "gh200x4", "h200x2"} {
		f.Add(text(f, system(f, name)))
	}
	f.Add(`{"schema": "ringtopo.machine/v1", "cpus": [{"arch": "x86_64", "devices": [
		{"busId": "0000:01:00.0", "class": "gpu", "lanes": 16, "laneMbps": 6000, "gpu": {"sm": 80}}, {"class": "switch", "virtual": true}]}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		sys, err := Decode(strings.NewReader(in), "box")
		if err != nil {
			return
		}
		again, err := Decode(strings.NewReader(text(t, sys)), "box")
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if diff := cmp.Diff(sys.CPUs, again.CPUs, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
		// A document of it is refused or read, but never a panic.
		_, _ = ncclxml.FromSystem(sys, "box").Select(nil)
	})
}
