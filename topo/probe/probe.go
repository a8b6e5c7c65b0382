package probe

import (
	"fmt"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// Prober holds what a machine answers.
type Prober struct {
	Name    string // of the machine, for messages
	Files   Files  // sysfs
	Host    Host
	Network Network
	Env     Env // NCCL's variables
	// File is the topology file to complete, as NCCL_TOPO_FILE names one; nil if
	// there is none.
	File *ncclxml.Document

	// recordedExports is what exports would tell, as a recording has it.
	recordedExports map[int]bool
}

// builder completes the topology of one rank.
type builder struct {
	*draft
	files    Files
	host     *Host
	network  *Network
	hostHash uint64
	nets     []Properties
	exports  map[int]bool // whether a CUDA device exports its memory to the network
	cudaGDR  bool         // CUDA tells whether a GPU takes part in GPUDirect
}

// Probe describes the machine as a job with these ranks sees it: each rank
// completes the way to its own GPU and to every network device, and what they
// find is fused in rank order. The document is what NCCL_TOPO_DUMP_FILE gets.
//
// The error is a *NetworkError where NCCL itself would not start.
func (p *Prober) Probe(ranks []Rank) (*ncclxml.Document, error) {
	kind, nets, err := p.Network.devices(p.Files, p.Env)
	if err != nil {
		return nil, fmt.Errorf("probing %s: %w", p.Name, err)
	}
	refreshSwitches(p.Files)
	b := &builder{
		files: p.Files, host: &p.Host, network: &p.Network, nets: nets,
		hostHash: hostHash(&p.Host, p.Env),
		exports:  p.exports(kind, ranks),
		cudaGDR:  p.Host.CUDAVersion >= cudaGDRAttribute,
	}
	doc := &ncclxml.Document{Name: p.Name}
	for _, r := range ranks {
		b.draft = newDraft(p.File)
		if err := b.complete(r); err != nil {
			return nil, fmt.Errorf("probing %s: %w", p.Name, err)
		}
		if doc.Root == nil {
			doc.Root = b.root
			continue
		}
		fuse(doc.Root, b.root)
	}
	if doc.Root == nil {
		return nil, fmt.Errorf("probing %s: a job without any rank", p.Name)
	}
	return doc, nil
}

// refreshSwitches makes the driver of linked switches look at its links again,
// by reading a file that there is for this.
func refreshSwitches(f Files) {
	_, _ = readFile(f, switchLinks+"refresh_switch_toplogy") // spelled so; missing without such switches
}

func (b *builder) complete(r Rank) error {
	if err := b.addGPU(r); err != nil {
		return err
	}
	if err := b.addNets(r); err != nil {
		return err
	}
	trim(b.root)
	return nil
}

// exports tells which GPUs export their memory as DMA-BUF to the network.
func (p *Prober) exports(kind string, ranks []Rank) map[int]bool {
	out := map[int]bool{}
	enabled := intVar(p.Env, "NCCL_DMABUF_ENABLE", 1) != 0 && kind != netSocket && p.Host.CUDAVersion >= cudaDMABuf
	for _, r := range ranks {
		c := p.Host.cuda(r.CUDADev)
		out[r.CUDADev] = enabled && c != nil && c.DMABuf != 0
		if recorded, ok := p.recordedExports[r.CUDADev]; ok {
			out[r.CUDADev] = recorded
		}
	}
	return out
}

func (b *builder) exportsMemory(r Rank) bool { return b.exports[r.CUDADev] }

// gpuDirect tells whether a rank's GPU takes part in GPUDirect. Older CUDA has
// no attribute for it; NCCL then tries, which works where a network device
// takes GPU memory.
func (b *builder) gpuDirect(r Rank) bool {
	if b.cudaGDR {
		c := b.host.cuda(r.CUDADev)
		return c != nil && c.GPUDirectRDMA != 0
	}
	for _, p := range b.nets {
		if p.PtrSupport&ptrCUDA != 0 {
			return true
		}
	}
	return false
}
