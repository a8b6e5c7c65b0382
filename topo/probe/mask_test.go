package probe

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawAddress draws one of a few hosts in one of a few subnets of some size.
func drawAddress(t *rapid.T, bits int) string {
	subnet, host := rapid.IntRange(1, 3).Draw(t, "subnet"), rapid.IntRange(0, 1<<min(32-bits, 2)-1).Draw(t, "host")
	base := uint32(172)<<24 | uint32(subnet)<<(32-bits) | uint32(host)
	return netip.AddrFrom4([4]byte{byte(base >> 24), byte(base >> 16), byte(base >> 8), byte(base)}).String()
}

// Whatever the size of the subnets: the interfaces in that of NCCL_COMM_ID are
// the same after masking, and addresses are equal if they were.
func TestMaskKeepsSubnets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bits := rapid.IntRange(10, 32).Draw(rt, "bits")
		var pairs []string
		for i := range rapid.IntRange(1, 6).Draw(rt, "interfaces") {
			pairs = append(pairs, fmt.Sprintf("eth%d", i), fmt.Sprintf("%s/%d", drawAddress(rt, bits), bits))
		}
		root := drawAddress(rt, bits)
		checkMasked(rt, interfaces(pairs...), root+":99")
	})
}

func TestMaskKeepsSubnetsOfIPv6(t *testing.T) {
	for _, bits := range []int{32, 48, 64, 120, 127, 128} {
		var pairs []string
		for i, addr := range []string{"2001:db8::1", "2001:db9::1", "2001:db8::2", "2001:db8:1::1", "2001:db8::1:0", "fe80::3", "fe80::4"} {
			pairs = append(pairs, fmt.Sprintf("eth%d", i), fmt.Sprintf("%s/%d", addr, bits))
		}
		for _, root := range []string{"[2001:db8::1]:99", "[2001:db9::77]:99", "[2001:dba::1]:99"} {
			checkMasked(t, interfaces(pairs...), root)
		}
	}
}

func checkMasked(t interface{ Fatalf(string, ...any) }, n *Network, root string) {
	before := n.usable(env("NCCL_COMM_ID", root))
	plain := slices.Clone(n.Interfaces)
	p := &Prober{Network: *n, Env: env("NCCL_COMM_ID", root)}
	newMasker().mask(p, &jobFile{})
	if after := p.Network.usable(p.Env); !slices.Equal(before, after) {
		masked, _ := p.Env("NCCL_COMM_ID")
		t.Fatalf("usable %v, masked %v: %s of %v became %s of %v", before, after, root, addresses(plain), masked, addresses(p.Network.Interfaces))
	}
	for i, a := range plain {
		for j, b := range plain {
			x, y := p.Network.Interfaces[i], p.Network.Interfaces[j]
			if (*a.Addr == *b.Addr) != (*x.Addr == *y.Addr) {
				t.Fatalf("%s and %s became %s and %s", *a.Addr, *b.Addr, *x.Addr, *y.Addr)
			}
		}
	}
}

func addresses(list []Interface) (out []string) {
	for _, i := range list {
		out = append(out, fmt.Sprintf("%s/%d", *i.Addr, i.Bits))
	}
	return out
}

// Texts around addresses stay, and so does what is the same on every machine.
func TestMaskOfVariables(t *testing.T) {
	m := newMasker()
	for text, want := range map[string]string{
		"":                         "",
		"mlx5_0:1":                 "mlx5_0:1",
		"127.0.0.1:5":              "127.0.0.1:5",
		"[::1]:5":                  "[::1]:5",
		"999.1.1.1:5":              "999.1.1.1:5", // no address
		"[no address]:5":           "[no address]:5",
		"^docker,lo":               "^docker,lo",
		"GPU-1.2.3 is not an addr": "GPU-1.2.3 is not an addr",
	} {
		if got := m.text(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	got := m.text("10.1.2.3:7,10.1.2.3:8")
	a, b, _ := strings.Cut(got, ",")
	if strings.Contains(got, "10.1.2.3") || strings.TrimSuffix(a, ":7") != strings.TrimSuffix(b, ":8") {
		t.Errorf("one address twice becomes %s", got)
	}
	if again := m.text("10.1.2.3"); again+":7" != a {
		t.Errorf("asked again: %s, then %s", a, again)
	}
}

// The hash of a host by hand: 5381, times 33, xor the byte.
func TestHostHash(t *testing.T) {
	long := strings.Repeat("h", maxHostID)
	id, fixed := "id", GUID(0x77)
	hashOf := func(s string) uint64 {
		h := uint64(5381)
		for i := range len(s) {
			h = h*33 ^ uint64(s[i])
		}
		return h
	}
	if got, want := hash("a"), uint64(5381*33)^'a'; got != want {
		t.Errorf("hash of a: %d, want %d", got, want)
	}
	for name, test := range map[string]struct {
		h    Host
		env  Env
		want uint64
	}{
		"name and boot id":           {Host{Hostname: "n", BootID: "b\n"}, env(), hashOf("nb")},
		"first word of the boot id":  {Host{Hostname: "n", BootID: " b c"}, env(), hashOf("nb")},
		"no boot id":                 {Host{Hostname: "n"}, env(), hashOf("n")},
		"recorded id":                {Host{Hostname: "n", BootID: "b", HostID: &id}, env(), hashOf("id")},
		"variable before the record": {Host{Hostname: "n", HostID: &id}, env("NCCL_HOSTID", "v"), hashOf("v")},
		"an empty variable counts":   {Host{Hostname: "n", HostID: &id}, env("NCCL_HOSTID", ""), hashOf("")},
		"a long name is cut":         {Host{Hostname: long + "x"}, env(), hashOf(long)},
		"made up":                    {Host{Hostname: "n", HostHash: &fixed}, env("NCCL_HOSTID", "v"), 0x77},
	} {
		if got := hostHash(&test.h, test.env); got != test.want {
			t.Errorf("%s: %#x, want %#x", name, got, test.want)
		}
	}
	if longHex(0) != "0" || longHex(255) != "0xff" {
		t.Errorf("%s %s, want 0 and 0xff, as C prints them", longHex(0), longHex(255))
	}
}

// PCI addresses as sysfs writes them, and nothing else.
func TestIsBusID(t *testing.T) {
	for s, want := range map[string]bool{
		"0000:00:00.0": true, "ffff:FF:1f.7": true, "10000:00:00.0": false, "0000:00:00": false, "0000-00:00.0": false,
		"0000:00-00.0": false, "0000:00:00:0": false, "000g:00:00.0": false, "": false, "pci0000:00": false,
	} {
		if isBusID(s) != want {
			t.Errorf("%q is a bus id: %v", s, !want)
		}
	}
}

// Numbers that cannot be read as speeds count as infinitely fast.
func TestSpeedNumbers(t *testing.T) {
	for s, want := range map[string]float32{"16.0 GT/s PCIe": 16, "2.5 GT/s": 2.5, "0": 0, "-0.0": 0, " 8 GT/s": 8} {
		if got := speedNumber(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{"Unknown", "", "GT/s"} {
		if got := speedNumber(s); got < 1e30 {
			t.Errorf("%q: %v, want infinitely fast", s, got)
		}
	}
}

// How many links a GPU is asked for, on both sides of each generation.
func TestLinksByGeneration(t *testing.T) {
	for sm, want := range map[int]int{52: 0, 59: 0, 60: 4, 69: 4, 70: 6, 75: 6, 80: 12, 89: 12, 90: 18, 120: 18} {
		if got := maxNVLinks(sm); got != want {
			t.Errorf("sm %d: %d, want %d", sm, got, want)
		}
	}
}

// A link counts only if every answer about it was good.
func TestWhichLinksCount(t *testing.T) {
	good := NVLink{Link: 3, P2PSupported: 1, State: 1, RemoteBusIDLegacy: "0000:0A:00.0"}
	for name, spoil := range map[string]func(*NVLink){
		"not for peers":       func(l *NVLink) { l.P2PSupported = 0 },
		"support unknown":     func(l *NVLink) { l.P2PReturn = 3 },
		"down":                func(l *NVLink) { l.State = 0 },
		"state unknown":       func(l *NVLink) { l.StateReturn = 2 },
		"remote end unknown":  func(l *NVLink) { l.RemoteReturn = 999 },
		"another link number": func(l *NVLink) { l.Link = 4 },
	} {
		l := good
		spoil(&l)
		if _, ok := (&Device{NVLinks: []NVLink{l}}).peer(3); ok {
			t.Errorf("%s: the link counts", name)
		}
	}
	if id, ok := (&Device{NVLinks: []NVLink{good}}).peer(3); !ok || id != "0000:0a:00.0" {
		t.Errorf("a good link leads to %q, %v", id, ok)
	}
}

// Ranks run on the GPUs in the order in which they are given.
func TestRanksFollowTheOrderOfGPUs(t *testing.T) {
	h := &Host{CUDA: []CUDADevice{{Dev: 0, NVMLIndex: 2, BusID: "a"}, {Dev: 1, NVMLIndex: 0, BusID: "b"}, {Dev: 2, NVMLIndex: 1, BusID: "c"}}}
	got, err := h.Ranks([]int{2, 0})
	if err != nil {
		t.Fatal(err)
	}
	want := []Rank{{Rank: 0, CUDADev: 2, NVMLIndex: 1, BusID: "c"}, {Rank: 1, CUDADev: 0, NVMLIndex: 2, BusID: "a"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if all, err := h.Ranks(nil); err != nil || len(all) != 3 {
		t.Errorf("all: %v, %v", all, err)
	}
	for want, devs := range map[string][]int{
		"GPU 1 is given twice; a GPU takes part once":       {0, 1, 1},
		"there is no GPU 3; CUDA shows 3, numbered from 0":  {3},
		"there is no GPU -1; CUDA shows 3, numbered from 0": {-1},
	} {
		if _, err := h.Ranks(devs); err == nil || err.Error() != want {
			t.Errorf("GPUs %v: %v", devs, err)
		}
	}
	if _, err := (&Host{}).Ranks([]int{0}); err == nil || err.Error() != "there is no GPU 0: CUDA shows none" {
		t.Errorf("without GPUs: %v", err)
	}
}
