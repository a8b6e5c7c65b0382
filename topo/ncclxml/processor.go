package ncclxml

import (
	"github.com/ringtopo/ringtopo/topo"
)

// What a cpu is taken for whose file does not say: the most common server, an
// Intel Xeon of the Skylake generation or newer.
const (
	defaultArch   = "x86_64"
	defaultVendor = "GenuineIntel"
	defaultFamily = "6"
	defaultModel  = "85"
)

// processor reads what decides how fast the sockets are joined.
func (b *builder) processor(e *Element, cpu *topo.CPU) {
	cpu.Vendor, cpu.Model = topo.VendorUndefined, topo.ModelUndefined
	var known bool
	arch := b.likeOthers(e, "arch", defaultArch)
	if cpu.Arch, known = topo.ParseArch(arch); !known {
		b.doc.assume(e, "arch "+quote(arch)+" is none that NCCL knows (x86_64, arm64, ppc64): sockets taken to be joined at 5000 GB/s")
	}
	if cpu.Arch != topo.ArchX86 {
		return
	}
	vendor := b.likeOthers(e, "vendor", defaultVendor)
	if cpu.Vendor, known = topo.ParseVendor(vendor); !known {
		b.doc.assume(e, "vendor "+quote(vendor)+" is none that NCCL knows: sockets taken to be joined at 5000 GB/s")
	}
	if cpu.Vendor != topo.VendorIntel && cpu.Vendor != topo.VendorZhaoxin {
		return
	}
	family := b.integer(e, "familyid", b.likeOthers(e, "familyid", defaultFamily))
	model := b.integer(e, "modelid", b.likeOthers(e, "modelid", defaultModel))
	cpu.Model = topo.ModelOf(cpu.Vendor, family, model)
}

// likeOthers gives an attribute of a cpu, or where it is missing that of
// another cpu of the machine, or the fallback.
func (b *builder) likeOthers(e *Element, key, fallback string) string {
	if v, ok := e.Get(key); ok {
		return v
	}
	for _, other := range accepted(b.doc.Root) {
		if v, ok := other.Get(key); ok {
			b.doc.assume(e, key+" missing: "+quote(v)+" as on "+other.label())
			return v
		}
	}
	b.doc.assume(e, key+" missing: taken for "+quote(fallback))
	return fallback
}
