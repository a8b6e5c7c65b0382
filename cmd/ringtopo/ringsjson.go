package main

import (
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/rings"
)

// ringsJSON is ringtopo rings -o json, schema ringtopo.rings/v1.
type ringsJSON struct {
	Schema     string            `json:"schema"`
	Compat     rings.Compat      `json:"compat"`
	Machine    []string          `json:"machine"`
	Hosts      int               `json:"hosts"`
	Nodes      int               `json:"nodes"`
	Ranks      int               `json:"ranks"`
	RankToNode []int             `json:"rankToNode"`
	Set        map[string]string `json:"set"`
	Assumed    []string          `json:"assumed"`
	Search     []searchJSON      `json:"search"`
	NChannels  int               `json:"nChannels"`
	Channels   []channelJSON     `json:"channels"`
	Trees      []treeJSON        `json:"trees"`
}

type searchJSON struct {
	Node   int        `json:"node"`
	Graphs graphsJSON `json:"graphs"`
}

type graphsJSON struct {
	Ring rings.Set  `json:"ring"`
	Tree rings.Set  `json:"tree"`
	NVLS *rings.Set `json:"nvls,omitempty"`
}

type channelJSON struct {
	ID   int     `json:"id"`
	Ring []int32 `json:"ring"`
}

type treeJSON struct {
	ID    int            `json:"id"`
	Nodes []treeNodeJSON `json:"nodes"`
}

type treeNodeJSON struct {
	Rank int      `json:"rank"`
	Up   int32    `json:"up"`
	Down [3]int32 `json:"down"`
}

func newRingsJSON(j *job.Job, machines []string) ringsJSON {
	c := j.Comm
	out := ringsJSON{
		Schema: "ringtopo.rings/v1", Compat: rings.NCCL2223,
		Machine: machines, Hosts: len(j.Boxes), Nodes: c.NNodes, Ranks: c.NRanks,
		RankToNode: c.RankToNode, Set: j.Env.Acted(), Assumed: job.Assumed(j.Boxes), NChannels: c.NChannels,
	}
	for i := range c.Nodes {
		out.Search = append(out.Search, newSearchJSON(i, &c.Nodes[i]))
	}
	for id, r := range c.Rings {
		out.Channels = append(out.Channels, channelJSON{id, r.Order})
	}
	for id, t := range c.Trees {
		tree := treeJSON{ID: id}
		for rank, up := range t.Up {
			tree.Nodes = append(tree.Nodes, treeNodeJSON{rank, up, t.Down[rank]})
		}
		out.Trees = append(out.Trees, tree)
	}
	return out
}

func newSearchJSON(i int, n *connect.Node) searchJSON {
	s := searchJSON{Node: i, Graphs: graphsJSON{Ring: userSet(n, n.Search.Ring), Tree: userSet(n, n.Search.Tree)}}
	if n.Search.NVLS != nil {
		nvls := userSet(n, *n.Search.NVLS)
		s.Graphs.NVLS = &nvls
	}
	return s
}

// userSet gives a set with user ranks. Of NVLS only the heads count.
func userSet(n *connect.Node, s rings.Set) rings.Set {
	intra := make([][]int, len(s.Intra))
	for c, chain := range s.Intra {
		if s.Pattern == rings.NVLS {
			chain = chain[:1]
		}
		for _, local := range chain {
			intra[c] = append(intra[c], n.Ranks[local])
		}
	}
	s.Intra = intra
	if s.Inter == nil {
		s.Inter = [][2]int64{}
	}
	return s
}
