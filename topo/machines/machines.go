package machines

import (
	"embed"
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

//go:embed xml/*.xml
var files embed.FS

// Machine is a built-in machine.
type Machine struct {
	Name    string
	Summary string // one line: GPUs, how they are joined, sockets, networks
}

// list is in the order in which users read it: by maker and age.
var list = []Machine{
	{"v100x4", "4 V100 SXM2, 2 NVLinks between every pair; 2 Intel sockets with a PCI switch each, no network"},
	{"dgx-1v", "NVIDIA DGX-1V: 8 V100 SXM2 in a hybrid cube mesh; 2 Intel sockets, 4 InfiniBand cards of 100 Gb/s"},
	{"dgx-2", "NVIDIA DGX-2: 16 V100 SXM3 on NVSwitch; 2 Intel sockets, 8 InfiniBand cards of 100 Gb/s"},
	{"dgx-a100", "NVIDIA DGX A100: 8 A100 SXM4 on NVSwitch; 2 AMD sockets with 4 NUMA domains in use, 8 InfiniBand cards of 200 Gb/s"},
	{"dgx-h100", "NVIDIA DGX H100: 8 H100 SXM5 on NVSwitch; 2 Intel sockets, 8 InfiniBand cards of 400 Gb/s, one per GPU"},
	{"dgx-h200", "NVIDIA DGX H200: as dgx-h100 with H200 GPUs"},
	{"a100x4", "4 A100 SXM4, 4 NVLinks between every pair; 1 AMD socket, no network"},
	{"h100x4", "4 H100 SXM5, 6 NVLinks between every pair; 2 Intel sockets, no network"},
	{"h200x2", "virtual machine with 2 H200 SXM on hidden NVSwitches; flat PCI bus without NUMA, 1 Ethernet of 10 Gb/s"},
	{"p4d", "AWS p4d.24xlarge: 8 A100 SXM4 on NVSwitch; 2 Intel sockets, 4 EFA of 100 Gb/s"},
	{"p5", "AWS p5.48xlarge: 8 H100 SXM5 on NVSwitch; 2 AMD sockets, 32 EFA of 100 Gb/s, four per GPU"},
	{"ndv4", "Azure ND A100 v4: 8 A100 SXM4 on NVSwitch; 4 AMD NUMA domains, 8 InfiniBand cards of 200 Gb/s"},
	{"ndv5", "Azure ND H100 v5: 8 H100 SXM5 on NVSwitch; 2 Intel sockets, 8 InfiniBand cards of 400 Gb/s, one per GPU"},
	{"gh200x4", "4 Grace Hopper modules: 4 GH200, 6 NVLinks between every pair, C2C to their own CPU; 4 InfiniBand cards of 200 Gb/s"},
	{"power9x4", "IBM AC922: 4 V100 SXM2, 3 NVLinks within a pair and to its POWER9 CPU; 2 InfiniBand cards of 100 Gb/s"},
	{"pcie8", "8 L40S without NVLink, two and one card of 200 Gb/s per PCI switch; 2 Intel sockets"},
}

// List gives all built-in machines.
func List() []Machine { return append([]Machine(nil), list...) }

// Names gives their names.
func Names() []string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
	}
	return names
}

// Open gives the topology of a machine; a name that is none of Names is an
// *UnknownError.
func Open(name string) (*ncclxml.Document, error) {
	for _, m := range list {
		if m.Name == name {
			return open(name)
		}
	}
	return nil, &UnknownError{Name: name, Near: near(name)}
}

func open(name string) (*ncclxml.Document, error) {
	f, err := files.Open("xml/" + name + ".xml")
	if err != nil {
		return nil, fmt.Errorf("built-in machine: %w", err)
	}
	defer func() { _ = f.Close() }() // held in memory: closing cannot fail
	return ncclxml.Decode(f, name)
}

// UnknownError says that no built-in machine has a name.
type UnknownError struct {
	Name string
	Near string // the name that was probably meant, or ""
}

func (e *UnknownError) Error() string {
	hint := ""
	if e.Near != "" {
		hint = fmt.Sprintf("; did you mean %s?", e.Near)
	}
	return fmt.Sprintf("no built-in machine %q%s (there are %s)", e.Name, hint, strings.Join(Names(), ", "))
}
