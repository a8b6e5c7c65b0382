package host

import (
	"syscall"
	"unsafe"
)

// now is a clock that all processes of a host share, in nanoseconds.
func now() int64 {
	const monotonic = 1
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}
