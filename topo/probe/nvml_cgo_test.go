//go:build cgo && linux

package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// nvmlServer is NVIDIA's library with the answers of a recording.
func nvmlServer(devices []Device) *mock.Interface {
	return oldServer(devices)
}

// oldServer is the same library without some of its functions.
func oldServer(devices []Device, lacks ...string) *mock.Interface {
	handles := make([]*mock.Device, len(devices))
	for i := range devices {
		handles[i] = nvmlDevice(devices[i], handles)
	}
	return &mock.Interface{
		InitFunc:     func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc: func() nvml.Return { return nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(name string) error {
				if slices.Contains(lacks, name) {
					return errors.New("no " + name)
				}
				return nil
			}}
		},
		ErrorStringFunc:    func(nvml.Return) string { return "error text" },
		DeviceGetCountFunc: func() (int, nvml.Return) { return len(devices), nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return handles[i], nvml.SUCCESS
		},
	}
}

func nvmlDevice(d Device, all []*mock.Device) *mock.Device {
	link := func(l int) NVLink {
		for _, known := range d.NVLinks {
			if known.Link == l {
				return known
			}
		}
		bad := int(nvml.ERROR_INVALID_ARGUMENT)
		return NVLink{P2PReturn: bad, StateReturn: bad, RemoteReturn: bad}
	}
	return &mock.Device{
		GetNameFunc:    func() (string, nvml.Return) { return d.Name, nvml.SUCCESS },
		GetPciInfoFunc: func() (nvml.PciInfo, nvml.Return) { return pciInfo(d.BusID, d.BusIDLegacy), nvml.SUCCESS },
		GetCudaComputeCapabilityFunc: func() (int, int, nvml.Return) {
			return d.ComputeCapability[0], d.ComputeCapability[1], nvml.SUCCESS
		},
		GetNvLinkCapabilityFunc: func(l int, c nvml.NvLinkCapability) (uint32, nvml.Return) {
			if c != nvml.NVLINK_CAP_P2P_SUPPORTED {
				return 0, nvml.ERROR_INVALID_ARGUMENT
			}
			return uint32(link(l).P2PSupported), nvml.Return(link(l).P2PReturn)
		},
		GetNvLinkStateFunc: func(l int) (nvml.EnableState, nvml.Return) {
			if d.ComputeCapability[0] >= 9 {
				return nvml.FEATURE_DISABLED, nvml.SUCCESS // what drivers wrongly say
			}
			return nvml.EnableState(link(l).State), nvml.Return(link(l).StateReturn)
		},
		GetNvLinkRemotePciInfoFunc: func(l int) (nvml.PciInfo, nvml.Return) {
			return pciInfo(link(l).RemoteBusID, link(l).RemoteBusIDLegacy), nvml.Return(link(l).RemoteReturn)
		},
		GetNvLinkRemoteDeviceTypeFunc: func(l int) (nvml.IntNvLinkDeviceType, nvml.Return) {
			for kind, name := range remoteTypes {
				if t := link(l).RemoteType; t != nil && *t == name {
					return kind, nvml.SUCCESS
				}
			}
			return 0, nvml.ERROR_NOT_SUPPORTED
		},
		GetFieldValuesFunc: func(v []nvml.FieldValue) nvml.Return { return fieldValues(d, link, v) },
		GetGpuFabricInfoFunc: func() (nvml.GpuFabricInfo, nvml.Return) {
			if d.Fabric == nil {
				return nvml.GpuFabricInfo{}, nvml.ERROR_NOT_SUPPORTED
			}
			return nvml.GpuFabricInfo{State: uint8(d.Fabric.State)}, nvml.SUCCESS
		},
		GetP2PStatusFunc: func(other nvml.Device, kind nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
			status := d.P2PRead
			if kind == nvml.P2P_CAPS_INDEX_WRITE {
				status = d.P2PWrite
			}
			for i := range all {
				if all[i] == other && i < len(status) {
					return nvml.GpuP2PStatus(status[i]), nvml.SUCCESS
				}
			}
			return 0, nvml.ERROR_NOT_SUPPORTED
		},
	}
}

func fieldValues(d Device, link func(int) NVLink, v []nvml.FieldValue) nvml.Return {
	for i := range v {
		value, rc := 0, int(nvml.ERROR_NOT_SUPPORTED)
		l := int(v[i].ScopeId)
		switch id := int(v[i].FieldId); {
		case id == nvml.FI_DEV_NVLINK_GET_STATE && d.ComputeCapability[0] >= 9:
			value, rc = link(l).State, link(l).StateReturn
		case id == nvml.FI_DEV_C2C_LINK_COUNT && d.C2CLinks != nil:
			value, rc = len(d.C2CLinks), 0
		case id == nvml.FI_DEV_C2C_LINK_GET_STATUS && l < len(d.C2CLinks):
			value, rc = d.C2CLinks[l].Status, d.C2CLinks[l].StatusReturn
		case id == nvml.FI_DEV_C2C_LINK_GET_MAX_BW && l < len(d.C2CLinks):
			value, rc = d.C2CLinks[l].MaxBW, d.C2CLinks[l].MaxBWReturn
		}
		binary.NativeEndian.PutUint32(v[i].Value[:], uint32(value))
		v[i].NvmlReturn = uint32(rc)
	}
	return nvml.SUCCESS
}

func pciInfo(busID, legacy string) (p nvml.PciInfo) {
	for i, c := range []byte(busID) {
		p.BusId[i] = int8(c)
	}
	for i, c := range []byte(legacy) {
		p.BusIdLegacy[i] = int8(c)
	}
	return p
}

// TestNVMLPlaysMachines asks a library that plays each recorded machine, and
// probes with what it said.
func TestNVMLPlaysMachines(t *testing.T) {
	dirs, err := filepath.Glob("testdata/machines/*")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, dir := range dirs {
		if !IsRecording(dir) {
			continue
		}
		p, ranks, err := Load(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Host.Devices, err = (nvmlLibrary{nvmlServer(p.Host.Devices)}).Devices(); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		doc, err := p.Probe(ranks)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := ncclxml.Encode(&got, doc); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, "expect.xml"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", dir, diff)
		}
		played++
	}
	if played < 10 {
		t.Errorf("only %d machines played", played)
	}
}

func TestNVMLKeepsAllAnswers(t *testing.T) {
	gpu, sw := "GPU", "SWITCH"
	want := []Device{
		{Index: 0, Name: "A", BusID: "00000000:0A:00.0", BusIDLegacy: "0000:0A:00.0", ComputeCapability: [2]int{6, 0}, P2PRead: []int{0, 3}, P2PWrite: []int{0, 4},
			NVLinks: []NVLink{
				{Link: 0, P2PSupported: 1, State: 1, RemoteBusID: "00000000:0B:00.0", RemoteBusIDLegacy: "0000:0B:00.0", RemoteType: &gpu},
				{Link: 1, P2PSupported: 1, State: 0, RemoteBusID: "FFFFFFFF:FF:FF.0", RemoteBusIDLegacy: "FFFFFFF:FF:FF.0", RemoteType: &sw},
				{Link: 2, P2PReturn: 3, StateReturn: 3, RemoteReturn: 3},
				{Link: 3, P2PReturn: 2, StateReturn: 2, RemoteReturn: 2},
			}},
		{Index: 1, Name: "B", BusID: "00000000:0B:00.0", BusIDLegacy: "0000:0B:00.0", ComputeCapability: [2]int{5, 2}, P2PRead: []int{1, 0}, P2PWrite: []int{0, 0},
			C2CLinks: []C2C{{Status: 1, MaxBW: 7}, {StatusReturn: 3, MaxBWReturn: 2}}},
	}
	got, err := nvmlLibrary{nvmlServer(want)}.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOldNVML: a driver without a function must not be asked for it.
func TestOldNVML(t *testing.T) {
	devices := []Device{{ComputeCapability: [2]int{9, 0}}, {ComputeCapability: [2]int{7, 0}}}
	lacks := []string{
		"nvmlDeviceGetNvLinkCapability", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo", "nvmlDeviceGetNvLinkRemotePciInfo_v2",
		"nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetP2PStatus",
	}
	got, err := nvmlLibrary{oldServer(devices, lacks...)}.Devices()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range got {
		if d.C2CLinks != nil || d.Fabric != nil || d.P2PRead != nil || d.P2PWrite != nil || len(d.NVLinks) == 0 {
			t.Errorf("GPU %d: %+v", i, d)
		}
		for _, l := range d.NVLinks {
			if unknown := int(nvml.ERROR_FUNCTION_NOT_FOUND); l.P2PReturn != unknown || l.StateReturn != unknown || l.RemoteReturn != unknown {
				t.Errorf("GPU %d: %+v", i, l)
			}
		}
	}
}

func TestNVMLFailures(t *testing.T) {
	noDriver := &mock.Interface{InitFunc: func() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND }}
	if _, err := (nvmlLibrary{noDriver}).Devices(); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without a library: %v", err)
	}
	broken := nvmlServer(make([]Device, 1))
	broken.DeviceGetHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_GPU_IS_LOST }
	if _, err := (nvmlLibrary{broken}).Devices(); err == nil || errors.Is(err, ErrNoGPU) {
		t.Errorf("with a lost GPU: %v", err)
	}
}

// TestThisMachine asks the machine that the test runs on, whatever it is.
func TestThisMachine(t *testing.T) {
	r, err := Live(System(), Options{})
	if errors.Is(err, ErrNoGPU) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.Document.Root.Child("cpu") == nil {
		t.Error("a machine without a socket")
	}
}
