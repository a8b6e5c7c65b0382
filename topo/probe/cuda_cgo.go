//go:build cgo && linux

package probe

/*
typedef int (*set_flags)(unsigned);
typedef int (*get_int)(int *);
typedef int (*get_device)(int *, int);
typedef int (*get_attribute)(int *, int, int);
typedef int (*get_text)(char *, int, int);

static int call_flags(void *f, unsigned flags) { return ((set_flags)f)(flags); }
static int call_int(void *f, int *v) { return ((get_int)f)(v); }
static int call_device(void *f, int *v, int i) { return ((get_device)f)(v, i); }
static int call_attribute(void *f, int *v, int attribute, int dev) { return ((get_attribute)f)(v, attribute, dev); }
static int call_text(void *f, char *text, int size, int dev) { return ((get_text)f)(text, size, dev); }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// cudaDriver is libcuda. It is opened with the first question.
type cudaDriver struct{ name string }

// Numbers of the CUDA driver's attributes.
const (
	attributeGPUDirectRDMA = 116
	attributeDMABuf        = 124
)

// cudaNoDevice is CUDA's error for a process that sees no GPU.
const cudaNoDevice = 100

// Devices implements CUDA.
func (d cudaDriver) Devices() (version int, devices []CUDADevice, err error) {
	lib, err := openLibrary(d.name)
	if err != nil {
		return 0, nil, err
	}
	f, err := lib.symbols("cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetPCIBusId")
	if err != nil {
		return 0, nil, err
	}
	switch rc := C.call_flags(f[0], 0); {
	case rc == cudaNoDevice:
		return 0, nil, fmt.Errorf("%w: CUDA sees none; does CUDA_VISIBLE_DEVICES hide them?", ErrNoGPU)
	case rc != 0:
		return 0, nil, fmt.Errorf("cuInit failed with error %d", rc)
	}
	var cversion, count C.int
	if rc := C.call_int(f[1], &cversion); rc != 0 {
		return 0, nil, fmt.Errorf("cuDriverGetVersion failed with error %d", rc)
	}
	if rc := C.call_int(f[2], &count); rc != 0 {
		return 0, nil, fmt.Errorf("cuDeviceGetCount failed with error %d", rc)
	}
	for i := range int(count) {
		c, err := cudaDevice(f[3], f[4], f[5], i)
		if err != nil {
			return 0, nil, fmt.Errorf("CUDA device %d: %w", i, err)
		}
		devices = append(devices, c)
	}
	return int(cversion), devices, nil
}

// cudaDevice asks for one device. An attribute that the driver does not know is
// 0.
func cudaDevice(get, attribute, busID unsafe.Pointer, i int) (CUDADevice, error) {
	c := CUDADevice{Dev: i}
	var dev, v C.int
	if rc := C.call_device(get, &dev, C.int(i)); rc != 0 {
		return c, fmt.Errorf("cuDeviceGet failed with error %d", rc)
	}
	var text [32]C.char
	if rc := C.call_text(busID, &text[0], C.int(len(text)), dev); rc != 0 {
		return c, fmt.Errorf("cuDeviceGetPCIBusId failed with error %d", rc)
	}
	c.BusID = C.GoString(&text[0])
	for number, into := range map[C.int]*int{attributeGPUDirectRDMA: &c.GPUDirectRDMA, attributeDMABuf: &c.DMABuf} {
		if C.call_attribute(attribute, &v, number, dev) == 0 {
			*into = int(v)
		}
	}
	return c, nil
}
