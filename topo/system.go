package topo

// System is one machine, or the part of it that a job sees.
type System struct {
	// CPUs are NUMA domains, each with what hangs off it.
	CPUs []CPU
	// Assumed lists the values that the source did not give.
	Assumed []Assumption
}

// Assumption is a value that a reader had to choose, and where.
type Assumption struct {
	Where string // for example: line 12, pci 0000:3b:00.0
	What  string // for example: link_speed "" read as 8 GT/s
}

// CPU is a NUMA domain.
type CPU struct {
	Host     uint64 // hash of the host it belongs to; 0 if the source names none
	NUMA     int    // -1 on machines that hide it
	Affinity string // comma-separated hexadecimal mask of its cores, as the source gave it
	Arch     Arch
	Vendor   Vendor
	Model    CPUModel
	Devices  []Device // in the order of the source
}

// Device is one child of a CPU or of a PCI switch: a PCI function with a GPU or
// a NIC on it, a switch with further devices below, or, with Virtual set, a NIC
// that hangs off a CPU without any PCI device.
type Device struct {
	BusID    BusID
	Class    Class
	Virtual  bool
	SwitchID uint64 // vendor<<48 + device<<32 + subsystem vendor<<16 + subsystem device
	Speed    int    // of one lane, in units of 100 Mb/s: 8 GT/s is 60
	Width    int    // lanes
	GPU      *GPU
	NIC      *NIC
	Devices  []Device // below a switch, in the order of the source
	Peers    []BusID  // switches joined to this one by a direct link
}

// GPU is a GPU that takes part in a job.
type GPU struct {
	Rank    int // its place in the job
	Dev     int // its device number on the machine
	SM      int // compute capability, 90 for 9.0
	GDR     bool
	NVLinks []NVLink
	C2Cs    []C2C
}

// NVLink is a bundle of links from a GPU to one target.
type NVLink struct {
	Target BusID
	Class  Class // of the target: ClassGPU, ClassCPU, else a switch
	Count  int
}

// C2C is a chip-to-chip bundle between a GPU and its CPU.
type C2C struct {
	Count int
	MBps  int // of one link, MB/s
}

// NIC is a network card; each of its ports is a Net.
type NIC struct{ Nets []Net }

// Net is one network device as a job sees it.
type Net struct {
	Name    string
	Dev     int
	Mbps    int // 0 or less: not known, counted as 10,000
	Port    int
	Asic    int64 // the card's identity: its GUID, or Dev where it has none
	Latency float32
	GDR     bool
	Coll    bool
	MaxConn int
}

// Arch is a processor architecture, numbered as NCCL prints it.
type Arch int

// Architectures. ArchMixed is what a job over unlike machines has.
const (
	ArchUndefined Arch = 0
	ArchX86       Arch = 1
	ArchPOWER     Arch = 2
	ArchARM       Arch = 3
	ArchMixed     Arch = 4
)

// Vendor is a maker of x86 processors, numbered as NCCL prints it.
type Vendor int

// Vendors. VendorUndefined stands on other architectures.
const (
	VendorUndefined Vendor = -1
	VendorUnknown   Vendor = 0
	VendorIntel     Vendor = 1
	VendorAMD       Vendor = 2
	VendorZhaoxin   Vendor = 3
	VendorMixed     Vendor = 4
)

// CPUModel tells apart processors of one vendor whose sockets are joined at
// different speeds, numbered as NCCL prints it (each vendor counts from 1).
type CPUModel int

// Models.
const (
	ModelUndefined       CPUModel = -1
	ModelIntelBroadwell  CPUModel = 1
	ModelIntelSkylake    CPUModel = 2
	ModelZhaoxinYongfeng CPUModel = 1
)

// Class is the kind of a PCI device.
type Class int

// Classes; a device of an unknown class counts as a switch.
const (
	ClassSwitch Class = iota
	ClassNVSwitch
	ClassCPU
	ClassGPU
	ClassNIC
)
