package ncclxml

import (
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// noGPUs is the error for a file that leaves the GPUs to NCCL to find.
func (d *Document) noGPUs() error {
	devices, gpus := countDevices(d.Root)
	if devices == 0 {
		return d.nonsense(d.Root, "there is no GPU in it", "a gpu element inside a pci element says where a GPU is")
	}
	what := fmt.Sprintf("%d PCI devices of class 0x03", gpus)
	if gpus == 0 {
		what = fmt.Sprintf("%d PCI devices", devices)
	}
	return d.nonsense(d.Root, "there is no gpu element in it, only "+what+": NCCL completes such a file on the machine itself, "+
		"with GPUs and NVLinks that are not in it"+d.incompleteCPU(),
		"use what NCCL_TOPO_DUMP_FILE writes there, a built-in machine of the kind, or add <gpu dev= sm=> with its nvlink elements")
}

// countDevices counts pci elements without others inside, and those that say
// they are GPUs.
func countDevices(e *Element) (devices, gpus int) {
	for _, c := range accepted(e) {
		n, g := countDevices(c)
		devices, gpus = devices+n, gpus+g
	}
	if e.Name != "pci" || e.Child("pci") != nil {
		return devices, gpus
	}
	text, _ := e.Get("class")
	if class, _ := topo.ParseClass(text); class == topo.ClassGPU {
		gpus++
	}
	return devices + 1, gpus
}

// incompleteCPU names what the first cpu lacks that no machine can be built
// without.
func (d *Document) incompleteCPU() string {
	for _, cpu := range accepted(d.Root) {
		var missing []string
		for _, key := range []string{"numaid", "arch"} {
			if _, ok := cpu.Get(key); !ok {
				missing = append(missing, key)
			}
		}
		if len(missing) > 0 {
			return fmt.Sprintf("; nor is %s of %s", strings.Join(missing, " or "), cpu.at())
		}
	}
	return ""
}
