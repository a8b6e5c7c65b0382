package job

import (
	"strings"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
	"github.com/ringtopo/ringtopo/topo/smi"
)

// Machine is a machine that a user named. One value may stand for several
// boxes of a job.
type Machine struct {
	Name string // as the user gave it

	doc    *ncclxml.Document
	matrix *smi.Matrix                             // what doc was made of, if it was
	ask    func(gpus []int) (*probe.Result, error) // a machine that answers, live or recorded
}

// Select gives the machine as the ranks of a job on the given GPUs see it: rank
// i runs on device gpus[i]. Without any, all GPUs take part. The notes say what
// a user should know. An error that a GPU is not there is an
// *ncclxml.DeviceError or a *probe.DeviceError.
func (m *Machine) Select(gpus []int) (doc *ncclxml.Document, notes []string, err error) {
	doc, notes, _, err = m.look(gpus)
	return doc, notes, err
}

// domains is the number of NUMA domains of all that a file says; 0 for a machine
// that answers.
func (m *Machine) domains() (n int) {
	if m.doc == nil {
		return 0
	}
	for _, c := range m.doc.Root.Children {
		if c.Name == "cpu" {
			n++
		}
	}
	return n
}

// look is Select, and which pairs of ranks the driver denies peer access.
func (m *Machine) look(gpus []int) (doc *ncclxml.Document, notes []string, blocked [][2]int, err error) {
	if m.ask == nil {
		doc, err = m.doc.Select(gpus)
		return doc, m.passedOver(), nil, err
	}
	r, err := m.ask(gpus)
	if err != nil {
		return nil, nil, nil, err
	}
	return r.Document, r.Notes, r.Blocked, nil
}

// passedOver lists what of a matrix was not used.
func (m *Machine) passedOver() (notes []string) {
	if m.matrix == nil {
		return nil
	}
	for _, a := range m.matrix.Notes {
		notes = append(notes, sentence(a))
	}
	return notes
}

// sentence gives an assumption with its place.
func sentence(a topo.Assumption) string { return strings.TrimPrefix(a.Where+": "+a.What, ": ") }

// IsMatrix tells a machine that is known by the text of nvidia-smi topo -m.
func (m *Machine) IsMatrix() bool { return m.matrix != nil }
