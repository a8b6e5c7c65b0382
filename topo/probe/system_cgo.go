//go:build cgo && linux

package probe

/*
static int call_version(void *f, int *v) { return ((int (*)(int *))f)(v); }
*/
import "C"

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// System gives the sources of the machine that the program runs on.
func System() Sources {
	return Sources{
		Files:   Root("/"),
		NVML:    nvmlLibrary{nvml.New()},
		CUDA:    cudaDriver{"libcuda.so.1"},
		Network: hostNetwork{"libibverbs.so.1"},
	}
}

// ncclVersion asks the NCCL library that programs on this machine find; 0 if
// there is none.
func ncclVersion(name string) int {
	lib, err := openLibrary(name)
	if err != nil {
		return 0
	}
	var v C.int
	if f := lib.symbol("ncclGetVersion"); f == nil || C.call_version(f, &v) != 0 {
		return 0
	}
	return int(v)
}
