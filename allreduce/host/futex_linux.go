package host

import (
	"math"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	futexWaitOp = 0
	futexWakeOp = 1
)

// futexWait sleeps while a word of shared memory has a value, at most d.
func futexWait(word *atomic.Uint32, value uint32, d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWaitOp, uintptr(value), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// futexWake wakes all who sleep on a word.
func futexWake(word *atomic.Uint32) {
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWakeOp, math.MaxInt32, 0, 0, 0)
}

// yieldCPU lets another process run.
func yieldCPU() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
