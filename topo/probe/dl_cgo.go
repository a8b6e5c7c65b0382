//go:build cgo && linux

package probe

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// library is a shared library that was opened at run time, or none.
type library struct {
	name   string
	handle unsafe.Pointer
}

func openLibrary(name string) (*library, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	handle := C.dlopen(cname, C.RTLD_LAZY|C.RTLD_LOCAL)
	if handle == nil {
		return nil, fmt.Errorf("%s", C.GoString(C.dlerror()))
	}
	return &library{name, handle}, nil
}

// symbols looks functions up, all of them needed.
func (l *library) symbols(names ...string) ([]unsafe.Pointer, error) {
	found := make([]unsafe.Pointer, len(names))
	for i, name := range names {
		if found[i] = l.symbol(name); found[i] == nil {
			return nil, fmt.Errorf("%s has no function %s", l.name, name)
		}
	}
	return found, nil
}

func (l *library) symbol(name string) unsafe.Pointer {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	return C.dlsym(l.handle, cname)
}
