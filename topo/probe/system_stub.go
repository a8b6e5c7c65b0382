//go:build !cgo || !linux

package probe

import "fmt"

// System gives the sources of the machine that the program runs on: none in a
// program without cgo or on another system than Linux.
func System() Sources { return Sources{NVML: noNVML{}} }

type noNVML struct{}

// Devices implements NVML.
func (noNVML) Devices() ([]Device, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo, or not for Linux, and cannot ask the driver what the machine is; take a build for Linux with CGO_ENABLED=1", ErrNoGPU)
}

func ncclVersion(string) int { return 0 }
