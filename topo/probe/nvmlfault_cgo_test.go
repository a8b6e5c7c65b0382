//go:build cgo && linux

package probe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// failing counts the calls to a library and lets one of them fail.
type failing struct {
	call, at int // the calls so far, and the one that fails; 0 for none
	rc       nvml.Return
	failed   string // what was called then
}

// fails tells whether it is this call's turn.
func (f *failing) fails(name string) bool {
	f.call++
	if f.call != f.at {
		return false
	}
	f.failed = name
	return true
}

// one makes a call with one answer fail in its turn.
func one[V any](f *failing, name string, call func() (V, nvml.Return)) func() (V, nvml.Return) {
	return func() (V, nvml.Return) {
		if f.fails(name) {
			var none V
			return none, f.rc
		}
		return call()
	}
}

// of makes a call about something fail in its turn.
func of[A, V any](f *failing, name string, call func(A) (V, nvml.Return)) func(A) (V, nvml.Return) {
	return func(a A) (V, nvml.Return) {
		return one(f, name, func() (V, nvml.Return) { return call(a) })()
	}
}

// library is a library of two GPUs whose calls fail in their turn.
func (f *failing) library() *mock.Interface {
	gpu := "GPU"
	device := func(own, other string) Device {
		return Device{
			Name: "GPU at " + own, BusID: "0000" + own, BusIDLegacy: own, ComputeCapability: [2]int{9, 0}, P2PRead: []int{0, 0}, P2PWrite: []int{0, 0},
			NVLinks:  []NVLink{{Link: 0, P2PSupported: 1, State: 1, RemoteBusID: "0000" + other, RemoteBusIDLegacy: other, RemoteType: &gpu}},
			C2CLinks: []C2C{{Status: 1, MaxBW: 44712}}, Fabric: &Fabric{State: 3},
		}
	}
	devices := []Device{device("0000:0A:00.0", "0000:0B:00.0"), device("0000:0B:00.0", "0000:0A:00.0")}
	lib := nvmlServer(devices)
	for i := range devices {
		h, _ := lib.DeviceGetHandleByIndexFunc(i)
		f.wrap(h.(*mock.Device))
	}
	lib.InitFunc = f.plain("Init", lib.InitFunc)
	lib.ShutdownFunc = f.plain("Shutdown", lib.ShutdownFunc)
	lib.DeviceGetCountFunc = one(f, "DeviceGetCount", lib.DeviceGetCountFunc)
	lib.DeviceGetHandleByIndexFunc = of(f, "DeviceGetHandleByIndex", lib.DeviceGetHandleByIndexFunc)
	return lib
}

func (f *failing) plain(name string, call func() nvml.Return) func() nvml.Return {
	return func() nvml.Return {
		if f.fails(name) {
			return f.rc
		}
		return call()
	}
}

func (f *failing) wrap(d *mock.Device) {
	d.GetNameFunc = one(f, "GetName", d.GetNameFunc)
	d.GetPciInfoFunc = one(f, "GetPciInfo", d.GetPciInfoFunc)
	d.GetGpuFabricInfoFunc = one(f, "GetGpuFabricInfo", d.GetGpuFabricInfoFunc)
	d.GetNvLinkStateFunc = of(f, "GetNvLinkState", d.GetNvLinkStateFunc)
	d.GetNvLinkRemotePciInfoFunc = of(f, "GetNvLinkRemotePciInfo", d.GetNvLinkRemotePciInfoFunc)
	d.GetNvLinkRemoteDeviceTypeFunc = of(f, "GetNvLinkRemoteDeviceType", d.GetNvLinkRemoteDeviceTypeFunc)
	capability, capable := d.GetCudaComputeCapabilityFunc, d.GetNvLinkCapabilityFunc
	d.GetCudaComputeCapabilityFunc = func() (int, int, nvml.Return) {
		if f.fails("GetCudaComputeCapability") {
			return 0, 0, f.rc
		}
		return capability()
	}
	d.GetNvLinkCapabilityFunc = func(l int, c nvml.NvLinkCapability) (uint32, nvml.Return) {
		return one(f, "GetNvLinkCapability", func() (uint32, nvml.Return) { return capable(l, c) })()
	}
	values, status := d.GetFieldValuesFunc, d.GetP2PStatusFunc
	d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
		return f.plain("GetFieldValues", func() nvml.Return { return values(v) })()
	}
	d.GetP2PStatusFunc = func(o nvml.Device, k nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
		return one(f, "GetP2PStatus", func() (nvml.GpuP2PStatus, nvml.Return) { return status(o, k) })()
	}
}

// needed are the calls without whose answer there is no machine, and what the
// error says about which of them failed.
var needed = map[string]string{
	"Init": "opening libnvidia-ml.so.1", "Shutdown": "closing NVML", "DeviceGetCount": "counting GPUs",
	"DeviceGetHandleByIndex": "GPU ", "GetPciInfo": "GPU ", "GetCudaComputeCapability": "GPU ",
}

// TestNVMLFailsCallByCall lets each call in turn fail in each of the ways that
// drivers fail: an error says which it was, or the GPUs are there without what
// could not be asked. The library is closed whenever it was opened.
func TestNVMLFailsCallByCall(t *testing.T) {
	count := &failing{}
	good, err := nvmlLibrary{count.library()}.Devices()
	if err != nil || len(good) != 2 {
		t.Fatalf("%d GPUs, %v", len(good), err)
	}
	seen := map[string]bool{}
	for at := 1; at <= count.call; at++ {
		for _, rc := range []nvml.Return{
			nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_NO_PERMISSION, nvml.ERROR_GPU_IS_LOST, nvml.ERROR_TIMEOUT, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_UNKNOWN,
		} {
			f := &failing{at: at, rc: rc}
			lib := f.library()
			got, err := nvmlLibrary{lib}.Devices()
			seen[f.failed] = true
			where := fmt.Sprintf("call %d (%s) with return code %d", at, f.failed, rc)
			checkFailure(t, where, f.failed, got, err)
			if opened := f.failed != "Init"; opened != (len(lib.ShutdownCalls()) == 1) {
				t.Errorf("%s: closed %d times", where, len(lib.ShutdownCalls()))
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d kinds of calls", len(seen))
	}
}

func checkFailure(t *testing.T, where, call string, got []Device, err error) {
	t.Helper()
	if word, must := needed[call]; must {
		if err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "error text") {
			t.Errorf("%s: error %v, want one about %q", where, err, word)
		}
		if errors.Is(err, ErrNoGPU) != (call == "Init") {
			t.Errorf("%s: taken for a machine without a GPU: %v", where, err)
		}
		return
	}
	if err != nil || len(got) != 2 {
		t.Errorf("%s: %d GPUs, %v", where, len(got), err)
		return
	}
	// With one answer less there is less in one GPU: nothing is made up.
	for i, own := range []string{"0000:0A:00.0", "0000:0B:00.0"} {
		target, up := got[i].peer(0)
		if got[i].BusIDLegacy != own || got[i].ComputeCapability != [2]int{9, 0} || up && target != strings.ToLower([]string{"0000:0B:00.0", "0000:0A:00.0"}[i]) {
			t.Errorf("%s: %+v", where, got[i])
		}
		for l := 1; l < maxNVLinks(90); l++ {
			if _, up := got[i].peer(l); up {
				t.Errorf("%s: GPU %d has a link %d", where, i, l)
			}
		}
	}
}
