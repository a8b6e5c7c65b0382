package topo

var arches = table[Arch]{
	{"x86_64", ArchX86},
	{"arm64", ArchARM},
	{"ppc64", ArchPOWER},
}

// ParseArch reads an architecture as NCCL's files name it: x86_64, arm64 or
// ppc64. Others are undefined, and ok is false.
func ParseArch(s string) (a Arch, ok bool) { return arches.find(s) }

// String gives the name that ParseArch reads.
func (a Arch) String() string {
	switch a {
	case ArchX86:
		return "x86_64"
	case ArchPOWER:
		return "ppc64"
	case ArchARM:
		return "arm64"
	case ArchMixed:
		return "mixed"
	}
	return "undefined"
}

var vendors = table[Vendor]{
	{"GenuineIntel", VendorIntel},
	{"AuthenticAMD", VendorAMD},
	{"CentaurHauls", VendorZhaoxin},
	{"  Shanghai  ", VendorZhaoxin},
}

// ParseVendor reads the vendor word that an x86 processor gives of itself.
// Others are unknown, and ok is false.
func ParseVendor(s string) (v Vendor, ok bool) { return vendors.find(s) }

// String gives the word that ParseVendor reads.
func (v Vendor) String() string {
	switch v {
	case VendorIntel:
		return "GenuineIntel"
	case VendorAMD:
		return "AuthenticAMD"
	case VendorZhaoxin:
		return "CentaurHauls"
	case VendorMixed:
		return "mixed"
	case VendorUndefined:
		return "undefined"
	}
	return "unknown"
}

// firstSkylake is the model number from which Intel's family 6 counts as
// Skylake or newer.
const firstSkylake = 0x55

// ModelOf tells the models of a vendor apart by the family and model numbers
// that CPUID gives.
func ModelOf(v Vendor, family, model int) CPUModel {
	switch {
	case v == VendorIntel && family == 6 && model >= firstSkylake:
		return ModelIntelSkylake
	case v == VendorIntel:
		return ModelIntelBroadwell
	case v == VendorZhaoxin && family == 7 && model == 0x5b:
		return ModelZhaoxinYongfeng
	}
	return ModelUndefined
}

// Numbers gives family and model numbers for which ModelOf gives m; zeros for
// vendors whose models are not told apart.
func Numbers(v Vendor, m CPUModel) (family, model int) {
	switch v {
	case VendorIntel:
		if m == ModelIntelSkylake {
			return 6, firstSkylake
		}
		return 6, 0x4f
	case VendorZhaoxin:
		if m == ModelZhaoxinYongfeng {
			return 7, 0x5b
		}
		return 6, 0
	}
	return 0, 0
}
