package nccl

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// ErrNoLibrary is wrapped where NCCL's library cannot be opened.
var ErrNoLibrary = errors.New("no NCCL library")

// Result is NCCL's error number; 0 is success.
type Result int32

// API is NCCL's functions by their C signatures, with uintptr for handles. The
// tag is the symbol; an optional one may be missing in older versions.
type API struct {
	GetVersion       func(v *int32) Result                                                             `nccl:"ncclGetVersion"`
	GetErrorString   func(r Result) string                                                             `nccl:"ncclGetErrorString"`
	GetLastError     func(comm uintptr) string                                                         `nccl:"ncclGetLastError,optional"`
	CommInitAll      func(comms *uintptr, n int32, devices *int32) Result                              `nccl:"ncclCommInitAll"`
	CommDestroy      func(comm uintptr) Result                                                         `nccl:"ncclCommDestroy"`
	CommAbort        func(comm uintptr) Result                                                         `nccl:"ncclCommAbort"`
	AllReduce        func(send, recv cuda.Ptr, n uint64, dtype, op int32, comm, stream uintptr) Result `nccl:"ncclAllReduce"`
	MemAlloc         func(p *cuda.Ptr, n uint64) Result                                                `nccl:"ncclMemAlloc,optional"`
	MemFree          func(p cuda.Ptr) Result                                                           `nccl:"ncclMemFree,optional"`
	WindowRegister   func(comm uintptr, p cuda.Ptr, n uint64, window *uintptr, flags int32) Result     `nccl:"ncclCommWindowRegister,optional"`
	WindowDeregister func(comm, window uintptr) Result                                                 `nccl:"ncclCommWindowDeregister,optional"`
}

// Open opens NCCL's library: the one at path, or without a path the system's.
func Open(path string) (*API, error) {
	if path == "" {
		path = "libnccl.so.2"
	}
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	api := &API{}
	v := reflect.ValueOf(api).Elem()
	for i := range v.NumField() {
		symbol, optional := strings.CutSuffix(v.Type().Field(i).Tag.Get("nccl"), ",optional")
		addr, err := purego.Dlsym(lib, symbol)
		switch {
		case err == nil && addr != 0:
			purego.RegisterFunc(v.Field(i).Addr().Interface(), addr)
		case !optional:
			return nil, fmt.Errorf("%w: %s lacks %s", ErrNoLibrary, path, symbol)
		}
	}
	return api, nil
}

// Version is such as 2.28.9.
func (a *API) Version() (string, error) {
	var v int32
	if err := a.check("ncclGetVersion", a.GetVersion(&v), 0); err != nil {
		return "", err
	}
	if v < 10000 { // before 2.9
		return fmt.Sprintf("%d.%d.%d", v/1000, v/100%10, v%100), nil
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100), nil
}

// Error is a call that NCCL refused.
type Error struct {
	Call string
	Code Result
	Text string
	Last string // what NCCL says of its last error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Code)
	if e.Last != "" {
		s += ": " + strings.TrimSpace(e.Last)
	}
	return s
}

func (a *API) check(call string, r Result, comm uintptr) error {
	if r == 0 {
		return nil
	}
	e := &Error{Call: call, Code: r, Text: a.GetErrorString(r)}
	if a.GetLastError != nil {
		e.Last = a.GetLastError(comm)
	}
	return e
}

// Usable says why no executor can be made on this machine with the library at
// path, as an error that wraps allreduce.ErrNoDevice; nil if one can.
func Usable(path string) error {
	o := Options{}
	api, err := Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", allreduce.ErrNoDevice, err)
	}
	o.API = api
	return o.complete(0)
}
