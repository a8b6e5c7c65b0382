package job

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// Job is a communicator and the machines under it.
type Job struct {
	Boxes []Box
	Comm  *connect.Comm
	Env   *ncclenv.Env
}

// New selects the given GPUs on every machine, all of them without any, and
// makes one communicator of all their ranks: the first machine's ranks first.
func New(ms []*Machine, gpus []int, env *ncclenv.Env) (*Job, error) {
	boxes, err := See(ms, gpus, env)
	if err != nil {
		return nil, err
	}
	comm, err := Connect(boxes, env)
	if err != nil {
		return nil, err
	}
	return &Job{Boxes: boxes, Comm: comm, Env: env}, nil
}

// Connect searches rings in every node of the boxes and joins the nodes. Boxes
// of one graph are searched once.
func Connect(boxes []Box, env *ncclenv.Env) (*connect.Comm, error) {
	total := 0
	for _, b := range boxes {
		total += b.Ranks()
	}
	s := searcher{total: total, opt: rings.OptionsFrom(env)}
	if err := s.readGraphFile(env); err != nil {
		return nil, err
	}
	found := map[*graph.Graph][]connect.Node{}
	var nodes []connect.Node
	for _, b := range boxes {
		parts, ok := found[b.Graph]
		if !ok {
			var err error
			if parts, err = s.search(b.Graph); err != nil {
				return nil, fmt.Errorf("%s: %w", b.Machine.Name, err)
			}
			found[b.Graph] = parts
		}
		ranks := make([]int, b.Ranks())
		for i := range ranks {
			ranks[i] = b.FirstRank + i
		}
		for _, p := range parts {
			p.Ranks = ranks
			nodes = append(nodes, p)
		}
	}
	comm, err := connect.Join(nodes, connect.OptionsFrom(env))
	if err != nil {
		return nil, err
	}
	comm.Warnings = append(s.notes, comm.Warnings...)
	return comm, nil
}

// Names gives the machines' names, one per box.
func (j *Job) Names() []string { return Names(j.Boxes) }

// Names gives the machines' names, one per box.
func Names(boxes []Box) []string {
	names := make([]string, len(boxes))
	for i, b := range boxes {
		names[i] = b.Machine.Name
	}
	return names
}

// Notes gives what a user should know of the machines beside what was assumed,
// each machine's once.
func Notes(boxes []Box) []string {
	var out []string
	seen := map[*Machine]bool{}
	for _, b := range boxes {
		if seen[b.Machine] {
			continue
		}
		seen[b.Machine] = true
		for _, n := range b.Notes {
			if !slices.ContainsFunc(b.System.Assumed, func(a topo.Assumption) bool { return sentence(a) == n }) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Assumed lists what the machines' sources did not say and had to be chosen,
// each machine's once.
func Assumed(boxes []Box) []string {
	out := []string{}
	seen := map[*Machine]bool{}
	for _, b := range boxes {
		if seen[b.Machine] {
			continue
		}
		seen[b.Machine] = true
		for _, a := range b.System.Assumed {
			out = append(out, sentence(a))
		}
	}
	return out
}

// HasNetworks says whether every node has a network.
func (j *Job) HasNetworks() bool {
	for _, n := range j.Comm.Nodes {
		if len(n.Graph.NodesOf(graph.NET)) == 0 {
			return false
		}
	}
	return true
}

// GPU gives the GPU of a user rank, in the graph of its node.
func (j *Job) GPU(rank int) *graph.Node {
	n := j.Comm.Nodes[j.Comm.RankToNode[rank]]
	for _, g := range n.Graph.NodesOf(graph.GPU) {
		if n.Ranks[g.GPU.Rank] == rank {
			return g
		}
	}
	panic(fmt.Sprintf("job: rank %d is on no GPU", rank))
}

// maxRepeat keeps a slip of the finger from filling the memory.
const maxRepeat = 100_000

// Repeat gives n times the machines, in order.
func Repeat(ms []*Machine, n int) ([]*Machine, error) {
	if n < 1 {
		return nil, errors.New("a job needs at least one node")
	}
	if n > maxRepeat {
		return nil, fmt.Errorf("at most %d times", maxRepeat)
	}
	out := make([]*Machine, 0, n*len(ms))
	for range n {
		out = append(out, ms...)
	}
	return out, nil
}
