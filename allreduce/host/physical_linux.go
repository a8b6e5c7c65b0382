package host

import (
	"math"
	"syscall"
)

// physical is how much memory the machine has, swap too, in bytes.
func physical() int64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return math.MaxInt64
	}
	return int64((uint64(s.Totalram) + uint64(s.Totalswap)) * uint64(s.Unit))
}
