package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// ErrNoGPU says that there is no GPU, no driver, or no way to ask it.
var ErrNoGPU = errors.New("no NVIDIA GPU or driver")

// NVML is what a probe asks NVIDIA's management library.
type NVML interface {
	// Devices describes all GPUs, in the library's order. The error is ErrNoGPU
	// where there is no driver.
	Devices() ([]Device, error)
}

// CUDA is what a probe asks the CUDA driver.
type CUDA interface {
	// Devices lists the GPUs that a process sees, in CUDA's order, and gives the
	// driver's version.
	Devices() (version int, devices []CUDADevice, err error)
}

// NetworkLayer is what a probe asks the network.
type NetworkLayer interface {
	// Verbs describes InfiniBand and RoCE devices; nil without the library.
	Verbs() (*Verbs, error)
	// Interfaces lists the addresses of the host as getifaddrs does.
	Interfaces() ([]Interface, error)
}

// Sources are the places that a probe reads.
type Sources struct {
	Files   Files
	NVML    NVML
	CUDA    CUDA
	Network NetworkLayer
}

// Read asks everything but sysfs, which Prober.Probe reads itself. The notes say
// what had to be assumed.
func (s Sources) Read(env Env) (p *Prober, notes []string, err error) {
	p = &Prober{Name: "this machine", Files: s.Files, Env: env}
	if p.Host.Devices, err = s.NVML.Devices(); err != nil {
		return nil, nil, err
	}
	if len(p.Host.Devices) == 0 {
		return nil, nil, fmt.Errorf("%w: the driver shows none; is one given to this container?", ErrNoGPU)
	}
	p.Host.CUDAVersion, p.Host.CUDA, err = s.CUDA.Devices()
	switch {
	case errors.Is(err, ErrNoGPU):
		return nil, nil, err
	case err != nil:
		notes = append(notes, p.Host.assumeCUDA(err))
	}
	p.Host.matchNVML()
	if err := p.Host.identify(s.Files, env); err != nil {
		return nil, nil, err
	}
	if p.Network.Verbs, err = s.Network.Verbs(); err != nil {
		notes = append(notes, fmt.Sprintf("InfiniBand devices could not be asked (%v): left out", err))
	}
	if p.Network.Interfaces, err = s.Network.Interfaces(); err != nil {
		return nil, nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	return p, append(notes, p.networkNotes()...), nil
}

// assumeCUDA puts what NVML knows in the place of CUDA's answers.
func (h *Host) assumeCUDA(cause error) string {
	h.CUDAVersion = cudaDMABuf
	h.CUDA = nil
	for i, d := range h.Devices {
		h.CUDA = append(h.CUDA, CUDADevice{Dev: i, NVMLIndex: i, BusID: d.BusIDLegacy, GPUDirectRDMA: 1, DMABuf: 1})
	}
	return fmt.Sprintf("CUDA cannot be asked (%v): all GPUs taken in the order of NVML, with GPUDirect and DMA-BUF", cause)
}

// matchNVML finds the NVML index of each CUDA device; -1 if NVML has none.
func (h *Host) matchNVML() {
	for i := range h.CUDA {
		h.CUDA[i].NVMLIndex = -1
		if d := h.device(topo.ParseBusID(h.CUDA[i].BusID)); d != nil {
			h.CUDA[i].NVMLIndex = d.Index
		}
	}
}

// identify fills in what the kernel says of the host and its processors.
func (h *Host) identify(f Files, env Env) error {
	if id, ok := env("NCCL_HOSTID"); ok {
		h.HostID = &id
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host's name: %w", err)
	}
	h.Hostname = name
	if id, err := readFile(f, "/proc/sys/kernel/random/boot_id"); err == nil {
		h.BootID, _, _ = strings.Cut(strings.TrimSpace(string(id)), " ")
	}
	h.Arch = archNames[runtime.GOARCH]
	if h.Arch == "" {
		return fmt.Errorf("processors of the kind %s are not known to NCCL", runtime.GOARCH)
	}
	if h.Arch == "x86_64" {
		h.CPUID, err = readCPUInfo(f)
	}
	return err
}

var archNames = map[string]string{"amd64": "x86_64", "arm64": "arm64", "ppc64": "ppc64", "ppc64le": "ppc64"}

// readCPUInfo tells from the kernel's words what CPUID says.
func readCPUInfo(f Files) (*CPUID, error) {
	const name = "/proc/cpuinfo"
	data, err := readFile(f, name)
	if err != nil {
		return nil, fmt.Errorf("reading the processor's kind: %w", err)
	}
	first, _, _ := strings.Cut(string(data), "\n\n")
	values := map[string]string{}
	for _, line := range strings.Split(first, "\n") {
		// The vendor of some processors starts and ends with spaces.
		if key, value, ok := strings.Cut(line, ": "); ok {
			values[strings.TrimSpace(key)] = value
		}
	}
	info := ProcCPUInfo{Vendor: values["vendor_id"]}
	for key, into := range map[string]*int{"cpu family": &info.Family, "model": &info.Model, "stepping": &info.Stepping} {
		if *into, err = strconv.Atoi(strings.TrimSpace(values[key])); err != nil && key != "stepping" {
			return nil, fmt.Errorf("%s: %q is not a number: %w", name, key, err)
		}
	}
	return info.cpuid(), nil
}

// cpuid undoes the kernel's addition of the extended family.
func (i *ProcCPUInfo) cpuid() *CPUID {
	const baseMax = 0xf
	base, extended := i.Family, 0
	if base > baseMax {
		base, extended = baseMax, i.Family-baseMax
	}
	leaf1 := extended<<20 | i.Model>>4<<16 | base<<8 | i.Model&0xf<<4 | i.Stepping
	return &CPUID{
		Vendor: i.Vendor, Leaf1: fmt.Sprintf("%#08x", leaf1),
		Family: base + extended<<4, Model: i.Model, ProcCPUInfo: i,
	}
}

// networkNotes says where NCCL's networks would differ from what the machine
// seems to offer.
func (p *Prober) networkNotes() []string {
	var notes []string
	if p.Network.Verbs == nil {
		if dir, err := realPath(p.Files, "/sys/class/infiniband"); err == nil {
			if names, err := p.Files.ReadDir(dir); err == nil && len(names) > 0 {
				notes = append(notes, "InfiniBand devices in sysfs, but libibverbs.so.1 cannot be loaded: "+
					"NCCL would use sockets here, and so does this topology")
			}
		}
	}
	if name, ok := p.Env("NCCL_NET_PLUGIN"); ok && name != "" && name != "none" {
		notes = append(notes, "NCCL_NET_PLUGIN="+name+": a network plugin cannot be asked; "+
			"the topology has the devices of NCCL's own networks")
	}
	return notes
}
