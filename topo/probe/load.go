package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files of a recording.
const (
	sysfsFile = "sysfs.txtar"
	hostFile  = "nvml.json"
	netFile   = "net.json"
	ranksFile = "ranks.json"
	caseFile  = "case.json"
)

// jobFile is ranks.json.
type jobFile struct {
	Ranks []Rank `json:"ranks"`
	// Env holds the variables that acted when the recording was made.
	Env map[string]string `json:"env,omitempty"`
}

// variant is case.json: another job on the machine of another recording.
type variant struct {
	Base string `json:"base"`
	jobFile
}

// IsRecording tells whether a folder holds a recording.
func IsRecording(dir string) bool {
	for _, name := range []string{caseFile, hostFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Load reads a recording, with the ranks of the job that it was made of. It
// knows only the variables of that job; set overrides them, and what the network
// layer answered to the old ones is then worked out anew.
func Load(dir string, set map[string]string) (*Prober, []Rank, error) {
	p, job, err := load(dir)
	if err != nil {
		return nil, nil, err
	}
	p.Network.forget(set)
	p.recordedExports = map[int]bool{}
	for i, r := range job.Ranks[:min(len(job.Ranks), len(p.Network.DMABuf))] {
		p.recordedExports[r.CUDADev] = p.Network.DMABuf[i] != 0
	}
	p.Env = func(name string) (string, bool) {
		if v, ok := set[name]; ok {
			return v, true
		}
		v, ok := job.Env[name]
		return v, ok
	}
	return p, job.Ranks, nil
}

// forget drops the network layer's answers if a variable may change them. A
// plugin cannot be asked again.
func (n *Network) forget(set map[string]string) {
	want, named := set["NCCL_NET"]
	plugin := n.Selected == netPlugin && !named
	for name := range set {
		acts := strings.HasPrefix(name, "NCCL_NET") || strings.HasPrefix(name, "NCCL_IB_") ||
			strings.HasPrefix(name, "NCCL_SOCKET_") || name == "NCCL_COMM_ID" || name == "NCCL_DMABUF_ENABLE"
		if acts && !plugin && !strings.EqualFold(want, netPlugin) {
			n.Properties, n.DMABuf = nil, nil
		}
	}
}

func load(dir string) (*Prober, jobFile, error) {
	var v variant
	switch err := readJSON(filepath.Join(dir, caseFile), &v); {
	case errors.Is(err, fs.ErrNotExist):
		p, job, err := loadBase(dir)
		return p, job, err
	case err != nil:
		return nil, jobFile{}, err
	}
	base, err := findBase(dir, v.Base)
	if err != nil {
		return nil, jobFile{}, err
	}
	p, _, err := loadBase(base)
	if err != nil {
		return nil, jobFile{}, err
	}
	p.Name = dir
	// What the variant's own file does not say stays the base's.
	p.Network.Properties, p.Network.DMABuf = nil, nil
	if err := readJSON(filepath.Join(dir, netFile), &p.Network); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, jobFile{}, err
	}
	return p, v.jobFile, nil
}

// findBase finds the recording that a variant builds on: beside it, or beside
// the folder of variants.
func findBase(dir, base string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if base == "" || !filepath.IsLocal(base) {
		return "", fmt.Errorf("%s: base %q is not the name of a recording", filepath.Join(dir, caseFile), base)
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if at := filepath.Join(up, base); IsRecording(at) {
			return at, nil
		}
		if up == filepath.Dir(up) || up == filepath.Dir(filepath.Dir(dir)) {
			return "", fmt.Errorf("%s: its base %q is neither beside the recording nor beside the folder that it is in",
				filepath.Join(dir, caseFile), base)
		}
	}
}

func loadBase(dir string) (*Prober, jobFile, error) {
	p := &Prober{Name: dir}
	var job jobFile
	data, err := os.ReadFile(filepath.Join(dir, sysfsFile))
	if err != nil {
		return nil, job, fmt.Errorf("not a whole recording: %w", err)
	}
	if p.Files, err = ParseTree(data); err != nil {
		return nil, job, fmt.Errorf("%s: %w", filepath.Join(dir, sysfsFile), err)
	}
	for name, into := range map[string]any{hostFile: &p.Host, netFile: &p.Network, ranksFile: &job} {
		if err := readJSON(filepath.Join(dir, name), into); err != nil {
			return nil, job, fmt.Errorf("not a whole recording: %w", err)
		}
	}
	return p, job, nil
}

func readJSON(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
