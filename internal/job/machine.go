package job

import (
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// Machine is a machine that a user named. One value may stand for several
// boxes of a job.
type Machine struct {
	Name string // as the user gave it

	doc *ncclxml.Document
	ask func(gpus []int) (*probe.Result, error) // a machine that answers, live or recorded
}

// Select gives the machine as the ranks of a job on the given GPUs see it: rank
// i runs on device gpus[i]. Without any, all GPUs take part. The notes say what
// a user should know. An error that a GPU is not there is an
// *ncclxml.DeviceError or a *probe.DeviceError.
func (m *Machine) Select(gpus []int) (doc *ncclxml.Document, notes []string, err error) {
	if m.ask == nil {
		doc, err = m.doc.Select(gpus)
		return doc, nil, err
	}
	r, err := m.ask(gpus)
	if err != nil {
		return nil, nil, err
	}
	return r.Document, r.Notes, nil
}
