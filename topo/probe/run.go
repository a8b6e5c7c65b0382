package probe

import (
	"bytes"
	"errors"
	"fmt"
	"maps"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// Options chooses the job whose view of a machine is wanted.
type Options struct {
	// GPUs are CUDA device numbers: rank i runs on GPUs[i]. Without any, a rank
	// runs on each GPU, or, of a recording, the recorded job is taken.
	GPUs []int
	// Env holds NCCL's variables of a live machine; nil means none.
	Env Env
	// Set overrides variables, also those of a recording.
	Set map[string]string
	// File is a topology file to start from; nil if there is none.
	File *ncclxml.Document
}

// Result is a machine as a job sees it.
type Result struct {
	Document *ncclxml.Document
	Ranks    []Rank
	// Blocked are the pairs of ranks whose GPUs cannot address each other's
	// memory, by NVML's word, which NCCL takes.
	Blocked [][2]int
	Notes   []string // what a user should know about it, one sentence each
}

// Live probes the machine that s asks; [System] is the one that the program runs
// on. Without a GPU or driver the error is ErrNoGPU.
func Live(s Sources, o Options) (*Result, error) {
	p, notes, err := s.Read(o.env())
	if err != nil {
		return nil, err
	}
	if o.File == nil {
		o.File = providedFile(p.Files)
	}
	p.File = o.File
	ranks, err := p.Host.Ranks(o.GPUs)
	if err != nil {
		return nil, err
	}
	return p.result(ranks, notes)
}

// env looks a variable up in Set, then in Env.
func (o Options) env() Env {
	return func(name string) (string, bool) {
		if v, ok := o.Set[name]; ok {
			return v, true
		}
		if o.Env == nil {
			return "", false
		}
		return o.Env(name)
	}
}

// providedFile reads the topology that some virtual machines provide for NCCL.
// One that cannot be read is passed over, as NCCL does.
func providedFile(f Files) *ncclxml.Document {
	const name = "/var/run/nvidia-topologyd/virtualTopology.xml"
	data, err := readFile(f, name)
	if err != nil {
		return nil
	}
	doc, err := ncclxml.Decode(bytes.NewReader(data), name)
	if err != nil {
		return nil
	}
	return doc
}

// Replay probes a recorded machine.
func Replay(dir string, o Options) (*Result, error) {
	p, ranks, err := Load(dir, o.Set)
	if err != nil {
		return nil, err
	}
	p.File = o.File
	if p.File == nil {
		p.File = providedFile(p.Files)
	}
	if len(o.GPUs) > 0 {
		if ranks, err = p.Host.Ranks(o.GPUs); err != nil {
			return nil, fmt.Errorf("recording %s: %w", dir, err)
		}
	}
	return p.result(ranks, nil)
}

func (p *Prober) result(ranks []Rank, notes []string) (*Result, error) {
	doc, err := p.Probe(ranks)
	if err != nil {
		return nil, err
	}
	if elements, children := count(doc.Root); elements > maxElements || children > maxChildren {
		notes = append(notes, fmt.Sprintf("the topology has %d elements, up to %d in one; NCCL 2.22 takes %d and %d, and would not start",
			elements, children, maxElements, maxChildren))
	}
	blocked := p.Host.blocked(ranks)
	if len(blocked) > 0 {
		notes = append(notes, fmt.Sprintf("NVML denies peer-to-peer access for %d pairs of GPUs, for example of ranks %d and %d; "+
			"between those NCCL goes through the host's memory", len(blocked), blocked[0][0], blocked[0][1]))
	}
	return &Result{Document: doc, Ranks: ranks, Blocked: blocked, Notes: notes}, nil
}

// Limits of NCCL on a topology, and on the children of one element.
const (
	maxElements = 256
	maxChildren = 128
)

// count gives the number of elements and the largest number of children.
func count(e *ncclxml.Element) (elements, children int) {
	elements, children = 1, len(e.Children)
	for _, c := range e.Children {
		n, most := count(c)
		elements, children = elements+n, max(children, most)
	}
	return elements, children
}

// Capture records the machine that s asks, with its view by the chosen job, as a
// new folder that Load reads. With mask, names, addresses and GUIDs are replaced
// by made-up ones, equal ones by equal ones.
func Capture(dir string, s Sources, o Options, mask bool) (*Result, error) {
	if o.File != nil {
		return nil, errors.New("a recording is made of the machine alone, without a topology file")
	}
	record := newRecorder(s.Files)
	p, notes, err := s.Read(o.env())
	if err != nil {
		return nil, err
	}
	p.Files = record
	ranks, err := p.Host.Ranks(o.GPUs)
	if err != nil {
		return nil, err
	}
	p.File = providedFile(p.Files)
	if err := p.touchAll(); err != nil {
		return nil, err
	}
	p.Files = record.seen
	job := jobFile{Ranks: ranks, Env: networkVariables(p.Env)}
	if mask {
		newMasker().mask(p, &job)
	}
	if err := p.settleNetwork(ranks); err != nil {
		return nil, err
	}
	r, err := p.result(ranks, notes)
	if err != nil {
		return nil, err
	}
	return r, p.save(dir, record.seen, job, r.Document)
}

// touchAll reads what any job on the machine would read: all GPUs, with all of
// the network's devices.
func (p *Prober) touchAll() error {
	all, err := p.Host.Ranks(nil)
	if err != nil {
		return err
	}
	env := p.Env
	defer func() { p.Env = env }()
	for _, set := range []map[string]string{
		{},
		{"NCCL_NET": netSocket, "NCCL_SOCKET_IFNAME": "^=-"},
		{"NCCL_NET": netIB, "NCCL_IB_HCA": "", "NCCL_IB_MERGE_VFS": "0"},
		{"NCCL_NET": netIB, "NCCL_IB_HCA": "", "NCCL_IB_MERGE_VFS": "1"},
	} {
		p.Env = Options{Env: env, Set: set}.env()
		var network *NetworkError // a machine may lack one of the networks
		if _, err := p.Probe(all); err != nil && !errors.As(err, &network) {
			return err
		}
	}
	return nil
}

// settleNetwork notes what the chosen network says.
func (p *Prober) settleNetwork(ranks []Rank) (err error) {
	if p.Network.Selected, p.Network.Properties, err = p.Network.devices(p.Files, p.Env); err != nil {
		return err
	}
	exports := p.exports(p.Network.Selected, ranks)
	p.Network.DMABuf = nil
	for _, r := range ranks {
		p.Network.DMABuf = append(p.Network.DMABuf, int(flag(exports[r.CUDADev])[0]-'0'))
	}
	return nil
}

// networkVariables gives those variables that decide which networks are used.
func networkVariables(env Env) map[string]string {
	set := map[string]string{}
	for _, name := range actingVariables {
		if v, ok := env(name); ok {
			set[name] = v
		}
	}
	return maps.Clone(set)
}

// actingVariables are the variables that the probe looks up, but for the host's
// id.
var actingVariables = []string{
	"NCCL_NET", "NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_IB_MERGE_NICS", "NCCL_IB_MERGE_VFS",
	"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_COMM_ID", "NCCL_DMABUF_ENABLE",
}
