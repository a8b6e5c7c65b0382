package main

import (
	"runtime"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// thisHost says what figures measured here belong to.
func thisHost() bench.Host {
	h := bench.Host{CPU: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Ringtopo: version()}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
			h.CPU = cpus[0].ModelName
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	return h
}
