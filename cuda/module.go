package cuda

import (
	"bytes"
	"runtime"
	"unsafe"
)

// Module is loaded code.
type Module struct {
	ctx    *Context
	handle uintptr
}

// Options of the just-in-time compiler, with the driver's numbers.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// Load compiles PTX for the context's device. An *Error carries the compiler's
// log.
func (c *Context) Load(ptx []byte) (*Module, error) {
	image := append(bytes.Clone(ptx), 0)
	log := make([]byte, 16384)
	m := &Module{ctx: c}
	options := []int32{jitErrorLog, jitErrorLogSize}
	var pin runtime.Pinner
	pin.Pin(&log[0])
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	r := c.drv.api.ModuleLoadDataEx(&m.handle, &image[0], 2, &options[0], &values[0])
	pin.Unpin()
	if err := c.drv.check("cuModuleLoadDataEx", r, "%d bytes of PTX on GPU %d (compute capability %d.%d)",
		len(ptx), c.Device.Ordinal, c.Device.Major, c.Device.Minor); err != nil {
		log[len(log)-1] = 0
		err.(*Error).Log = cString(&log[0])
		return nil, err
	}
	return m, nil
}

// Unload frees the code.
func (m *Module) Unload() error {
	return m.ctx.drv.check("cuModuleUnload", m.ctx.drv.api.ModuleUnload(m.handle), "")
}

// Function is a kernel.
type Function struct {
	ctx    *Context
	handle uintptr
	Name   string
}

// Function finds a kernel by its entry name, and has the driver load it now.
// Loaded lazily, with the first launch, it would have to wait for the device,
// and could wait for ever where kernels wait for each other. (Drivers before
// CUDA 12.4 cannot be asked; set CUDA_MODULE_LOADING=EAGER with them.)
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{ctx: m.ctx, Name: name}
	s := append([]byte(name), 0)
	api := m.ctx.drv.api
	if err := m.ctx.drv.check("cuModuleGetFunction", api.ModuleFunction(&f.handle, m.handle, &s[0]), "entry %s", name); err != nil {
		return nil, err
	}
	if api.FuncLoad == nil {
		return f, nil
	}
	return f, m.ctx.drv.check("cuFuncLoad", api.FuncLoad(f.handle), "entry %s", name)
}

// Resources are what one thread or block of a kernel takes.
type Resources struct {
	MaxThreads, Shared, Local, Registers int
}

// Resources asks the driver what the compiled kernel takes.
func (f *Function) Resources() (Resources, error) {
	var r Resources
	for attr, to := range map[int32]*int{0: &r.MaxThreads, 1: &r.Shared, 3: &r.Local, 4: &r.Registers} {
		var v int32
		if err := f.ctx.drv.check("cuFuncGetAttribute", f.ctx.drv.api.FuncAttribute(&v, attr, f.handle), "%s", f.Name); err != nil {
			return r, err
		}
		*to = int(v)
	}
	return r, nil
}

// Resident is how many blocks of a size the whole device can run at once.
func (f *Function) Resident(block int) (int, error) {
	var n int32
	err := f.ctx.drv.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", f.ctx.drv.api.Occupancy(&n, f.handle, int32(block), 0), "%s, %d threads", f.Name, block)
	return int(n) * f.ctx.Device.SMs, err
}

// Grid is the shape of a launch.
type Grid struct {
	Blocks, Threads int
	// Cooperative demands that all blocks run at once: the launch fails with
	// CoopTooLarge where they do not fit.
	Cooperative bool
}

// Launch enqueues a kernel. Each parameter points to a value of the kernel's
// parameter type; values are copied before Launch returns.
func (f *Function) Launch(s *Stream, g Grid, params ...unsafe.Pointer) error {
	var first *unsafe.Pointer
	if len(params) > 0 {
		first = &params[0]
	}
	api := f.ctx.drv.api
	call, launch := "cuLaunchKernel", api.Launch
	if g.Cooperative {
		call, launch = "cuLaunchCooperativeKernel", api.LaunchCooperative
	}
	r := launch(f.handle, uint32(g.Blocks), uint32(g.Threads), 0, s.handle, first)
	runtime.KeepAlive(params)
	if r == success {
		return nil
	}
	return f.ctx.drv.check(call, r, "%s, %d blocks of %d threads on GPU %d", f.Name, g.Blocks, g.Threads, f.ctx.Device.Ordinal)
}
