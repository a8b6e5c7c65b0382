package main

import (
	"cmp"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// thisHost says what figures measured here belong to.
func thisHost() bench.Host {
	h := bench.Host{CPU: cmp.Or(processor(), runtime.GOARCH), CPUs: runtime.NumCPU(), Go: runtime.Version(), Ringtopo: version()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	return h
}
