package graph

// Options are the settings that decide paths. The zero value is what a real
// communicator uses by default, on one host.
type Options struct {
	P2PLevel   *PathType // farthest peer-to-peer path; nil: by the CPU's kind
	GDRLevel   *PathType // farthest GPUDirect path; nil: PXB
	NoNVB      bool      // no paths through another GPU
	NoPXN      bool      // no network paths through another GPU
	NoNetIntra bool      // never prefer the network between local GPUs
	NoSHM      bool      // no shared memory between ranks of a host
	// Blocked are the pairs of ranks whose GPUs the driver lets not address each
	// other's memory. Over NVLink that is an error, since something is broken;
	// with AllowBlocked such a pair goes another way, as all others do.
	Blocked         [][2]int
	AllowBlocked    bool
	KeepUnreachable bool // no communicator: do not mark pairs that only a network joins
}
