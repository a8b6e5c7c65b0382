package job

import (
	"fmt"
	"os"
	"slices"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/rings/graphxml"
)

// searcher finds the rings of boxes of one job.
type searcher struct {
	total int // ranks of the job
	opt   rings.Options
	file  *graphxml.File // rings already found, nil without
	notes []string
}

// readGraphFile reads what NCCL_GRAPH_FILE names, if anything.
func (s *searcher) readGraphFile(env *ncclenv.Env) error {
	name, ok := env.String("NCCL_GRAPH_FILE")
	if !ok || name == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("NCCL_GRAPH_FILE: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	s.file, err = graphxml.Parse(f, name)
	return err
}

// search cuts a box into nodes and searches each.
func (s *searcher) search(box *graph.Graph) ([]connect.Node, error) {
	parts, err := box.Split(s.total)
	if err != nil {
		return nil, err
	}
	nodes := make([]connect.Node, len(parts))
	for i, g := range parts {
		opt := s.opt
		if s.file != nil {
			preset, assumed, err := s.file.Preset(g, opt.CrossNIC)
			if err != nil {
				return nil, err
			}
			opt.Preset = preset
			for _, a := range assumed {
				if note := "assumed: " + a.Where + ": " + a.What; !slices.Contains(s.notes, note) {
					s.notes = append(s.notes, note)
				}
			}
		}
		res, err := rings.Search(g, opt)
		if err != nil {
			return nil, err
		}
		nodes[i] = connect.Node{Graph: g, Search: res}
	}
	return nodes, nil
}
