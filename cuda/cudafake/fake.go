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
	handles  map[uintptr]string // what kind each is
	imports  map[cuda.Ptr]int
	names    []string
	contexts map[int32]int

	failIn    int // calls until one fails
	failAmong []string
	failWith  cuda.Result
	failed    string
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
		Fail: map[string]cuda.Result{}, memory: map[uintptr][]byte{}, handles: map[uintptr]string{}, imports: map[cuda.Ptr]int{}, contexts: map[int32]int{}}
}

// Calls lists the calls so far, by API field.
func (d *Driver) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// FailNext has the n-th call from now on answer with a code, once: of all, or of
// those that are named by API field. One that gives something back does so all
// the same: such calls tell of earlier errors.
func (d *Driver) FailNext(n int, code cuda.Result, among ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failIn, d.failWith, d.failAmong, d.failed = n, code, among, ""
}

// fails counts a call, and says with what it fails.
func (d *Driver) fails(field string) cuda.Result {
	if len(d.failAmong) > 0 && !slices.Contains(d.failAmong, field) {
		return 0
	}
	if d.failIn--; d.failIn != 0 {
		return 0
	}
	d.failed = Symbol(field)
	return d.failWith
}

// Failed is the driver's name of the call that FailNext has let fail, such as
// cuMemAlloc; empty where it has not come to that.
func (d *Driver) Failed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// gives lists the functions that give something back.
var gives = []string{"PrimaryRelease", "ModuleUnload", "MemFree", "MemFreeHost", "MemHostUnreg", "IPCCloseHandle", "StreamDestroy", "EventDestroy",
	"GraphExecDestroy", "GraphDestroy"}

// Fields lists the functions by API field.
func Fields() (list []string) {
	for f := range reflect.TypeFor[cuda.API]().Fields() {
		list = append(list, f.Name)
	}
	return list
}

// Symbol is the driver's name of a function, without its version.
func Symbol(field string) string {
	switch field {
	case "Launch":
		return "cuLaunchKernel"
	case "LaunchCooperative":
		return "cuLaunchCooperativeKernel"
	}
	f, _ := reflect.TypeFor[cuda.API]().FieldByName(field)
	name, _, _ := strings.Cut(f.Tag.Get("cuda"), ",")
	name, _, _ = strings.Cut(name, "_v")
	return name
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
			if planned := d.fails(name); planned != 0 {
				r = planned
				if inner.IsValid() && slices.Contains(gives, name) {
					inner.Call(args)
				}
			}
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
