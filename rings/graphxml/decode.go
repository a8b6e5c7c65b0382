package graphxml

import (
	"fmt"
	"io"
	"math"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// File is a graph file.
type File struct{ doc *ncclxml.Document }

// Parse reads a graph file; what is in it is looked at by Preset only, which
// needs the node that it is for. The name is for messages. Every error is an
// *ncclxml.Error.
func Parse(r io.Reader, name string) (*File, error) {
	doc, err := ncclxml.Parse(r, name)
	if err != nil {
		return nil, err
	}
	if err := doc.Expect(ncclxml.Graphs); err != nil {
		return nil, err
	}
	if _, ok := doc.Root.Get("version"); !ok {
		return nil, (&reader{doc: doc}).fail(doc.Root, "version is missing", `write <graphs version="1">`)
	}
	return &File{doc}, nil
}

// Preset reads the channels of a node from the file, to give to the searches
// of that node. GPUs are named by device number. Of several graphs with one id
// the last counts; with NCCL_CROSS_NIC=0 (rings.CrossNever) those with crossnic
// 1 do not. What the file leaves open is listed. Every error is an
// *ncclxml.Error that names line and element.
func (f *File) Preset(g *graph.Graph, cross rings.CrossNIC) (rings.Preset, []topo.Assumption, error) {
	r := &reader{doc: f.doc, g: g, cross: cross}
	var p rings.Preset
	for _, want := range []struct {
		id  int
		set **rings.Set
	}{{ringID, &p.Ring}, {treeID, &p.Tree}, {nvlsID, &p.NVLS}} {
		set, err := r.set(want.id)
		if err != nil {
			return rings.Preset{}, nil, err
		}
		*want.set = set
	}
	return p, r.assumed, nil
}

// reader reads one file for one node.
type reader struct {
	doc     *ncclxml.Document
	g       *graph.Graph
	cross   rings.CrossNIC
	assumed []topo.Assumption
}

// set reads the graphs of an id, each over the one before; nil if there is
// none.
func (r *reader) set(id int) (*rings.Set, error) {
	var s *slots
	for _, e := range r.doc.Root.Children {
		if e.Name != "graph" {
			continue
		}
		n, err := r.integer(e, "id")
		if err != nil {
			return nil, err
		}
		if n != id {
			continue
		}
		if s == nil {
			s = &slots{nvls: id == nvlsID}
		}
		if err := r.graph(e, s); err != nil {
			return nil, err
		}
	}
	if s == nil || s.from == nil {
		return nil, nil
	}
	return r.finish(s)
}

// graph reads one graph element into s, over what is there.
func (r *reader) graph(e *ncclxml.Element, s *slots) error {
	cross, err := r.integer(e, "crossnic")
	if err != nil {
		return err
	}
	if cross == 1 && r.cross == rings.CrossNever {
		r.assume(e, "left out: its channels change network cards, and NCCL_CROSS_NIC is 0")
		return nil
	}
	s.from, s.set.CrossNIC = e, cross
	var pattern int
	for _, a := range []struct {
		key   string
		field *int
	}{{"pattern", &pattern}, {"nchannels", &s.set.NChannels}, {"samechannels", &s.set.SameChannels}} {
		if *a.field, err = r.integer(e, a.key); err != nil {
			return err
		}
	}
	s.set.Pattern = rings.Pattern(pattern)
	if s.set.NChannels < 0 || s.set.NChannels > rings.MaxChannels {
		return r.fail(e, fmt.Sprintf("nchannels is %d", s.set.NChannels), fmt.Sprintf("there can be 0 to %d", rings.MaxChannels))
	}
	if err := r.speeds(e, &s.set); err != nil {
		return err
	}
	return r.channels(e, s)
}

func (r *reader) speeds(e *ncclxml.Element, s *rings.Set) error {
	for _, a := range []struct {
		key      string
		field    *float32
		required bool
	}{{"speedintra", &s.BWIntra, true}, {"speedinter", &s.BWInter, true}, {"latencyinter", &s.LatencyInter, false}} {
		text, ok := e.Get(a.key)
		if !ok && a.required {
			return r.missing(e, a.key)
		}
		*a.field = cnum.Float(text)
		if v := float64(*a.field); v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return r.fail(e, fmt.Sprintf("%s %.32q is out of range", a.key, text), "give GB/s (latencyinter: microseconds), for example 24")
		}
	}
	return r.types(e, s)
}

func (r *reader) types(e *ncclxml.Element, s *rings.Set) error {
	for _, a := range []struct {
		key   string
		field *graph.PathType
	}{{"typeintra", &s.TypeIntra}, {"typeinter", &s.TypeInter}} {
		text, ok := e.Get(a.key)
		if !ok {
			return r.missing(e, a.key)
		}
		if *a.field, ok = pathType(text); !ok {
			r.assume(e, fmt.Sprintf("%s %.32q is none that NCCL 2.22.3 knows: read as LOC, as NCCL does", a.key, text))
		}
	}
	return nil
}

func (r *reader) integer(e *ncclxml.Element, key string) (int, error) {
	text, ok := e.Get(key)
	if !ok {
		return 0, r.missing(e, key)
	}
	return cnum.Int32(text), nil
}
