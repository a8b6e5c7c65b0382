package topo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestParseBusID(t *testing.T) {
	for s, want := range map[string]BusID{
		"":                       0,
		"0000:3b:00.0":           0x3b000,
		"0000:3B:00.0":           0x3b000, // as NVML writes it
		"00000000:3B:00.0":       0x3b000,
		"3b:00.0":                0x3b000,
		"0001:00:00.0":           0x100000,
		"10000:ab:1f.7":          0x10000ab1f7, // a domain of five digits
		"000f:01:00.0":           0xf01000,
		"ffff:ff:01.0":           0xffffff010,
		"fffffff:ffff:ff":        0xfffffffffffff, // a device that a driver hides
		"fffffff:ff:ff.0":        0xfffffffffff0,
		"3b0":                    0x3b0,
		"3b:00 and more":         0x3b00,
		"slot":                   0,
		"7fffffffffffffff":       math.MaxInt64,
		"ffff:ffff:ffff:ffff":    math.MaxInt64,
		"1234567890abcdef.12345": 0x1234567890abcdef, // no more than 16 digits
	} {
		if got := ParseBusID(s); got != want {
			t.Errorf("ParseBusID(%q) = %#x, want %#x", s, int64(got), int64(want))
		}
	}
}

func TestBusIDString(t *testing.T) {
	for b, want := range map[BusID]string{
		0: "0000:00:00.0", 0x3b000: "0000:3b:00.0", 0x10000ab1f7: "10000:ab:1f.7", 0xfffffffffff0: "fffffff:ff:ff.0",
		0xfffffffffffff: "ffffffff:ff:ff.f",
	} {
		if got := b.String(); got != want {
			t.Errorf("%#x is %s, want %s", int64(b), got, want)
		}
	}
}

func TestBusIDComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := BusID(rapid.Int64Range(0, math.MaxInt64).Draw(t, "id"))
		if got := ParseBusID(b.String()); got != b {
			t.Fatalf("%#x came back from %s as %#x", int64(b), b, int64(got))
		}
		ParseBusID(rapid.String().Draw(t, "any text"))
	})
}

func TestParseClass(t *testing.T) {
	for s, want := range map[string]Class{
		"0x060400": ClassSwitch, "0x068000": ClassNVSwitch, "0x068001": ClassCPU, "0x030200": ClassGPU, "0x030000": ClassGPU,
		"0x020700": ClassNIC, "0x020000": ClassNIC, "0x02": ClassNIC, "0x0680001": ClassNVSwitch,
	} {
		if got, ok := ParseClass(s); got != want || !ok {
			t.Errorf("ParseClass(%q) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "0x060000", "0x120000", "030200", "GPU"} {
		if got, ok := ParseClass(s); got != ClassSwitch || ok {
			t.Errorf("ParseClass(%q) = %v, %v, want a switch of no known class", s, got, ok)
		}
	}
	for _, c := range []Class{ClassSwitch, ClassNVSwitch, ClassCPU, ClassGPU, ClassNIC} {
		if got, ok := ParseClass(c.String()); got != c || !ok {
			t.Errorf("%v came back as %v", c, got)
		}
	}
}

func TestParseSpeed(t *testing.T) {
	for s, want := range map[string]int{
		"2.5 GT/s": 15, "2.5 GT/s PCIe": 15, "5 GT/s": 30, "5.0 GT/s PCIe": 30, "8 GT/s": 60, "8.0 GT/s PCIe": 60,
		"16 GT/s": 120, "16.0 GT/s PCIe": 120, "32 GT/s": 240, "32.0 GT/s PCIe": 240, "64.0 GT/s PCIe": 480,
		"32 GT/s PCIe/s": 240, "16 GT/s PCIe": 120, "8 GT/s and more": 60,
	} {
		if got, ok := ParseSpeed(s); got != want || !ok {
			t.Errorf("ParseSpeed(%q) = %d, %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "Unknown", "16.0 GT/s", "64 GT/s", " 8 GT/s", "16gt/s"} {
		if got, ok := ParseSpeed(s); got != DefaultSpeed || ok {
			t.Errorf("ParseSpeed(%q) = %d, %v, want the default", s, got, ok)
		}
	}
}

func TestSpeedText(t *testing.T) {
	for _, speed := range []int{15, 30, 60, 120, 240, 480} {
		if got, ok := ParseSpeed(SpeedText(speed)); got != speed || !ok {
			t.Errorf("%d came back from %q as %d", speed, SpeedText(speed), got)
		}
	}
	if got := SpeedText(77); got != "" {
		t.Errorf("SpeedText(77) = %q", got)
	}
}

func TestParseArch(t *testing.T) {
	for _, a := range []Arch{ArchX86, ArchPOWER, ArchARM} {
		if got, ok := ParseArch(a.String()); got != a || !ok {
			t.Errorf("%v came back as %v", a, got)
		}
	}
	for s, want := range map[string]Arch{"ppc64le": ArchPOWER, "x86_64-v3": ArchX86, "arm64": ArchARM} {
		if got, ok := ParseArch(s); got != want || !ok {
			t.Errorf("ParseArch(%q) = %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "aarch64", "riscv64", "X86_64", ArchUndefined.String(), ArchMixed.String()} {
		if got, ok := ParseArch(s); got != ArchUndefined || ok {
			t.Errorf("ParseArch(%q) = %v, %v", s, got, ok)
		}
	}
}

func TestParseVendor(t *testing.T) {
	for s, want := range map[string]Vendor{
		"GenuineIntel": VendorIntel, "AuthenticAMD": VendorAMD, "CentaurHauls": VendorZhaoxin, "  Shanghai  ": VendorZhaoxin,
	} {
		if got, ok := ParseVendor(s); got != want || !ok {
			t.Errorf("ParseVendor(%q) = %v, %v, want %v", s, got, ok, want)
		}
		if got, _ := ParseVendor(want.String()); got != want {
			t.Errorf("%v came back as %v", want, got)
		}
	}
	for _, s := range []string{"", "Shanghai", "HygonGenuine", "AMD", VendorUndefined.String(), VendorUnknown.String(), VendorMixed.String()} {
		if got, ok := ParseVendor(s); got != VendorUnknown || ok {
			t.Errorf("ParseVendor(%q) = %v, %v", s, got, ok)
		}
	}
}

func TestModelOf(t *testing.T) {
	for _, test := range []struct {
		vendor        Vendor
		family, model int
		want          CPUModel
	}{
		{VendorIntel, 6, 0x4f, ModelIntelBroadwell},
		{VendorIntel, 6, 0x54, ModelIntelBroadwell},
		{VendorIntel, 6, 0x55, ModelIntelSkylake},
		{VendorIntel, 6, 143, ModelIntelSkylake},
		{VendorIntel, 15, 143, ModelIntelBroadwell},
		{VendorZhaoxin, 7, 0x5b, ModelZhaoxinYongfeng},
		{VendorZhaoxin, 7, 0x1b, ModelUndefined},
		{VendorZhaoxin, 6, 0x5b, ModelUndefined},
		{VendorAMD, 175, 1, ModelUndefined},
		{VendorUnknown, 6, 143, ModelUndefined},
	} {
		got := ModelOf(test.vendor, test.family, test.model)
		if got != test.want {
			t.Errorf("ModelOf(%v, %d, %#x) = %v, want %v", test.vendor, test.family, test.model, got, test.want)
		}
		if again := ModelOf(test.vendor, first(Numbers(test.vendor, got)), second(Numbers(test.vendor, got))); again != got {
			t.Errorf("%v of %v came back as %v", got, test.vendor, again)
		}
	}
}

func first(a, _ int) int  { return a }
func second(_, b int) int { return b }
