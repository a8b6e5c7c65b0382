package graphxml

import (
	"fmt"
	"io"
	"strconv"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// The searches of a graph file by number.
const (
	ringID    = 0
	treeID    = 1
	collNetID = 2 // both kinds
	nvlsID    = 3
)

// Encode writes what was found in a node, as NCCL dumps it: ring, tree, the two
// CollNet graphs, which are never searched here and so empty, and NVLS.
func Encode(w io.Writer, g *graph.Graph, r *rings.Result) error {
	nvls := r.NVLS
	if nvls == nil {
		nvls = &rings.Set{Pattern: rings.NVLS}
	}
	root := &ncclxml.Element{Name: "graphs", Attrs: []ncclxml.Attr{{Key: "version", Value: "1"}}}
	for _, s := range []struct {
		id  int
		set *rings.Set
	}{
		{ringID, &r.Ring},
		{treeID, &r.Tree},
		{collNetID, &rings.Set{Pattern: rings.CollNetDirect}},
		{collNetID, &rings.Set{Pattern: rings.Tree}},
		{nvlsID, nvls},
	} {
		e, err := graphElement(g, s.id, s.set)
		if err != nil {
			return fmt.Errorf("graph %d: %w", s.id, err)
		}
		root.Children = append(root.Children, e)
	}
	return ncclxml.Encode(w, &ncclxml.Document{Root: root})
}

func graphElement(g *graph.Graph, id int, s *rings.Set) (*ncclxml.Element, error) {
	for _, t := range []graph.PathType{s.TypeIntra, s.TypeInter} {
		if _, ok := pathType(t.String()); !ok {
			return nil, fmt.Errorf("a graph file cannot hold paths of type %s", t)
		}
	}
	e := &ncclxml.Element{Name: "graph", Attrs: []ncclxml.Attr{
		{Key: "id", Value: strconv.Itoa(id)},
		{Key: "pattern", Value: strconv.Itoa(int(s.Pattern))},
		{Key: "crossnic", Value: strconv.Itoa(s.CrossNIC)},
		{Key: "nchannels", Value: strconv.Itoa(s.NChannels)},
		{Key: "speedintra", Value: decimal(s.BWIntra)},
		{Key: "speedinter", Value: decimal(s.BWInter)},
		{Key: "latencyinter", Value: decimal(s.LatencyInter)},
		{Key: "typeintra", Value: s.TypeIntra.String()},
		{Key: "typeinter", Value: s.TypeInter.String()},
		{Key: "samechannels", Value: strconv.Itoa(s.SameChannels)},
	}}
	for c := range s.NChannels {
		channel, err := channelElement(g, id, s, c)
		if err != nil {
			return nil, fmt.Errorf("channel %d: %w", c, err)
		}
		e.Children = append(e.Children, channel)
	}
	return e, nil
}

func channelElement(g *graph.Graph, id int, s *rings.Set, c int) (*ncclxml.Element, error) {
	if c >= len(s.Intra) {
		return nil, fmt.Errorf("there are only %d of %d", len(s.Intra), s.NChannels)
	}
	ranks := s.Intra[c]
	if id == nvlsID {
		ranks = ranks[:min(1, len(ranks))]
	}
	e := &ncclxml.Element{Name: "channel"}
	for _, rank := range ranks {
		dev, err := deviceOf(g, rank)
		if err != nil {
			return nil, err
		}
		e.Children = append(e.Children, device("gpu", dev))
	}
	if c < len(s.Inter) {
		first, last := device("net", s.Inter[c][0]), device("net", s.Inter[c][1])
		e.Children = append(append([]*ncclxml.Element{first}, e.Children...), last)
	}
	return e, nil
}

// device is written in hexadecimal with a prefix, except for 0.
func device(name string, dev int64) *ncclxml.Element {
	value := "0"
	if dev != 0 {
		value = fmt.Sprintf("%#x", uint64(dev))
	}
	return &ncclxml.Element{Name: name, Attrs: []ncclxml.Attr{{Key: "dev", Value: value}}, SelfClosed: true}
}

// deviceOf gives the device number of a rank's GPU, its host's number in the
// top byte.
func deviceOf(g *graph.Graph, rank int) (int64, error) {
	dev, found := int64(0), false
	for _, n := range g.NodesOf(graph.GPU) {
		if n.GPU.Rank == rank {
			dev, found = deviceID(n), true
		}
	}
	if !found {
		return 0, fmt.Errorf("no GPU of the node has rank %d", rank)
	}
	return dev, nil
}

func deviceID(n *graph.Node) int64 { return n.NodeID.System()<<56 + int64(n.GPU.Dev) }

// decimal writes as C's %g does: six digits, trailing zeros cut.
func decimal(f float32) string { return strconv.FormatFloat(float64(f), 'g', 6, 64) }

// pathType reads the path types that a graph file can hold, as NCCL does: by
// the beginning of the text.
func pathType(s string) (t graph.PathType, ok bool) {
	if len(s) < 3 {
		return graph.LOC, false
	}
	t, ok = graph.ParsePathType(s[:3])
	if !ok || t > graph.SYS {
		return graph.LOC, false
	}
	return t, true
}
