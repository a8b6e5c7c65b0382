package connect_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/vectors"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// env is a set of variables as a case names them.
type env map[string]string

func (e env) String(name string) (string, bool) { v, ok := e[name]; return v, ok }

func (e env) Int(name string, def int64) int64 {
	if v, err := strconv.ParseInt(e[name], 0, 64); err == nil {
		return v
	}
	return def
}

// box is one machine of a communicator, searched.
type box struct {
	gpus   int
	parts  []*graph.Graph
	search []*rings.Result
}

func document(t testing.TB, path string) *ncclxml.Document {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := ncclxml.Decode(f, path)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// whole builds the graph of the GPUs of a machine, uncut.
func whole(t testing.TB, doc *ncclxml.Document, devs []int, e env) *graph.Graph {
	t.Helper()
	job, err := doc.Select(devs)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := job.System()
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Build(sys, graph.OptionsFrom(e))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func search(t testing.TB, g *graph.Graph, ranks int, e env) box {
	t.Helper()
	parts, err := g.Split(ranks)
	if err != nil {
		t.Fatal(err)
	}
	b := box{gpus: len(g.NodesOf(graph.GPU)), parts: parts}
	for _, p := range parts {
		r, err := rings.Search(p, rings.OptionsFrom(e))
		if err != nil {
			t.Fatal(err)
		}
		b.search = append(b.search, r)
	}
	return b
}

func join(t testing.TB, boxes []box, e env) *connect.Comm {
	t.Helper()
	var nodes []connect.Node
	base := 0
	for _, b := range boxes {
		ranks := make([]int, b.gpus)
		for i := range ranks {
			ranks[i] = base + i
		}
		base += b.gpus
		for i, p := range b.parts {
			nodes = append(nodes, connect.Node{Graph: p, Search: b.search[i], Ranks: ranks})
		}
	}
	c, err := connect.Join(nodes, connect.OptionsFrom(e))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExpected(t *testing.T) {
	for _, folder := range []string{"", "fuzz"} {
		dir := filepath.Join(vectors.Dir(), folder)
		for _, name := range vectors.Names(t, filepath.Join(folder, "expect"), ".json") {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				doc := document(t, filepath.Join(dir, "machines", name+".xml"))
				for _, c := range vectors.Load(t, filepath.Join(dir, "expect", name+".json")).Cases {
					checkCase(t, c, func(env) []*ncclxml.Document { return []*ncclxml.Document{doc} })
				}
			})
		}
	}
}

func TestMixed(t *testing.T) {
	for _, name := range vectors.Names(t, "mixed", ".json") {
		for _, c := range vectors.Load(t, filepath.Join(vectors.Dir(), "mixed", name+".json")).Cases {
			t.Run(name, func(t *testing.T) {
				checkCase(t, c, func(env) (docs []*ncclxml.Document) {
					for _, m := range c.Machines {
						docs = append(docs, document(t, filepath.Join(vectors.Dir(), "machines", m+".xml")))
					}
					return docs
				})
			})
		}
	}
}

// checkCase runs one communicator; a single document stands for as many boxes
// as its ranks need.
func checkCase(t *testing.T, c vectors.Case, load func(env) []*ncclxml.Document) {
	t.Helper()
	e := env(c.Env)
	label := strings.Join([]string{strconv.Itoa(c.Nodes), "nodes", strings.Join(slices.Sorted(maps.Keys(c.Env)), "+")}, " ")
	for k, v := range c.Env {
		label += " " + k + "=" + v
	}
	var boxes []box
	docs := load(e)
	for _, doc := range docs {
		boxes = append(boxes, search(t, whole(t, doc, nil, e), c.Ranks, e))
	}
	if len(docs) == 1 {
		boxes = slices.Repeat(boxes, c.Ranks/boxes[0].gpus)
	}
	comm := join(t, boxes, e)
	diff := func(what string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), equal32); d != "" {
			t.Errorf("%s: %s (-want +got)\n%s", label, what, d)
		}
	}
	diff("rank to node", c.Comm.RankToNode, comm.RankToNode)
	for _, want := range c.Search {
		n := comm.Nodes[want.Node]
		diff("ranks in search order", want.GPURanks, userRanks(n))
		diff("ring search", *want.Graphs.Ring, user(n, n.Search.Ring))
		diff("tree search", *want.Graphs.Tree, user(n, n.Search.Tree))
		if want.Graphs.NVLS != nil && n.Search.NVLS != nil {
			diff("nvls search", heads(*want.Graphs.NVLS), heads(user(n, *n.Search.NVLS)))
		} else if want.Graphs.NVLS != nil || n.Search.NVLS != nil {
			t.Errorf("%s: nvls searched: want %v, got %v", label, want.Graphs.NVLS != nil, n.Search.NVLS != nil)
		}
	}
	diff("channel counts",
		[]int{c.Comm.NChannels, c.Comm.NVLSChannels, c.Comm.P2PChannels, c.Comm.P2PChannelsPerPeer},
		[]int{comm.NChannels, comm.NVLSChannels, comm.P2PChannels, comm.P2PChannelsPerPeer})
	diff("rings", c.Rings, orders(comm))
	if c.Trees != nil {
		diff("trees", c.Trees, trees(comm))
	}
	if c.System != nil {
		checkSystem(t, label, c.System, boxes[0].parts[0])
	}
}

// equal32 compares floats in single precision.
var equal32 = cmp.Comparer(func(a, b float32) bool { return a == b })

func userRanks(n connect.Node) (ranks []int) {
	for _, g := range n.Graph.NodesOf(graph.GPU) {
		ranks = append(ranks, n.Ranks[g.GPU.Rank])
	}
	return ranks
}

// user gives a set with user ranks.
func user(n connect.Node, s rings.Set) rings.Set {
	intra := make([][]int, len(s.Intra))
	for c, ranks := range s.Intra {
		for _, r := range ranks {
			intra[c] = append(intra[c], n.Ranks[r])
		}
	}
	s.Intra = intra
	return s
}

// heads keeps the head of each NVLS channel.
func heads(s rings.Set) rings.Set {
	for c := range s.Intra {
		s.Intra[c] = s.Intra[c][:1]
	}
	return s
}

func orders(c *connect.Comm) (all [][]int) {
	for _, r := range c.Rings {
		var order []int
		for _, rank := range r.Order {
			order = append(order, int(rank))
		}
		all = append(all, order)
	}
	return all
}

func trees(c *connect.Comm) (all [][][4]int) {
	for _, tree := range c.Trees {
		var rows [][4]int
		for r, up := range tree.Up {
			d := tree.Down[r]
			rows = append(rows, [4]int{int(up), int(d[0]), int(d[1]), int(d[2])})
		}
		all = append(all, rows)
	}
	return all
}
