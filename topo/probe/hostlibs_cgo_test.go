//go:build cgo && linux

package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compile makes a shared library of C source, to stand for one that this
// machine lacks.
func compile(t *testing.T, name, source string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	file := filepath.Join(t.TempDir(), name)
	cmd := exec.Command(cc, "-shared", "-fPIC", "-o", file, "-x", "c", "-")
	cmd.Stdin = strings.NewReader(source)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCUDADriver(t *testing.T) {
	lib := compile(t, "libcuda.so", `
#include <stdio.h>
int cuInit(unsigned flags) { return flags; }
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *dev, int i) { *dev = 100 + i; return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int dev) { snprintf(s, n, "0000:%02X:00.0", dev); return 0; }
int cuDeviceGetAttribute(int *v, int attribute, int dev) {
	if (attribute == 116) { *v = 1; return 0; }
	if (attribute == 124 && dev == 100) { *v = 1; return 0; }
	return 1;
}`)
	version, devices, err := cudaDriver{lib}.Devices()
	if err != nil {
		t.Fatal(err)
	}
	want := []CUDADevice{
		{Dev: 0, BusID: "0000:64:00.0", GPUDirectRDMA: 1, DMABuf: 1},
		{Dev: 1, BusID: "0000:65:00.0", GPUDirectRDMA: 1},
	}
	if diff := cmp.Diff(want, devices); diff != "" || version != 12040 {
		t.Errorf("version %d, -want +got:\n%s", version, diff)
	}
}

func TestCUDADriverFailures(t *testing.T) {
	if _, _, err := (cudaDriver{"libnothere.so"}).Devices(); err == nil {
		t.Error("a library that is not there has devices")
	}
	empty := compile(t, "libcuda.so", "int cuInit(unsigned flags) { return 100; }")
	if _, _, err := (cudaDriver{empty}).Devices(); err == nil || !strings.Contains(err.Error(), "cuDriverGetVersion") {
		t.Errorf("a library without functions: %v", err)
	}
	failing := compile(t, "libcuda2.so", fmt.Sprintf(noCUDA, 3))
	if _, _, err := (cudaDriver{failing}).Devices(); err == nil || !strings.Contains(err.Error(), "cuInit failed with error 3") {
		t.Errorf("a driver that does not start: %v", err)
	}
	hidden := compile(t, "libcuda3.so", fmt.Sprintf(noCUDA, cudaNoDevice))
	if _, _, err := (cudaDriver{hidden}).Devices(); !errors.Is(err, ErrNoGPU) {
		t.Errorf("a driver without a GPU: %v", err)
	}
}

const noCUDA = `
int cuInit(unsigned flags) { return %d; }
int cuDriverGetVersion(int *v) { return 0; }
int cuDeviceGetCount(int *v) { return 0; }
int cuDeviceGet(int *v, int i) { return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int d) { return 0; }`

// verbsSource is a library with two devices, the second of which cannot be
// opened, written with the offsets of the interface's structures.
const verbsSource = `
#include <errno.h>
#include <stdint.h>
#include <string.h>
static void *list[] = {"mlx5_0", "mlx5_9", 0};
void **ibv_get_device_list(int *n) { *n = 2; return list; }
void ibv_free_device_list(void **l) {}
const char *ibv_get_device_name(void *dev) { return dev; }
void *ibv_open_device(void *dev) { return strcmp(dev, "mlx5_9") ? dev : 0; }
int ibv_close_device(void *c) { return 0; }
int ibv_query_device(void *c, char *a) {
	memset(a, 0xee, 232);
	memcpy(a + 72, "\x50\x6b\x4b\x03\x00\x45\x9a\x00", 8);
	int32_t qps = 262144;
	memcpy(a + 108, &qps, 4);
	a[227] = 3;
	return 0;
}
int ibv_query_port(void *c, uint8_t port, char *a) {
	if (port == 2) return EINVAL;
	memset(a, 0xee, 48);
	uint32_t state = port == 1 ? 4 : 1;
	memcpy(a, &state, 4);
	a[43] = 2; a[44] = 32; a[46] = 1;
	return 0;
}
void *ibv_alloc_pd(void *c) { return c; }
int ibv_dealloc_pd(void *pd) { return 0; }
`

func TestVerbsLibrary(t *testing.T) {
	for _, test := range []struct{ register, errno string }{
		{"", "EOPNOTSUPP"},
		{"void *ibv_reg_dmabuf_mr(void *pd, uint64_t o, uint64_t n, uint64_t v, int fd, int a) { errno = fd == -1 ? EBADF : 0; return 0; }", "EBADF"},
		{"void *ibv_reg_dmabuf_mr(void *pd, uint64_t o, uint64_t n, uint64_t v, int fd, int a) { errno = EPROTONOSUPPORT; return 0; }", "EPROTONOSUPPORT"},
	} {
		got, err := hostNetwork{compile(t, "libibverbs.so", verbsSource+test.register)}.Verbs()
		if err != nil {
			t.Fatal(err)
		}
		want := &Verbs{DMABufErrno: test.errno, Devices: []VerbsDevice{{
			Name: "mlx5_0", SysImageGUID: "506b4b0300459a00", MaxQP: 262144,
			Ports: []VerbsPort{
				{Port: 1, State: 4, LinkLayer: 1, ActiveSpeed: 32, ActiveWidth: 2},
				{Port: 3, State: 1, LinkLayer: 1, ActiveSpeed: 32, ActiveWidth: 2},
			},
		}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	if got, err := (hostNetwork{"libnothere.so"}).Verbs(); got != nil || err != nil {
		t.Errorf("without a library: %v, %v", got, err)
	}
}

// TestInterfaces compares the host's addresses with those that Go finds.
func TestInterfaces(t *testing.T) {
	got, err := hostNetwork{}.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, i := range got {
		if addr, ok := i.address(); ok {
			have = append(have, i.Name+" "+addr.String())
		}
	}
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addrs {
			if ip, ok := a.(*net.IPNet); ok {
				want = append(want, i.Name+" "+ip.IP.String())
			}
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNCCLVersion(t *testing.T) {
	lib := compile(t, "libnccl.so", "int ncclGetVersion(int *v) { *v = 22809; return 0; }")
	if v := ncclVersion(lib); v != 22809 {
		t.Errorf("version %d", v)
	}
	if v := ncclVersion("libnothere.so"); v != 0 {
		t.Errorf("a library that is not there has version %d", v)
	}
}
