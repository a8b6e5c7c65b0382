package graphxml

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// Whatever comes in, a file is refused with a typed error or gives channels
// that a node can run, and that come back when they are written and read.
func FuzzGraph(f *testing.F) {
	files, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(file(one(attrs, "0", "0x1", "2", "3"))))
	f.Add([]byte(file(one(attrs, "0", "1"), one(attrs, "3", "2", "1", "0"))))
	f.Add([]byte(`<graphs version="1"><graph id="3" pattern="5" crossnic="1" nchannels="0" speedintra="0x1p3" speedinter="1e9" typeintra="PXNx" typeinter="" samechannels="9"/></graphs>`))
	g := node(f, "power9x4", 2)
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := read(t, text, g)
		if err != nil {
			return
		}
		r := &rings.Result{NVLS: p.NVLS}
		for _, s := range []struct{ from, to *rings.Set }{{p.Ring, &r.Ring}, {p.Tree, &r.Tree}} {
			if s.from != nil {
				checkChains(t, g, s.from)
				*s.to = *s.from
			}
		}
		if p.NVLS != nil {
			p.NVLS.Intra = headsOnly(p.NVLS.Intra)
		}
		var b bytes.Buffer
		if err := Encode(&b, g, r); err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		again, err := read(t, b.Bytes(), g)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, b.Bytes())
		}
		var second bytes.Buffer
		if err := Encode(&second, g, &rings.Result{Ring: *again.Ring, Tree: *again.Tree, NVLS: again.NVLS}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), second.Bytes()) {
			t.Fatalf("written again it differs:\n%s\n%s", b.Bytes(), second.Bytes())
		}
		if p.Ring != nil && !reflect.DeepEqual(p.Ring.Intra, again.Ring.Intra) {
			t.Fatalf("rings %v came back as %v", p.Ring.Intra, again.Ring.Intra)
		}
	})
}

func read(t *testing.T, text []byte, g *graph.Graph) (rings.Preset, error) {
	parsed, err := Parse(bytes.NewReader(text), "fuzz.xml")
	if err == nil {
		var p rings.Preset
		if p, _, err = parsed.Preset(g, rings.CrossAuto); err == nil {
			return p, nil
		}
	}
	var typed *ncclxml.Error
	if !errors.As(err, &typed) || typed.Msg == "" || typed.Err == nil {
		t.Fatalf("error %#v is not typed", err)
	}
	return rings.Preset{}, err
}

func checkChains(t *testing.T, g *graph.Graph, s *rings.Set) {
	t.Helper()
	if s.NChannels > rings.MaxChannels || len(s.Intra) != s.NChannels || len(s.Inter) != s.NChannels {
		t.Fatalf("%d channels, but %d chains and %d pairs of networks", s.NChannels, len(s.Intra), len(s.Inter))
	}
	for c, ranks := range s.Intra {
		seen := slices.Clone(ranks)
		slices.Sort(seen)
		if !slices.Equal(seen, []int{0, 1, 2, 3}) {
			t.Fatalf("channel %d visits %v", c, ranks)
		}
	}
}

func headsOnly(intra [][]int) [][]int {
	heads := make([][]int, len(intra))
	for c, ranks := range intra {
		heads[c] = make([]int, len(ranks))
		heads[c][0] = ranks[0]
	}
	return heads
}
