package job

import (
	"fmt"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// Box is one machine of a job. Boxes that are alike share everything but the
// rank they start at.
type Box struct {
	Machine   *Machine
	Doc       *ncclxml.Document // the machine as its ranks see it
	System    *topo.System
	Graph     *graph.Graph // of the whole box, networks and all, before it is split into nodes
	FirstRank int          // user rank of the box's rank 0
	Notes     []string     // what a user should know of the machine
}

// Ranks is the number of ranks on the box.
func (b Box) Ranks() int { return len(b.Graph.NodesOf(graph.GPU)) }

// See selects the given GPUs on every machine, all of them without any, and
// builds the graphs. NCCL's variables act through env.
func See(ms []*Machine, gpus []int, env *ncclenv.Env) ([]Box, error) {
	seen := map[*Machine]Box{}
	boxes := make([]Box, 0, len(ms))
	first := 0
	for _, m := range ms {
		b, ok := seen[m]
		if !ok {
			var err error
			if b, err = see(m, gpus, env); err != nil {
				return nil, err
			}
			seen[m] = b
		}
		b.FirstRank = first
		first += b.Ranks()
		boxes = append(boxes, b)
	}
	return boxes, nil
}

func see(m *Machine, gpus []int, env *ncclenv.Env) (Box, error) {
	doc, notes, blocked, err := m.look(gpus)
	if err != nil {
		return Box{}, err
	}
	sys, err := doc.System()
	if err != nil {
		return Box{}, err
	}
	opt := graph.OptionsFrom(env)
	if ignore := env.Int("NCCL_IGNORE_DISABLED_P2P", 0); ignore != 2 {
		opt.Blocked = blocked
	}
	g, err := graph.Build(sys, opt)
	if err != nil {
		return Box{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	return Box{Machine: m, Doc: doc, System: sys, Graph: g, Notes: notes}, nil
}
