// Package cudafake is a CUDA driver for tests: memory is the host's, work is
// done at once, every call is recorded, and any call can be told to fail.
package cudafake

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ringtopo/ringtopo/cuda"
)

// Driver is the machine that the fake API pretends.
type Driver struct {
	GPUs        int
	SMs         int
	Major       int
	PerSM       int   // blocks of any kernel that one SM runs at once
	Memory      int64 // bytes of each GPU
	NoPeers     bool
	Fail        map[string]cuda.Result // by API field, such as MemAlloc
	OnLaunch    func(Launch) cuda.Result
	CompilerLog string // of a failing ModuleLoadDataEx

	mu       sync.Mutex
	calls    []string
	memory   map[uintptr][]byte
	next     uintptr
	names    []string
	contexts map[int32]int
}

// Launch is a kernel launch as the fake saw it.
type Launch struct {
	Kernel      string
	Grid, Block int
	Cooperative bool
	Params      unsafe.Pointer // the driver's array of pointers to parameters
}

// New is a machine with a number of GPUs.
func New(gpus int) *Driver {
	return &Driver{GPUs: gpus, SMs: 132, Major: 9, PerSM: 1, Memory: 1 << 34,
		Fail: map[string]cuda.Result{}, memory: map[uintptr][]byte{}, contexts: map[int32]int{}}
}

// Calls lists the calls so far, by API field.
func (d *Driver) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Count says how often a function was called.
func (d *Driver) Count(name string) int {
	n := 0
	for _, c := range d.Calls() {
		if c == name {
			n++
		}
	}
	return n
}

// Live is the number of allocations, of device and host memory, not freed yet.
func (d *Driver) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.memory)
}

// Contexts is the number of primary contexts retained and not released.
func (d *Driver) Contexts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, c := range d.contexts {
		n += c
	}
	return n
}

// Bytes are n bytes of the fake memory at p.
func (d *Driver) Bytes(p cuda.Ptr, n int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at(uintptr(p), n)
}

func (d *Driver) at(p uintptr, n int) []byte {
	for base, b := range d.memory {
		if p >= base && p+uintptr(n) <= base+uintptr(len(b)) {
			return b[p-base : p-base+uintptr(n)]
		}
	}
	return nil
}

func (d *Driver) alloc(n uint64) []byte {
	b := make([]byte, n+256)
	skip := -uintptr(unsafe.Pointer(&b[0])) % 256
	b = b[skip : uint64(skip)+n]
	d.memory[uintptr(unsafe.Pointer(unsafe.SliceData(b)))] = b
	return b
}

// API is the function table. Every function records its name, fails if told
// to, and else does what is in behaviour or nothing.
func (d *Driver) API() *cuda.API {
	api := &cuda.API{}
	d.behave(api)
	v := reflect.ValueOf(api).Elem()
	for i := range v.NumField() {
		d.wrap(v.Type().Field(i).Name, v.Field(i))
	}
	return api
}

func (d *Driver) wrap(name string, f reflect.Value) {
	var inner reflect.Value
	if !f.IsNil() {
		inner = reflect.ValueOf(f.Interface())
	}
	text := strings.HasPrefix(name, "GetError")
	f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		d.mu.Lock()
		defer d.mu.Unlock()
		r := cuda.Result(0)
		if !text {
			d.calls = append(d.calls, name)
			r = d.Fail[name]
		}
		if r == 0 && inner.IsValid() {
			return inner.Call(args)
		}
		if r != 0 && name == "ModuleLoadDataEx" {
			d.writeLog(args[4].Interface().(*uintptr))
		}
		return []reflect.Value{reflect.ValueOf(r)}
	}))
}

// writeLog puts the compiler's log where the caller asked for it.
func (d *Driver) writeLog(values *uintptr) {
	p := *(*unsafe.Pointer)(unsafe.Pointer(values))
	n := *(*uintptr)(unsafe.Add(unsafe.Pointer(values), unsafe.Sizeof(*values)))
	copy(unsafe.Slice((*byte)(p), n), d.CompilerLog+"\x00")
}

func write(p *byte, n int32, s string) {
	copy(unsafe.Slice(p, n), s+"\x00")
}

func busID(dev int32) string { return fmt.Sprintf("0000:%02X:00.0", dev+1) }

// Peek reads fake memory from inside OnLaunch, as a kernel would; Poke writes it.
func (d *Driver) Peek(p cuda.Ptr, n int) []byte { return d.at(uintptr(p), n) }

// Poke writes fake memory from inside OnLaunch, as a kernel would.
func (d *Driver) Poke(p cuda.Ptr, b []byte) { copy(d.at(uintptr(p), len(b)), b) }
