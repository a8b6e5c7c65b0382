package cuda

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libraries are the names that the driver's library goes by.
var libraries = []string{"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"}

// Open opens the driver. Without a library, or with one that finds no device,
// the error wraps ErrNoDriver or ErrNoDevice.
func Open() (*Driver, error) {
	var first error
	for _, name := range libraries {
		lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			api, err := bind(lib)
			if err != nil {
				return nil, err
			}
			return New(api)
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrNoDriver, first)
}

// bind fills an API from an open library.
func bind(lib uintptr) (*API, error) {
	api := &API{}
	v := reflect.ValueOf(api).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("cuda")
		if tag == "" {
			continue
		}
		if err := bindField(lib, v.Field(i), strings.Split(tag, ",")); err != nil {
			return nil, err
		}
	}
	api.Launch = bindLaunch(lib, "cuLaunchKernel", true)
	api.LaunchCooperative = bindLaunch(lib, "cuLaunchCooperativeKernel", false)
	if api.Launch == nil || api.LaunchCooperative == nil {
		return nil, fmt.Errorf("%w: it has no cooperative launch, install a driver for CUDA 11 or newer", ErrOldDriver)
	}
	return api, nil
}

// bindField tries the symbols in their order.
func bindField(lib uintptr, f reflect.Value, symbols []string) error {
	optional, hot := false, false
	for _, s := range symbols {
		switch s {
		case "optional":
			optional = true
		case "hot":
			hot = true
		}
	}
	for _, s := range symbols {
		addr, err := purego.Dlsym(lib, s)
		if err != nil || addr == 0 {
			continue
		}
		if hot {
			bindHot(f, addr)
		} else {
			purego.RegisterFunc(f.Addr().Interface(), addr)
		}
		return nil
	}
	if optional {
		return nil
	}
	return fmt.Errorf("%w: it lacks %s, install a driver for CUDA 11.4 or newer", ErrOldDriver, symbols[0])
}

// bindHot binds functions of one or two words without reflection at call time.
func bindHot(f reflect.Value, addr uintptr) {
	switch p := f.Addr().Interface().(type) {
	case *func(uintptr) Result:
		*p = func(a uintptr) Result { return result(purego.SyscallN(addr, a)) }
	case *func(uintptr, uintptr) Result:
		*p = func(a, b uintptr) Result { return result(purego.SyscallN(addr, a, b)) }
	default:
		purego.RegisterFunc(p, addr)
	}
}

func result(r, _, _ uintptr) Result { return Result(int32(r)) }

func bindLaunch(lib uintptr, symbol string, extra bool) func(uintptr, uint32, uint32, uint32, uintptr, *unsafe.Pointer) Result {
	addr, err := purego.Dlsym(lib, symbol)
	if err != nil || addr == 0 {
		return nil
	}
	return func(f uintptr, grid, block, shared uint32, s uintptr, params *unsafe.Pointer) Result {
		if extra {
			return result(purego.SyscallN(addr, f, uintptr(grid), 1, 1, uintptr(block), 1, 1,
				uintptr(shared), s, uintptr(unsafe.Pointer(params)), 0))
		}
		return result(purego.SyscallN(addr, f, uintptr(grid), 1, 1, uintptr(block), 1, 1,
			uintptr(shared), s, uintptr(unsafe.Pointer(params))))
	}
}
