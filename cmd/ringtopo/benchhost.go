package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
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

// hostOf says what figures of an engine belong to, with the GPUs where it uses some.
func hostOf(e engine) (bench.Host, error) {
	if e.gpus == nil {
		return thisHost(), nil
	}
	hw, err := e.gpus()
	if err != nil {
		return bench.Host{}, err
	}
	return gpuHost(hw), nil
}

// gpuHost says what figures measured on GPUs belong to.
func gpuHost(hw gpu.Hardware) bench.Host {
	h := thisHost()
	h.GPUs = fmt.Sprintf("%d x %s", hw.Devices, hw.Device)
	if text, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		h.Driver = strings.TrimSpace(string(text)) + ", "
	}
	h.Driver += fmt.Sprintf("CUDA %d.%d", hw.CUDA/1000, hw.CUDA%1000/10)
	return h
}
