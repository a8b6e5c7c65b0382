package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// played answers a probe's questions as a recorded machine would.
type played struct {
	p       *Prober
	cudaErr error
}

func (m played) Devices() ([]Device, error)       { return m.p.Host.Devices, nil }
func (m played) Verbs() (*Verbs, error)           { return m.p.Network.Verbs, nil }
func (m played) Interfaces() ([]Interface, error) { return m.p.Network.Interfaces, nil }

type playedCUDA struct{ played }

func (m playedCUDA) Devices() (int, []CUDADevice, error) {
	return m.p.Host.CUDAVersion, m.p.Host.CUDA, m.cudaErr
}

// play gives the sources of a recorded machine. What the kernel says of the host
// comes with the files.
func play(t *testing.T, dir string) Sources {
	t.Helper()
	p, _, err := Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := p.Files.(*Tree)
	files.AddFile("/proc/cpuinfo", []byte("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\nstepping\t: 1\n\nprocessor\t: 1\nvendor_id\t: wrong\n"))
	files.AddFile("/proc/sys/kernel/random/boot_id", []byte("0f6c6b7e-9a31-4c55-8b0f-2f1c0d9e7a10\n"))
	m := played{p: p}
	return Sources{Files: files, NVML: m, CUDA: playedCUDA{m}, Network: m}
}

func env(pairs ...string) Env {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestLive(t *testing.T) {
	r, err := Live(play(t, "testdata/machines/dgx1v"), Options{Env: env("NCCL_HOSTID", "probe-dgx1v")})
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Replay("testdata/machines/dgx1v", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recorded.Document.Root, r.Document.Root); diff != "" {
		t.Errorf("-recorded +live:\n%s", diff)
	}
	if len(r.Notes) > 0 {
		t.Errorf("notes: %q", r.Notes)
	}
}

func TestLiveChoosesGPUs(t *testing.T) {
	r, err := Live(play(t, "testdata/machines/dgx1v"), Options{GPUs: []int{6, 1, 3}, Env: env("NCCL_HOSTID", "probe-dgx1v")})
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Replay("testdata/machines/variants/dgx1v-sub", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recorded.Document.Root, r.Document.Root); diff != "" {
		t.Errorf("-recorded +live:\n%s", diff)
	}
}

func TestReplayChoosesGPUsAndVariables(t *testing.T) {
	for _, test := range []struct {
		base, variant string
		o             Options
	}{
		{"dgx1v", "dgx1v-sub", Options{GPUs: []int{6, 1, 3}}},
		{"dgx1v", "dgx1v-no-ib", Options{Set: map[string]string{"NCCL_IB_DISABLE": "1"}}},
		{"dgx1v", "dgx1v-net-socket", Options{GPUs: []int{0, 4}, Set: map[string]string{"NCCL_NET": "socket", "NCCL_SOCKET_IFNAME": "^enp"}}},
		{"dgxa100", "dgxa100-reversed", Options{GPUs: []int{7, 6, 5, 4, 3, 2, 1, 0}}},
		{"dgxa100", "dgxa100-hca-port2", Options{GPUs: []int{2}, Set: map[string]string{"NCCL_IB_HCA": "mlx5_0:2"}}},
		{"eth-only", "eth-only-inet6", Options{Set: map[string]string{"NCCL_SOCKET_FAMILY": "AF_INET6"}}},
		{"eth-only", "eth-only-ifname", Options{GPUs: []int{3, 0}, Set: map[string]string{"NCCL_SOCKET_IFNAME": "^ens1f1,bond"}}},
		{"eth-only", "eth-only-lo", Options{GPUs: []int{2}, Set: map[string]string{"NCCL_SOCKET_IFNAME": "lo,docker"}}},
		{"flat-vm-ib", "flat-vm-ib-vfs", Options{Set: map[string]string{"NCCL_IB_MERGE_VFS": "0"}}},
		{"ib-merge", "ib-merge-off", Options{Set: map[string]string{"NCCL_IB_MERGE_NICS": "0"}}},
	} {
		got, err := Replay("testdata/machines/"+test.base, test.o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Replay("testdata/machines/variants/"+test.variant, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Document.Root, got.Document.Root); diff != "" {
			t.Errorf("%s -want +got:\n%s", test.variant, diff)
		}
	}
}

func TestGPUsThatAreNotThere(t *testing.T) {
	for _, gpus := range [][]int{{8}, {-1}, {1, 1}} {
		_, err := Replay("testdata/machines/dgx1v", Options{GPUs: gpus})
		var missing *DeviceError
		if !errors.As(err, &missing) {
			t.Errorf("GPUs %d: %v", gpus, err)
		}
	}
}

func TestWithoutCUDA(t *testing.T) {
	s := play(t, "testdata/machines/lo-only")
	m := s.CUDA.(playedCUDA)
	m.cudaErr = errors.New("no libcuda")
	s.CUDA = m
	r, err := Live(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "no libcuda") {
		t.Errorf("notes: %q", r.Notes)
	}
	if len(r.Ranks) != 2 || r.Ranks[0].NVMLIndex != 0 {
		t.Errorf("ranks: %v", r.Ranks)
	}
}

func TestWithoutGPUs(t *testing.T) {
	s := play(t, "testdata/machines/dgx1v")
	s.NVML = played{p: &Prober{}}
	if _, err := Live(s, Options{}); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without a GPU: %v", err)
	}
}

func TestNetworkNotes(t *testing.T) {
	s := play(t, "testdata/machines/dgx1v")
	s.Network.(played).p.Network.Verbs = nil
	r, err := Live(s, Options{Env: env("NCCL_NET_PLUGIN", "aws-ofi")})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "libibverbs") || !strings.Contains(r.Notes[1], "aws-ofi") {
		t.Errorf("notes: %q", r.Notes)
	}
}

// TestThisSysfs takes a PCI device of the machine that the test runs on for a
// GPU: the kernel's own files lead to a socket.
func TestThisSysfs(t *testing.T) {
	devices, err := os.ReadDir("/sys/bus/pci/devices")
	if err != nil || len(devices) == 0 {
		t.Skip("no PCI devices in sysfs")
	}
	id := devices[len(devices)-1].Name()
	s := play(t, "testdata/machines/lo-only")
	p := s.Network.(played).p
	p.Host.Devices = []Device{{BusID: "0000" + id, BusIDLegacy: id, ComputeCapability: [2]int{8, 0}}}
	p.Host.CUDA = []CUDADevice{{BusID: id}}
	s.Files = Root("/")
	dir := filepath.Join(t.TempDir(), "r")
	r, err := Capture(dir, s, Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(xmlOf(t, r.Document)); !strings.Contains(text, `busid="`+id+`" class="0x`) || !strings.Contains(text, `vendor="0x`) {
		t.Errorf("sysfs says little of %s:\n%s", id, text)
	}
	again, err := Replay(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Document.Root, again.Document.Root); diff != "" {
		t.Errorf("-live +replayed:\n%s", diff)
	}
}

func TestCPUInfo(t *testing.T) {
	for _, test := range []struct {
		text string
		want CPUID
	}{
		{"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\nmodel name\t: x\nstepping\t: 1\n", CPUID{Vendor: "GenuineIntel", Leaf1: "0x000406f1", Family: 6, Model: 79}},
		{"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\n", CPUID{Vendor: "AuthenticAMD", Leaf1: "0x00a10f11", Family: 175, Model: 17}},
		{"vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\nstepping\t: 0\n", CPUID{Vendor: "AuthenticAMD", Leaf1: "0x00830f10", Family: 143, Model: 49}},
		{"vendor_id\t:   Shanghai  \ncpu family\t: 7\nmodel\t\t: 91\nstepping\t: 0\n", CPUID{Vendor: "  Shanghai  ", Leaf1: "0x000507b0", Family: 7, Model: 91}},
	} {
		files := NewTree()
		files.AddFile("/proc/cpuinfo", []byte(test.text))
		got, err := readCPUInfo(files)
		if err != nil {
			t.Fatal(err)
		}
		got.ProcCPUInfo = nil
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	for _, bad := range []string{"", "vendor_id\t: x\ncpu family\t: six\nmodel\t\t: 1\n"} {
		files := NewTree()
		files.AddFile("/proc/cpuinfo", []byte(bad))
		if _, err := readCPUInfo(files); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestNCCLNote(t *testing.T) {
	for version, want := range map[int]string{0: "", 22203: "", 22200: "", 22809: "2.28.9", 21805: "2.18.5", 2708: "2.7.8", 30000: "3.0.0"} {
		got := ncclNote(version)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("version %d: %q", version, got)
		}
	}
}
