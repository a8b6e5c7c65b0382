package probe

import (
	"fmt"
	"strconv"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// CPUID is what a processor of the x86 kind says of itself.
type CPUID struct {
	Vendor string `json:"vendor"` // 12 characters of leaf 0
	Leaf1  string `json:"leaf1_eax,omitempty"`
	// Family and Model are the base numbers plus 16 times the extended ones, as
	// NCCL adds them up; the kernel adds the extended family unshifted.
	Family      int          `json:"familyid"`
	Model       int          `json:"modelid"`
	ProcCPUInfo *ProcCPUInfo `json:"proc_cpuinfo,omitempty"`
}

// ProcCPUInfo is what the kernel says of the same processor.
type ProcCPUInfo struct {
	Vendor   string `json:"vendor_id"`
	Family   int    `json:"cpu family"`
	Model    int    `json:"model"`
	Stepping int    `json:"stepping"`
}

// cpu gives the socket of a NUMA number, which it makes if there is none. The
// number is a text: a device whose number cannot be read has a socket "".
func (b *builder) cpu(numa string) *ncclxml.Element {
	if e := childWith(b.root, "cpu", "numaid", numa); e != nil {
		return e
	}
	return b.addCPU(numa)
}

// longHex writes a number as C's %#lx does, with which 0 has no prefix.
func longHex(v uint64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", v)
}

func (b *builder) addCPU(numa string) *ncclxml.Element {
	return b.add(b.root, "cpu",
		ncclxml.Attr{Key: "host_hash", Value: longHex(b.hostHash)},
		ncclxml.Attr{Key: "numaid", Value: numa})
}

// completeCPU fills in what a socket's element does not say yet.
func (b *builder) completeCPU(e *ncclxml.Element) error {
	if _, ok := e.Get("affinity"); !ok {
		numa, ok := e.Get("numaid")
		if !ok {
			return fmt.Errorf("topology file, line %d: a cpu without numaid cannot be completed; add the attribute", e.Line)
		}
		if mask := text(b.files, "/sys/devices/system/node/node"+numa+"/cpumap"); mask != "" {
			e.Set("affinity", mask)
		}
	}
	setIfUnset(e, "arch", b.host.Arch)
	if id := b.host.CPUID; id != nil {
		setIfUnset(e, "vendor", id.Vendor)
		if _, ok := e.Get("familyid"); !ok {
			e.Set("familyid", strconv.Itoa(id.Family))
			e.Set("modelid", strconv.Itoa(id.Model))
		}
	}
	return nil
}
