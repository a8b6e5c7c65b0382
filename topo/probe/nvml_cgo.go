//go:build cgo && linux

package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// nvmlLibrary asks NVIDIA's management library.
type nvmlLibrary struct{ api nvml.Interface }

// Devices implements NVML.
func (l nvmlLibrary) Devices() (devices []Device, err error) {
	if rc := l.api.Init(); rc != nvml.SUCCESS {
		return nil, fmt.Errorf("%w: opening libnvidia-ml.so.1: %s", ErrNoGPU, l.text(rc))
	}
	defer func() {
		if rc := l.api.Shutdown(); rc != nvml.SUCCESS && err == nil {
			err = fmt.Errorf("closing NVML: %s", l.text(rc))
		}
	}()
	count, rc := l.api.DeviceGetCount()
	if rc != nvml.SUCCESS {
		return nil, fmt.Errorf("counting GPUs with NVML: %s", l.text(rc))
	}
	handles := make([]nvml.Device, count)
	for i := range handles {
		if handles[i], rc = l.api.DeviceGetHandleByIndex(i); rc != nvml.SUCCESS {
			return nil, fmt.Errorf("NVML, GPU %d: %s", i, l.text(rc))
		}
	}
	for i, h := range handles {
		d, rc := readDevice(i, gpu{h, l.has})
		if rc != nvml.SUCCESS {
			return nil, fmt.Errorf("NVML, GPU %d: %s", i, l.text(rc))
		}
		d.P2PRead = gpu{h, l.has}.p2p(i, handles, nvml.P2P_CAPS_INDEX_READ)
		d.P2PWrite = gpu{h, l.has}.p2p(i, handles, nvml.P2P_CAPS_INDEX_WRITE)
		devices = append(devices, d)
	}
	return devices, nil
}

// has tells whether the driver knows a function. Calling one that it does not
// know would end the program.
func (l nvmlLibrary) has(function string) bool {
	return l.api.Extensions().LookupSymbol(function) == nil
}

func (l nvmlLibrary) text(rc nvml.Return) string {
	if rc == nvml.ERROR_LIBRARY_NOT_FOUND {
		return "not found" // the library would have to be there to say so
	}
	return l.api.ErrorString(rc)
}

// readDevice asks one GPU. Only what every GPU can answer may fail.
func readDevice(i int, g gpu) (Device, nvml.Return) {
	d := Device{Index: i}
	pci, rc := g.handle.GetPciInfo()
	if rc != nvml.SUCCESS {
		return d, rc
	}
	d.BusID, d.BusIDLegacy = cstring(pci.BusId[:]), cstring(pci.BusIdLegacy[:])
	major, minor, rc := g.handle.GetCudaComputeCapability()
	if rc != nvml.SUCCESS {
		return d, rc
	}
	d.ComputeCapability = [2]int{major, minor}
	if name, rc := g.handle.GetName(); rc == nvml.SUCCESS {
		d.Name = name
	}
	sm := major*10 + minor
	for l := range maxNVLinks(sm) {
		d.NVLinks = append(d.NVLinks, g.nvlink(l, sm))
	}
	d.C2CLinks = g.c2c()
	d.Fabric = g.fabric()
	return d, nvml.SUCCESS
}

// gpu asks for what a GPU or its driver may not know.
type gpu struct {
	handle nvml.Device
	has    func(function string) bool
}

func (g gpu) nvlink(l, sm int) NVLink {
	unknown := int(nvml.ERROR_FUNCTION_NOT_FOUND)
	link := NVLink{Link: l, P2PReturn: unknown, StateReturn: unknown, RemoteReturn: unknown}
	if g.has("nvmlDeviceGetNvLinkCapability") {
		capability, rc := g.handle.GetNvLinkCapability(l, nvml.NVLINK_CAP_P2P_SUPPORTED)
		link.P2PSupported, link.P2PReturn = int(capability), int(rc)
	}
	if sm >= 90 { // some drivers answer the other call wrongly for these
		v, rc := g.field(nvml.FI_DEV_NVLINK_GET_STATE, l)
		link.State, link.StateReturn = v, int(rc)
	} else if g.has("nvmlDeviceGetNvLinkState") {
		state, rc := g.handle.GetNvLinkState(l)
		link.State, link.StateReturn = int(state), int(rc)
	}
	if g.has("nvmlDeviceGetNvLinkRemotePciInfo") || g.has("nvmlDeviceGetNvLinkRemotePciInfo_v2") {
		remote, rc := g.handle.GetNvLinkRemotePciInfo(l)
		link.RemoteReturn = int(rc)
		if rc == nvml.SUCCESS {
			link.RemoteBusID, link.RemoteBusIDLegacy = cstring(remote.BusId[:]), cstring(remote.BusIdLegacy[:])
			link.RemoteType = g.remoteType(l)
		}
	}
	return link
}

func (g gpu) remoteType(l int) *string {
	if !g.has("nvmlDeviceGetNvLinkRemoteDeviceType") {
		return nil
	}
	kind, rc := g.handle.GetNvLinkRemoteDeviceType(l)
	name, known := remoteTypes[kind]
	if rc != nvml.SUCCESS || !known {
		return nil
	}
	return &name
}

var remoteTypes = map[nvml.IntNvLinkDeviceType]string{
	nvml.NVLINK_DEVICE_TYPE_GPU:    "GPU",
	nvml.NVLINK_DEVICE_TYPE_IBMNPU: "CPU",
	nvml.NVLINK_DEVICE_TYPE_SWITCH: "SWITCH",
}

// field asks for one value that NVML numbers instead of naming.
func (g gpu) field(number, scope int) (int, nvml.Return) {
	if !g.has("nvmlDeviceGetFieldValues") {
		return 0, nvml.ERROR_FUNCTION_NOT_FOUND
	}
	values := []nvml.FieldValue{{FieldId: uint32(number), ScopeId: uint32(scope)}}
	if rc := g.handle.GetFieldValues(values); rc != nvml.SUCCESS {
		return 0, rc
	}
	return int(binary.NativeEndian.Uint32(values[0].Value[:])), nvml.Return(values[0].NvmlReturn)
}

// maxC2C bounds what a driver may claim.
const maxC2C = 64

func (g gpu) c2c() []C2C {
	count, rc := g.field(nvml.FI_DEV_C2C_LINK_COUNT, 0)
	if rc != nvml.SUCCESS {
		return nil
	}
	links := make([]C2C, min(count, maxC2C))
	for l := range links {
		status, rc := g.field(nvml.FI_DEV_C2C_LINK_GET_STATUS, l)
		links[l].Status, links[l].StatusReturn = status, int(rc)
		bw, rc := g.field(nvml.FI_DEV_C2C_LINK_GET_MAX_BW, l)
		links[l].MaxBW, links[l].MaxBWReturn = bw, int(rc)
	}
	return links
}

func (g gpu) fabric() *Fabric {
	if !g.has("nvmlDeviceGetGpuFabricInfo") {
		return nil
	}
	info, rc := g.handle.GetGpuFabricInfo() // newer forms of it would not work with drivers of NCCL 2.22's time
	if rc != nvml.SUCCESS {
		return nil
	}
	return &Fabric{
		State: int(info.State), Status: int(info.Status), CliqueID: int(info.CliqueId),
		ClusterUUID: hex.EncodeToString(info.ClusterUuid[:]),
	}
}

// p2p asks what stands against a kind of access to the memory of the other GPUs.
func (g gpu) p2p(own int, all []nvml.Device, kind nvml.GpuP2PCapsIndex) []int {
	if !g.has("nvmlDeviceGetP2PStatus") {
		return nil
	}
	status := make([]int, len(all))
	for i, other := range all {
		if i == own {
			continue
		}
		s, rc := g.handle.GetP2PStatus(other, kind)
		if rc != nvml.SUCCESS {
			return nil
		}
		status[i] = int(s)
	}
	return status
}

// cstring is the text of an array of C characters.
func cstring(chars []int8) string {
	b := make([]byte, 0, len(chars))
	for _, c := range chars {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
