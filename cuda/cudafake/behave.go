package cudafake

import (
	"bytes"
	"unsafe"

	"github.com/ringtopo/ringtopo/cuda"
)

const (
	outOfMemory = cuda.OutOfMemory
	tooLarge    = cuda.CoopTooLarge
	badAddress  = cuda.Result(1)
)

// behave fills in the functions that do more than succeed. They run under the
// driver's lock.
func (d *Driver) behave(api *cuda.API) {
	d.behaveDevices(api)
	d.behaveMemory(api)
	d.behaveModules(api)
	d.behaveHandles(api)
}

func (d *Driver) behaveDevices(api *cuda.API) {
	api.DriverGetVersion = func(v *int32) cuda.Result { *v = 13000; return 0 }
	api.GetErrorName = func(r cuda.Result, s **byte) cuda.Result {
		name := []byte("CUDA_ERROR_FAKE\x00")
		*s = &name[0]
		return 0
	}
	api.DeviceGetCount = func(n *int32) cuda.Result { *n = int32(d.GPUs); return 0 }
	api.DeviceGet = func(dev *int32, ordinal int32) cuda.Result { *dev = ordinal; return 0 }
	api.DeviceGetName = func(p *byte, n int32, dev int32) cuda.Result { write(p, n, "Fake GPU"); return 0 }
	api.DeviceGetPCI = func(p *byte, n int32, dev int32) cuda.Result { write(p, n, busID(dev)); return 0 }
	api.DeviceGetUUID = func(u *[16]byte, dev int32) cuda.Result {
		u[0] = byte(dev + 1)
		return 0
	}
	api.DeviceTotalMem = func(n *uint64, dev int32) cuda.Result { *n = uint64(d.Memory); return 0 }
	api.DeviceAttribute = func(v *int32, a cuda.Attribute, dev int32) cuda.Result {
		*v = map[cuda.Attribute]int32{cuda.AttrSMs: int32(d.SMs), cuda.AttrMajor: int32(d.Major), cuda.AttrCooperative: 1}[a]
		return 0
	}
	api.FuncLoad = func(uintptr) cuda.Result { return 0 }
	api.DeviceP2P = func(v *int32, _, _, _ int32) cuda.Result {
		*v = 1
		return 0
	}
	api.DeviceCanAccess = func(can *int32, dev, peer int32) cuda.Result {
		*can = 1
		if d.NoPeers || dev == peer {
			*can = 0
		}
		return 0
	}
	api.MemGetInfo = func(free, total *uint64) cuda.Result {
		*free, *total = uint64(d.Memory), uint64(d.Memory)
		return 0
	}
}

func (d *Driver) behaveMemory(api *cuda.API) {
	api.MemAlloc = func(p *cuda.Ptr, n uint64) cuda.Result {
		if int64(n) > d.Memory {
			return outOfMemory
		}
		*p = cuda.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(d.alloc(n)))))
		return 0
	}
	api.MemFree = func(p cuda.Ptr) cuda.Result { return d.free(uintptr(p)) }
	api.MemHostAlloc = func(p *unsafe.Pointer, n uint64, _ uint32) cuda.Result {
		*p = unsafe.Pointer(unsafe.SliceData(d.alloc(n)))
		return 0
	}
	api.MemFreeHost = func(p unsafe.Pointer) cuda.Result { return d.free(uintptr(p)) }
	api.MemHostPtr = func(q *cuda.Ptr, p unsafe.Pointer, _ uint32) cuda.Result {
		*q = cuda.Ptr(uintptr(p))
		return 0
	}
	api.MemcpyHtoD = func(q cuda.Ptr, p unsafe.Pointer, n uint64) cuda.Result {
		return d.copy(d.at(uintptr(q), int(n)), unsafe.Slice((*byte)(p), n))
	}
	api.MemcpyDtoH = func(p unsafe.Pointer, q cuda.Ptr, n uint64) cuda.Result {
		return d.copy(unsafe.Slice((*byte)(p), n), d.at(uintptr(q), int(n)))
	}
	api.MemsetD8Async = func(q cuda.Ptr, v uint8, n uint64, s uintptr) cuda.Result {
		b := d.at(uintptr(q), int(n))
		if b == nil {
			return badAddress
		}
		if r := d.known("stream", s); r != 0 {
			return r
		}
		copy(b, bytes.Repeat([]byte{v}, len(b))) // not byte by byte: the race detector looks at each
		return 0
	}
	api.MemcpyAsync = func(q, p cuda.Ptr, n uint64, _ uintptr) cuda.Result {
		return d.copy(d.at(uintptr(q), int(n)), d.at(uintptr(p), int(n)))
	}
	api.IPCGetHandle = func(h *cuda.IPCHandle, p cuda.Ptr) cuda.Result {
		for i := range 8 {
			h.Bytes[i] = byte(p >> (8 * i))
		}
		return 0
	}
	api.IPCOpenHandle = func(p *cuda.Ptr, h cuda.IPCHandle, _ uint32) cuda.Result {
		*p = 0
		for i := range 8 {
			*p |= cuda.Ptr(h.Bytes[i]) << (8 * i)
		}
		d.imports[*p]++
		return 0
	}
	api.IPCCloseHandle = func(p cuda.Ptr) cuda.Result {
		if d.imports[p] == 0 {
			return badAddress
		}
		d.imports[p]--
		return 0
	}
}

func (d *Driver) free(p uintptr) cuda.Result {
	if _, ok := d.memory[p]; !ok {
		return badAddress
	}
	delete(d.memory, p)
	return 0
}

func (d *Driver) copy(dst, src []byte) cuda.Result {
	if len(dst) != len(src) {
		return badAddress
	}
	copy(dst, src)
	return 0
}

// behaveModules has a function's handle name its entry.
func (d *Driver) behaveModules(api *cuda.API) {
	api.ModuleFunction = func(f *uintptr, m uintptr, name *byte) cuda.Result {
		if r := d.known("module", m); r != 0 {
			return r
		}
		d.names = append(d.names, text(name))
		*f = uintptr(len(d.names))
		return 0
	}
	api.Occupancy = func(n *int32, _ uintptr, _ int32, _ uint64) cuda.Result { *n = int32(d.PerSM); return 0 }
	launch := func(cooperative bool) func(uintptr, uint32, uint32, uint32, uintptr, *unsafe.Pointer) cuda.Result {
		return func(f uintptr, grid, block, _ uint32, s uintptr, params *unsafe.Pointer) cuda.Result {
			if r := d.known("stream", s); r != 0 {
				return r
			}
			if cooperative && int(grid) > d.PerSM*d.SMs {
				return tooLarge
			}
			if d.OnLaunch == nil {
				return 0
			}
			return d.OnLaunch(Launch{Kernel: d.names[f-1], Grid: int(grid), Block: int(block), Cooperative: cooperative, Params: unsafe.Pointer(params)})
		}
	}
	api.Launch, api.LaunchCooperative = launch(false), launch(true)
}

func text(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
