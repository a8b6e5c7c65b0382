//go:build cgo && linux

package probe

/*
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
*/
import "C"

import (
	"fmt"
	"math/bits"
	"net/netip"
	"unsafe"
)

// hostNetwork asks this host.
type hostNetwork struct{ verbs string }

// Verbs implements NetworkLayer.
func (h hostNetwork) Verbs() (*Verbs, error) {
	lib, err := openVerbs(h.verbs)
	if err != nil {
		return nil, nil // NCCL does without it, too
	}
	return lib.read()
}

// Interfaces implements NetworkLayer. An interface without any IP address is
// listed once, without one.
func (h hostNetwork) Interfaces() ([]Interface, error) {
	var head *C.struct_ifaddrs
	if rc, err := C.getifaddrs(&head); rc != 0 {
		return nil, fmt.Errorf("getifaddrs: %w", err)
	}
	defer C.freeifaddrs(head)
	var all []Interface
	withAddr := map[string]bool{}
	for i := head; i != nil; i = i.ifa_next {
		entry := Interface{Name: C.GoString(i.ifa_name)}
		if addr, ok := ipOf(i.ifa_addr); ok {
			text := addr.String()
			entry.Addr = &text
			if mask, ok := ipOf(i.ifa_netmask); ok {
				entry.Bits = ones(mask)
			}
			withAddr[entry.Name] = true
		}
		all = append(all, entry)
	}
	var out []Interface
	for _, i := range all {
		if i.Addr != nil || !withAddr[i.Name] {
			withAddr[i.Name] = true
			out = append(out, i)
		}
	}
	return out, nil
}

func ipOf(a *C.struct_sockaddr) (netip.Addr, bool) {
	if a == nil {
		return netip.Addr{}, false
	}
	switch a.sa_family {
	case C.AF_INET:
		in := (*C.struct_sockaddr_in)(unsafe.Pointer(a))
		return netip.AddrFrom4(*(*[4]byte)(unsafe.Pointer(&in.sin_addr))), true
	case C.AF_INET6:
		in := (*C.struct_sockaddr_in6)(unsafe.Pointer(a))
		return netip.AddrFrom16(*(*[16]byte)(unsafe.Pointer(&in.sin6_addr))), true
	}
	return netip.Addr{}, false
}

func ones(mask netip.Addr) int {
	n := 0
	for _, b := range mask.AsSlice() {
		n += bits.OnesCount8(b)
	}
	return n
}
