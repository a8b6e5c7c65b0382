package probe_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// recordings lists the golden machines and their variants.
func recordings(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, pattern := range []string{"testdata/machines/*", "testdata/machines/variants/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			if probe.IsRecording(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) < 20 {
		t.Fatalf("only %d recordings found", len(dirs))
	}
	return dirs
}

func encode(t *testing.T, doc *ncclxml.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := ncclxml.Encode(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRecordings(t *testing.T) {
	for _, dir := range recordings(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p, ranks, err := probe.Load(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := p.Probe(ranks)
			if err != nil {
				t.Fatal(err)
			}
			want := readText(t, filepath.Join(dir, "expect.xml"))
			if diff := cmp.Diff(want, encode(t, doc)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func BenchmarkProbe(b *testing.B) {
	for _, name := range []string{"h200x2", "dgx1v", "dgxa100"} {
		b.Run(name, func(b *testing.B) {
			p, ranks, err := probe.Load("testdata/machines/"+name, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Probe(ranks); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
