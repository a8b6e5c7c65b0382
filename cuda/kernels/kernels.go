// Package kernels holds ringtopo's own CUDA kernels: CUDA C in src, PTX made of
// it in ptx, and a typed launch for every kernel.
//
// A module is small and made for one element type, so that only what is used
// has to be compiled by the driver. The PTX is for compute capability 7.0, that of
// bfloat16 also for 8.0, where GPUs learned to round to it; the driver compiles it
// for any newer GPU.
//
// The sources also compile for a CPU, where package-internal tests run whole
// rings of kernels on fibres (folder model).
package kernels

//go:generate go run ./gen

import "fmt"

// ModuleP2P is the module of measurements between GPUs.
const ModuleP2P = "p2p"

// PTX is the text of a module for GPUs of a compute capability, of which only the
// major number counts. A module of an AllReduce has the name of its one kernel, and
// exists for each element type: dtype is the type's name, empty for modules that
// know none.
func PTX(module, dtype string, major int) ([]byte, error) {
	name := module
	if dtype != "" {
		name += "_" + dtype
	}
	if major >= 8 {
		if b, err := modules.ReadFile("ptx/" + name + "_sm80.ptx"); err == nil {
			return b, nil
		}
	}
	b, err := modules.ReadFile("ptx/" + name + ".ptx")
	if err != nil {
		return nil, fmt.Errorf("no kernel module %s: %w", name, err)
	}
	return b, nil
}
