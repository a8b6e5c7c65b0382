package probe

import "fmt"

// Host is what NVML, CUDA and the processor say: the file nvml.json of a
// recording.
type Host struct {
	HostID   *string `json:"hostid"` // NCCL_HOSTID, nil if not set
	Hostname string  `json:"hostname,omitempty"`
	BootID   string  `json:"bootId,omitempty"`
	// HostHash stands for the hash of the names above on a machine that was made
	// up.
	HostHash *GUID  `json:"hostHash,omitempty"`
	Arch     string `json:"arch"`  // x86_64, arm64 or ppc64
	CPUID    *CPUID `json:"cpuid"` // nil on other architectures
	// CUDAVersion is 1000 times the major version plus 10 times the minor one.
	CUDAVersion int          `json:"cudaDriverVersion"`
	Devices     []Device     `json:"devices"` // in the order of NVML
	CUDA        []CUDADevice `json:"cuda"`    // in the order of CUDA
}

// Device is what NVML says of one GPU.
type Device struct {
	Index int    `json:"index"`
	Name  string `json:"name,omitempty"`
	// BusID has a domain of eight digits, BusIDLegacy fits into 16 bytes.
	BusID             string   `json:"busId"`
	BusIDLegacy       string   `json:"busIdLegacy"`
	ComputeCapability [2]int   `json:"computeCapability"`
	NVLinks           []NVLink `json:"nvlinks"`
	C2CLinks          []C2C    `json:"c2cLinks"` // nil: NVML cannot say
	Fabric            *Fabric  `json:"fabric"`
	// P2PRead and P2PWrite tell for each GPU, by NVML index, what stands against
	// direct access to its memory: NVML's status, 0 for nothing. nil: NVML cannot
	// say. The topology does not depend on it.
	P2PRead  []int `json:"p2pRead,omitempty"`
	P2PWrite []int `json:"p2pWrite,omitempty"`
}

// NVLink is what NVML says of one link, each answer with its return code: 0
// success, 2 invalid argument, 3 not supported.
type NVLink struct {
	Link              int     `json:"link"`
	P2PSupported      int     `json:"p2pSupported"`
	P2PReturn         int     `json:"p2pSupportedReturn"`
	State             int     `json:"state"`
	StateReturn       int     `json:"stateReturn"`
	RemoteBusID       string  `json:"remoteBusId"`
	RemoteBusIDLegacy string  `json:"remoteBusIdLegacy"`
	RemoteReturn      int     `json:"remoteReturn"`
	RemoteType        *string `json:"remoteDeviceType"` // GPU, SWITCH or nil
}

// C2C is what NVML says of one chip-to-chip link.
type C2C struct {
	Status       int `json:"status"`
	StatusReturn int `json:"statusReturn"`
	MaxBW        int `json:"maxBw"` // MB/s
	MaxBWReturn  int `json:"maxBwReturn"`
}

// Fabric is what NVML says of a GPU's place in an NVLink fabric. It is recorded
// for the reader only.
type Fabric struct {
	State       int    `json:"state"`
	Status      int    `json:"status"`
	CliqueID    int    `json:"cliqueId"`
	ClusterUUID string `json:"clusterUuid"`
}

// CUDADevice is what CUDA says of one GPU.
type CUDADevice struct {
	Dev           int    `json:"dev"`
	NVMLIndex     int    `json:"nvmlIndex"`
	BusID         string `json:"busId"`
	GPUDirectRDMA int    `json:"gpuDirectRdma"`
	DMABuf        int    `json:"dmaBuf"`
}

// Rank is one rank of a job and the GPU it runs on.
type Rank struct {
	Rank      int    `json:"rank"`
	CUDADev   int    `json:"cudaDev"`
	NVMLIndex int    `json:"nvmlIndex"`
	BusID     string `json:"busId"`
}

// CUDA driver versions from which on an attribute of a GPU tells whether it
// takes part in GPUDirect, and whether it exports its memory as DMA-BUF.
const (
	cudaGDRAttribute = 11030
	cudaDMABuf       = 11070
)

// Ranks puts one rank on each of the given CUDA devices, in that order; without
// any, on all of them.
func (h *Host) Ranks(devs []int) ([]Rank, error) {
	if len(devs) == 0 {
		for _, c := range h.CUDA {
			devs = append(devs, c.Dev)
		}
	}
	used := map[int]bool{}
	var ranks []Rank
	for i, dev := range devs {
		c := h.cuda(dev)
		if c == nil || used[dev] {
			return nil, &DeviceError{Dev: dev, Duplicate: used[dev], Have: len(h.CUDA)}
		}
		used[dev] = true
		ranks = append(ranks, Rank{Rank: i, CUDADev: dev, NVMLIndex: c.NVMLIndex, BusID: c.BusID})
	}
	return ranks, nil
}

func (h *Host) cuda(dev int) *CUDADevice {
	for i := range h.CUDA {
		if h.CUDA[i].Dev == dev {
			return &h.CUDA[i]
		}
	}
	return nil
}

// DeviceError says that a GPU that was asked for is not there, or was asked for
// twice.
type DeviceError struct {
	Dev       int
	Duplicate bool
	Have      int // how many there are
}

func (e *DeviceError) Error() string {
	if e.Duplicate {
		return fmt.Sprintf("GPU %d is given twice; a GPU takes part once", e.Dev)
	}
	if e.Have == 0 {
		return fmt.Sprintf("there is no GPU %d: CUDA shows none", e.Dev)
	}
	return fmt.Sprintf("there is no GPU %d; CUDA shows %d, numbered from 0", e.Dev, e.Have)
}
