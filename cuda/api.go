package cuda

import "unsafe"

// Ptr is an address in a device's memory, or of pinned host memory as devices
// see it.
type Ptr uint64

// IPCHandle names an allocation to other processes of the same machine.
type IPCHandle struct{ Bytes [64]byte }

// API is the driver's functions by their C signatures, with uintptr for every
// handle. The tag is the exported
// symbol; an optional one may be missing in older drivers.
type API struct {
	Init             func(flags uint32) Result                                                `cuda:"cuInit"`
	DriverGetVersion func(v *int32) Result                                                    `cuda:"cuDriverGetVersion"`
	GetErrorName     func(r Result, s **byte) Result                                          `cuda:"cuGetErrorName"`
	GetErrorString   func(r Result, s **byte) Result                                          `cuda:"cuGetErrorString"`
	DeviceGetCount   func(n *int32) Result                                                    `cuda:"cuDeviceGetCount"`
	DeviceGet        func(dev *int32, ordinal int32) Result                                   `cuda:"cuDeviceGet"`
	DeviceGetName    func(name *byte, n int32, dev int32) Result                              `cuda:"cuDeviceGetName"`
	DeviceGetUUID    func(uuid *[16]byte, dev int32) Result                                   `cuda:"cuDeviceGetUuid_v2,cuDeviceGetUuid"`
	DeviceGetPCI     func(id *byte, n int32, dev int32) Result                                `cuda:"cuDeviceGetPCIBusId"`
	DeviceTotalMem   func(bytes *uint64, dev int32) Result                                    `cuda:"cuDeviceTotalMem_v2"`
	DeviceAttribute  func(v *int32, attr Attribute, dev int32) Result                         `cuda:"cuDeviceGetAttribute"`
	DeviceCanAccess  func(can *int32, dev, peer int32) Result                                 `cuda:"cuDeviceCanAccessPeer"`
	DeviceP2P        func(v *int32, attr int32, dev, peer int32) Result                       `cuda:"cuDeviceGetP2PAttribute"`
	PrimaryRetain    func(c *uintptr, dev int32) Result                                       `cuda:"cuDevicePrimaryCtxRetain"`
	PrimaryRelease   func(dev int32) Result                                                   `cuda:"cuDevicePrimaryCtxRelease_v2"`
	CtxSetCurrent    func(c uintptr) Result                                                   `cuda:"cuCtxSetCurrent"`
	CtxSynchronize   func() Result                                                            `cuda:"cuCtxSynchronize"`
	CtxEnablePeer    func(peer uintptr, flags uint32) Result                                  `cuda:"cuCtxEnablePeerAccess"`
	CtxDisablePeer   func(peer uintptr) Result                                                `cuda:"cuCtxDisablePeerAccess"`
	ModuleLoadDataEx func(m *uintptr, image *byte, n uint32, opt *int32, val *uintptr) Result `cuda:"cuModuleLoadDataEx"`
	ModuleUnload     func(m uintptr) Result                                                   `cuda:"cuModuleUnload"`
	ModuleFunction   func(f *uintptr, m uintptr, name *byte) Result                           `cuda:"cuModuleGetFunction"`
	FuncAttribute    func(v *int32, attr int32, f uintptr) Result                             `cuda:"cuFuncGetAttribute"`
	FuncLoad         func(f uintptr) Result                                                   `cuda:"cuFuncLoad,optional"`
	Occupancy        func(n *int32, f uintptr, block int32, shared uint64) Result             `cuda:"cuOccupancyMaxActiveBlocksPerMultiprocessor"`
	MemGetInfo       func(free, total *uint64) Result                                         `cuda:"cuMemGetInfo_v2"`
	MemAlloc         func(p *Ptr, n uint64) Result                                            `cuda:"cuMemAlloc_v2"`
	MemFree          func(p Ptr) Result                                                       `cuda:"cuMemFree_v2"`
	MemHostAlloc     func(p *unsafe.Pointer, n uint64, flags uint32) Result                   `cuda:"cuMemHostAlloc"`
	MemFreeHost      func(p unsafe.Pointer) Result                                            `cuda:"cuMemFreeHost"`
	MemHostPtr       func(d *Ptr, p unsafe.Pointer, flags uint32) Result                      `cuda:"cuMemHostGetDevicePointer_v2"`
	MemHostRegister  func(p unsafe.Pointer, n uint64, flags uint32) Result                    `cuda:"cuMemHostRegister_v2"`
	MemHostUnreg     func(p unsafe.Pointer) Result                                            `cuda:"cuMemHostUnregister"`
	MemcpyHtoD       func(d Ptr, s unsafe.Pointer, n uint64) Result                           `cuda:"cuMemcpyHtoD_v2"`
	MemcpyDtoH       func(d unsafe.Pointer, s Ptr, n uint64) Result                           `cuda:"cuMemcpyDtoH_v2"`
	MemcpyAsync      func(d, s Ptr, n uint64, st uintptr) Result                              `cuda:"cuMemcpyAsync"`
	MemsetD8Async    func(d Ptr, v uint8, n uint64, st uintptr) Result                        `cuda:"cuMemsetD8Async"`
	PointerAttribute func(v unsafe.Pointer, attr int32, p Ptr) Result                         `cuda:"cuPointerGetAttribute"`
	IPCGetHandle     func(h *IPCHandle, p Ptr) Result                                         `cuda:"cuIpcGetMemHandle"`
	IPCOpenHandle    func(p *Ptr, h IPCHandle, flags uint32) Result                           `cuda:"cuIpcOpenMemHandle_v2"`
	IPCCloseHandle   func(p Ptr) Result                                                       `cuda:"cuIpcCloseMemHandle"`
	StreamCreate     func(s *uintptr, flags uint32) Result                                    `cuda:"cuStreamCreate"`
	StreamDestroy    func(s uintptr) Result                                                   `cuda:"cuStreamDestroy_v2"`
	StreamSync       func(s uintptr) Result                                                   `cuda:"cuStreamSynchronize"`
	StreamQuery      func(s uintptr) Result                                                   `cuda:"cuStreamQuery,hot"`
	StreamWaitEvent  func(s uintptr, e uintptr, flags uint32) Result                          `cuda:"cuStreamWaitEvent"`
	StreamWaitValue  func(s uintptr, p Ptr, v uint32, flags uint32) Result                    `cuda:"cuStreamWaitValue32_v2,cuStreamWaitValue32,optional"`
	StreamCapture    func(s uintptr, mode int32) Result                                       `cuda:"cuStreamBeginCapture_v2"`
	StreamEndCapture func(s uintptr, g *uintptr) Result                                       `cuda:"cuStreamEndCapture"`
	GraphInstantiate func(e *uintptr, g uintptr, flags uint64) Result                         `cuda:"cuGraphInstantiateWithFlags"`
	GraphLaunch      func(e uintptr, s uintptr) Result                                        `cuda:"cuGraphLaunch,hot"`
	GraphExecDestroy func(e uintptr) Result                                                   `cuda:"cuGraphExecDestroy"`
	GraphDestroy     func(g uintptr) Result                                                   `cuda:"cuGraphDestroy"`
	EventCreate      func(e *uintptr, flags uint32) Result                                    `cuda:"cuEventCreate"`
	EventDestroy     func(e uintptr) Result                                                   `cuda:"cuEventDestroy_v2"`
	EventRecord      func(e uintptr, s uintptr) Result                                        `cuda:"cuEventRecord,hot"`
	EventQuery       func(e uintptr) Result                                                   `cuda:"cuEventQuery,hot"`
	EventSync        func(e uintptr) Result                                                   `cuda:"cuEventSynchronize"`
	EventElapsed     func(ms *float32, a, b uintptr) Result                                   `cuda:"cuEventElapsedTime"`

	// Launches have eleven and ten parameters; they are bound by hand.
	Launch            func(f uintptr, grid, block, shared uint32, s uintptr, params *unsafe.Pointer) Result
	LaunchCooperative func(f uintptr, grid, block, shared uint32, s uintptr, params *unsafe.Pointer) Result
}

// Attribute is a number that the driver knows of a device.
type Attribute int32

// Attributes in use, with the driver's numbers.
const (
	AttrSMs              Attribute = 16
	AttrMajor            Attribute = 75
	AttrMinor            Attribute = 76
	AttrCooperative      Attribute = 95
	AttrComputeMode      Attribute = 20
	AttrUnifiedAddresses Attribute = 41
)
