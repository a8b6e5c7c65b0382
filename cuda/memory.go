package cuda

import "unsafe"

// Flags of pinned host memory: usable from every context, and mapped.
const hostFlags = 1 | 2

// Alloc takes n bytes of the device's memory, aligned to 256 bytes at least.
func (c *Context) Alloc(n int64) (Ptr, error) {
	var p Ptr
	err := c.drv.check("cuMemAlloc", c.drv.api.MemAlloc(&p, uint64(max(n, 1))), "%d bytes on GPU %d", n, c.Device.Ordinal)
	return p, err
}

// Free gives memory of Alloc back; 0 does nothing.
func (c *Context) Free(p Ptr) error {
	if p == 0 {
		return nil
	}
	return c.drv.check("cuMemFree", c.drv.api.MemFree(p), "")
}

// MemInfo is the free and the whole memory in bytes.
func (c *Context) MemInfo() (free, total uint64, err error) {
	err = c.drv.check("cuMemGetInfo", c.drv.api.MemGetInfo(&free, &total), "")
	return free, total, err
}

// HostMemory is pinned memory of the host that all devices can address.
type HostMemory struct {
	Bytes []byte
	Ptr   Ptr // as devices see it
	base  unsafe.Pointer
}

// AllocHost takes n bytes of pinned host memory, zeroed.
func (c *Context) AllocHost(n int64) (*HostMemory, error) {
	m := &HostMemory{}
	n = max(n, 1)
	if err := c.drv.check("cuMemHostAlloc", c.drv.api.MemHostAlloc(&m.base, uint64(n), hostFlags), "%d bytes", n); err != nil {
		return nil, err
	}
	if err := c.drv.check("cuMemHostGetDevicePointer", c.drv.api.MemHostPtr(&m.Ptr, m.base, 0), ""); err != nil {
		c.drv.api.MemFreeHost(m.base)
		return nil, err
	}
	m.Bytes = unsafe.Slice((*byte)(m.base), n)
	clear(m.Bytes)
	return m, nil
}

// FreeHost gives pinned memory back.
func (c *Context) FreeHost(m *HostMemory) error {
	if m == nil || m.base == nil {
		return nil
	}
	p := m.base
	m.base, m.Bytes = nil, nil
	return c.drv.check("cuMemFreeHost", c.drv.api.MemFreeHost(p), "")
}

// RegisterHost pins memory that the process has mapped already, such as a file
// shared with other processes, and gives its address on devices.
func (c *Context) RegisterHost(b []byte) (Ptr, error) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if err := c.drv.check("cuMemHostRegister", c.drv.api.MemHostRegister(p, uint64(len(b)), hostFlags), "%d bytes", len(b)); err != nil {
		return 0, err
	}
	var d Ptr
	if err := c.drv.check("cuMemHostGetDevicePointer", c.drv.api.MemHostPtr(&d, p, 0), ""); err != nil {
		c.drv.api.MemHostUnreg(p)
		return 0, err
	}
	return d, nil
}

// UnregisterHost undoes RegisterHost.
func (c *Context) UnregisterHost(b []byte) error {
	return c.drv.check("cuMemHostUnregister", c.drv.api.MemHostUnreg(unsafe.Pointer(unsafe.SliceData(b))), "")
}

// Upload copies src to the device, and returns when it is there.
func (c *Context) Upload(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return c.drv.check("cuMemcpyHtoD", c.drv.api.MemcpyHtoD(dst, unsafe.Pointer(&src[0]), uint64(len(src))), "%d bytes", len(src))
}

// Download copies from the device into dst, and returns when it is there.
func (c *Context) Download(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return c.drv.check("cuMemcpyDtoH", c.drv.api.MemcpyDtoH(unsafe.Pointer(&dst[0]), src, uint64(len(dst))), "%d bytes", len(dst))
}

// Attributes of pointers, with the driver's numbers.
const (
	pointerMemoryType = 2
	pointerOrdinal    = 9
)

// MemoryKind is where a pointer leads.
type MemoryKind int32

// Kinds of memory.
const (
	HostKind   MemoryKind = 1
	DeviceKind MemoryKind = 2
)

// Where says what kind of memory p leads to and on which device.
func (c *Context) Where(p Ptr) (MemoryKind, int, error) {
	var kind, ordinal int32
	if err := c.drv.check("cuPointerGetAttribute", c.drv.api.PointerAttribute(unsafe.Pointer(&kind), pointerMemoryType, p), "address %#x", uint64(p)); err != nil {
		return 0, 0, err
	}
	err := c.drv.check("cuPointerGetAttribute", c.drv.api.PointerAttribute(unsafe.Pointer(&ordinal), pointerOrdinal, p), "address %#x", uint64(p))
	return MemoryKind(kind), int(ordinal), err
}

// Export names an allocation to other processes. The handle stands for the
// allocation's start, whatever address inside it is given.
func (c *Context) Export(p Ptr) (IPCHandle, error) {
	var h IPCHandle
	err := c.drv.check("cuIpcGetMemHandle", c.drv.api.IPCGetHandle(&h, p), "address %#x", uint64(p))
	return h, err
}

// Import maps an allocation of another process, with peer access where it lies
// on another device. A process cannot import what it exported itself.
func (c *Context) Import(h IPCHandle) (Ptr, error) {
	const lazyPeerAccess = 1
	var p Ptr
	err := c.drv.check("cuIpcOpenMemHandle", c.drv.api.IPCOpenHandle(&p, h, lazyPeerAccess), "on GPU %d", c.Device.Ordinal)
	return p, err
}

// Drop unmaps an import. It must come before the owner frees the allocation.
func (c *Context) Drop(p Ptr) error {
	return c.drv.check("cuIpcCloseMemHandle", c.drv.api.IPCCloseHandle(p), "")
}
