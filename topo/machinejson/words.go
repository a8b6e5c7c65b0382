package machinejson

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// words are the names of an enumeration.
type words[T comparable] struct {
	what  string
	names map[T]string
}

func (w words[T]) name(v T) string { return w.names[v] }

// value finds the value of a name.
func (w words[T]) value(name string) (T, error) {
	for v, n := range w.names {
		if n == name {
			return v, nil
		}
	}
	var none T
	known := slices.DeleteFunc(slices.Sorted(maps.Values(w.names)), func(n string) bool { return n == "" })
	return none, fmt.Errorf("%s %.40q is not one of %s", w.what, name, strings.Join(known, ", "))
}

func classWords() words[topo.Class] {
	return words[topo.Class]{"class", map[topo.Class]string{
		topo.ClassSwitch: "switch", topo.ClassNVSwitch: "nvswitch", topo.ClassCPU: "cpu",
		topo.ClassGPU: "gpu", topo.ClassNIC: "nic",
	}}
}

func archWords() words[topo.Arch] {
	return words[topo.Arch]{"arch", map[topo.Arch]string{
		topo.ArchX86: topo.ArchX86.String(), topo.ArchARM: topo.ArchARM.String(),
		topo.ArchPOWER: topo.ArchPOWER.String(), topo.ArchUndefined: "",
	}}
}

func vendorWords() words[topo.Vendor] {
	return words[topo.Vendor]{"vendor", map[topo.Vendor]string{
		topo.VendorIntel: topo.VendorIntel.String(), topo.VendorAMD: topo.VendorAMD.String(),
		topo.VendorZhaoxin: topo.VendorZhaoxin.String(), topo.VendorUnknown: "unknown", topo.VendorUndefined: "",
	}}
}

// modelWords are the models that a vendor has.
func modelWords(v topo.Vendor) words[topo.CPUModel] {
	w := words[topo.CPUModel]{"model", map[topo.CPUModel]string{topo.ModelUndefined: ""}}
	switch v {
	case topo.VendorIntel:
		w.names[topo.ModelIntelBroadwell] = "broadwell"
		w.names[topo.ModelIntelSkylake] = "skylake"
	case topo.VendorZhaoxin:
		w.names[topo.ModelZhaoxinYongfeng] = "yongfeng"
	}
	return w
}
