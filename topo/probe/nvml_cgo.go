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
	for i := range handles {
		d, rc := readDevice(i, handles)
		if rc != nvml.SUCCESS {
			return nil, fmt.Errorf("NVML, GPU %d: %s", i, l.text(rc))
		}
		devices = append(devices, d)
	}
	return devices, nil
}

func (l nvmlLibrary) text(rc nvml.Return) string {
	if rc == nvml.ERROR_LIBRARY_NOT_FOUND {
		return "not found" // the library would have to be there to say so
	}
	return l.api.ErrorString(rc)
}

// readDevice asks one GPU. Only what every GPU can answer may fail.
func readDevice(i int, handles []nvml.Device) (Device, nvml.Return) {
	h := handles[i]
	d := Device{Index: i}
	pci, rc := h.GetPciInfo()
	if rc != nvml.SUCCESS {
		return d, rc
	}
	d.BusID, d.BusIDLegacy = cstring(pci.BusId[:]), cstring(pci.BusIdLegacy[:])
	major, minor, rc := h.GetCudaComputeCapability()
	if rc != nvml.SUCCESS {
		return d, rc
	}
	d.ComputeCapability = [2]int{major, minor}
	if name, rc := h.GetName(); rc == nvml.SUCCESS {
		d.Name = name
	}
	sm := major*10 + minor
	for l := range maxNVLinks(sm) {
		d.NVLinks = append(d.NVLinks, readNVLink(h, l, sm))
	}
	d.C2CLinks = readC2C(h)
	d.Fabric = readFabric(h)
	d.P2P = readP2P(i, handles)
	return d, nvml.SUCCESS
}

func readNVLink(h nvml.Device, l, sm int) NVLink {
	link := NVLink{Link: l}
	capability, rc := h.GetNvLinkCapability(l, nvml.NVLINK_CAP_P2P_SUPPORTED)
	link.P2PSupported, link.P2PReturn = int(capability), int(rc)
	if sm >= 90 { // older drivers answer the other call wrongly for these
		v, rc := readField(h, nvml.FI_DEV_NVLINK_GET_STATE, l)
		link.State, link.StateReturn = v, int(rc)
	} else {
		state, rc := h.GetNvLinkState(l)
		link.State, link.StateReturn = int(state), int(rc)
	}
	remote, rc := h.GetNvLinkRemotePciInfo(l)
	link.RemoteReturn = int(rc)
	if rc != nvml.SUCCESS {
		return link
	}
	link.RemoteBusID, link.RemoteBusIDLegacy = cstring(remote.BusId[:]), cstring(remote.BusIdLegacy[:])
	if kind, rc := h.GetNvLinkRemoteDeviceType(l); rc == nvml.SUCCESS {
		if name := remoteTypes[kind]; name != "" {
			link.RemoteType = &name
		}
	}
	return link
}

var remoteTypes = map[nvml.IntNvLinkDeviceType]string{
	nvml.NVLINK_DEVICE_TYPE_GPU:    "GPU",
	nvml.NVLINK_DEVICE_TYPE_IBMNPU: "CPU",
	nvml.NVLINK_DEVICE_TYPE_SWITCH: "SWITCH",
}

// readField asks for one value that NVML numbers instead of naming.
func readField(h nvml.Device, field, scope int) (int, nvml.Return) {
	values := []nvml.FieldValue{{FieldId: uint32(field), ScopeId: uint32(scope)}}
	if rc := h.GetFieldValues(values); rc != nvml.SUCCESS {
		return 0, rc
	}
	return int(binary.NativeEndian.Uint32(values[0].Value[:])), nvml.Return(values[0].NvmlReturn)
}

// maxC2C bounds what a driver may claim.
const maxC2C = 64

func readC2C(h nvml.Device) []C2C {
	count, rc := readField(h, nvml.FI_DEV_C2C_LINK_COUNT, 0)
	if rc != nvml.SUCCESS {
		return nil
	}
	links := make([]C2C, min(count, maxC2C))
	for l := range links {
		status, rc := readField(h, nvml.FI_DEV_C2C_LINK_GET_STATUS, l)
		links[l].Status, links[l].StatusReturn = status, int(rc)
		bw, rc := readField(h, nvml.FI_DEV_C2C_LINK_GET_MAX_BW, l)
		links[l].MaxBW, links[l].MaxBWReturn = bw, int(rc)
	}
	return links
}

func readFabric(h nvml.Device) *Fabric {
	info, rc := h.GetGpuFabricInfo() //nolint:staticcheck // what drivers of NCCL 2.22's time answer
	if rc != nvml.SUCCESS {
		return nil
	}
	return &Fabric{
		State: int(info.State), Status: int(info.Status), CliqueID: int(info.CliqueId),
		ClusterUUID: hex.EncodeToString(info.ClusterUuid[:]),
	}
}

func readP2P(i int, handles []nvml.Device) []int {
	status := make([]int, len(handles))
	for j, other := range handles {
		if j == i {
			continue
		}
		s, rc := handles[i].GetP2PStatus(other, nvml.P2P_CAPS_INDEX_READ)
		if rc != nvml.SUCCESS {
			return nil
		}
		status[j] = int(s)
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
