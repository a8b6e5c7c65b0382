package job

import (
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// Machine is a machine that a user named. One value may stand for several
// boxes of a job.
type Machine struct {
	Name string // as the user gave it

	doc    *ncclxml.Document
	prober *probe.Prober // of a machine that is asked, live or recorded; else nil
	ranks  []probe.Rank  // the job that a recording was made of
}

// Select gives the machine as the ranks of a job on the given GPUs see it: rank
// i runs on device gpus[i]. Without any, all GPUs take part. An error that a
// GPU is not there is an *ncclxml.DeviceError or a *probe.DeviceError.
func (m *Machine) Select(gpus []int) (*ncclxml.Document, error) {
	if m.prober == nil {
		return m.doc.Select(gpus)
	}
	ranks := m.ranks
	if len(gpus) > 0 || len(ranks) == 0 {
		var err error
		if ranks, err = m.prober.Host.Ranks(gpus); err != nil {
			return nil, err
		}
	}
	return m.prober.Probe(ranks)
}
