//go:build cgo && linux

package probe

/*
#include <errno.h>
#include <stdint.h>

// The beginnings of two structures of the verbs interface; the library fills
// in more than is read here.
struct device_attr {
	char     firmware[64];
	uint64_t node_guid, sys_image_guid; // big endian
	uint64_t max_mr_size, page_size_cap;
	uint32_t vendor_id, vendor_part_id, hw_ver;
	int32_t  max_qp;
	uint8_t  skipped[115];
	uint8_t  phys_port_cnt;
	uint8_t  room[512];
};
struct port_attr {
	uint32_t state;
	uint8_t  skipped[39];
	uint8_t  active_width, active_speed, phys_state, link_layer;
	uint8_t  room[512];
};

static void **call_list(void *f, int *n) { return ((void **(*)(int *))f)(n); }
static void call_free_list(void *f, void **list) { ((void (*)(void **))f)(list); }
static const char *call_name(void *f, void *dev) { return ((const char *(*)(void *))f)(dev); }
static void *call_open(void *f, void *dev) { return ((void *(*)(void *))f)(dev); }
static int call_close(void *f, void *context) { return ((int (*)(void *))f)(context); }
static int call_device_attr(void *f, void *context, struct device_attr *a) {
	return ((int (*)(void *, struct device_attr *))f)(context, a);
}
static int call_port_attr(void *f, void *context, uint8_t port, struct port_attr *a) {
	return ((int (*)(void *, uint8_t, struct port_attr *))f)(context, port, a);
}
static void *at(void **list, int i) { return list[i]; }

// dmabuf_errno registers a DMA-BUF that is not there and gives the error.
static int dmabuf_errno(void *alloc_pd, void *dealloc_pd, void *reg, void *context) {
	void *pd = ((void *(*)(void *))alloc_pd)(context);
	if (pd == 0) return EOPNOTSUPP;
	errno = 0;
	((void *(*)(void *, uint64_t, uint64_t, uint64_t, int, int))reg)(pd, 0, 0, 0, -1, 0);
	int e = errno;
	((int (*)(void *))dealloc_pd)(pd);
	return e;
}
*/
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// verbsLibrary is libibverbs.
type verbsLibrary struct {
	list, free, name, open, close, device, port unsafe.Pointer
	allocPD, deallocPD, register                unsafe.Pointer
}

func openVerbs(name string) (*verbsLibrary, error) {
	lib, err := openLibrary(name)
	if err != nil {
		return nil, err
	}
	f, err := lib.symbols("ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name", "ibv_open_device",
		"ibv_close_device", "ibv_query_device", "ibv_query_port", "ibv_alloc_pd", "ibv_dealloc_pd")
	if err != nil {
		return nil, err
	}
	return &verbsLibrary{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], lib.symbol("ibv_reg_dmabuf_mr")}, nil
}

// read describes all devices. Those that cannot be opened or asked are left
// out, as NCCL does.
func (l *verbsLibrary) read() (*Verbs, error) {
	var n C.int
	list, errno := C.call_list(l.list, &n)
	switch {
	case list == nil && errno == syscall.ENOSYS:
		return nil, nil // a kernel without InfiniBand
	case list == nil:
		return nil, fmt.Errorf("ibv_get_device_list: %w", errno)
	}
	defer C.call_free_list(l.free, list)
	v := &Verbs{DMABufErrno: errnoName(syscall.EOPNOTSUPP)}
	for i := range n {
		dev := C.at(list, i)
		context := C.call_open(l.open, dev)
		if context == nil {
			continue
		}
		if d, ok := l.readDevice(dev, context); ok {
			if len(v.Devices) == 0 {
				v.DMABufErrno = l.dmaBuf(context)
			}
			v.Devices = append(v.Devices, d)
		}
		C.call_close(l.close, context)
	}
	return v, nil
}

func (l *verbsLibrary) readDevice(dev, context unsafe.Pointer) (VerbsDevice, bool) {
	var attr C.struct_device_attr
	if C.call_device_attr(l.device, context, &attr) != 0 {
		return VerbsDevice{}, false
	}
	guid := (*[8]byte)(unsafe.Pointer(&attr.sys_image_guid))
	d := VerbsDevice{
		Name:         C.GoString(C.call_name(l.name, dev)),
		SysImageGUID: fmt.Sprintf("%x", guid[:]),
		MaxQP:        int(attr.max_qp),
	}
	for number := 1; number <= int(attr.phys_port_cnt); number++ {
		var port C.struct_port_attr
		if C.call_port_attr(l.port, context, C.uint8_t(number), &port) != 0 {
			continue
		}
		d.Ports = append(d.Ports, VerbsPort{
			Port: number, State: int(port.state), LinkLayer: int(port.link_layer),
			ActiveSpeed: int(port.active_speed), ActiveWidth: int(port.active_width),
		})
	}
	return d, true
}

func (l *verbsLibrary) dmaBuf(context unsafe.Pointer) string {
	if l.register == nil {
		return errnoName(syscall.EOPNOTSUPP)
	}
	return errnoName(syscall.Errno(C.dmabuf_errno(l.allocPD, l.deallocPD, l.register, context)))
}

// errnoName names an error; of two names of one number it takes the one that
// recordings have.
func errnoName(e syscall.Errno) string {
	if e == syscall.EOPNOTSUPP {
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(e)
}
