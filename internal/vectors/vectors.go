// Package vectors reads the expected results under testdata/vectors: what
// NCCL 2.22.3 decides for many machines. Only tests use it.
package vectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/rings"
)

// Dir is the folder of expected results.
func Dir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "testdata", "vectors")
}

// File is the results for one machine, or for one mixture of machines.
type File struct {
	Machine string
	Cases   []Case
}

// Case is one communicator.
type Case struct {
	Nodes, Ranks int
	Env          map[string]string
	Machines     []string // one per box, where they differ
	Search       []struct {
		Node     int
		GPURanks []int
		Graphs   struct{ Ring, Tree, NVLS *rings.Set }
	}
	Comm struct {
		NChannels          int
		NVLSChannels       int `json:"nvlsChannels"`
		NVLSSupport        int `json:"nvlsSupport"`
		P2PChannels        int `json:"p2pnChannels"`
		P2PChannelsPerPeer int `json:"p2pnChannelsPerPeer"`
		RankToNode         []int
	}
	Rings  [][]int
	Trees  [][][4]int // per channel and rank: up, down
	System *System
}

// System is a one-node graph after trimming and before any search.
type System struct {
	MaxBW   float32 `json:"maxBw"`
	TotalBW float32 `json:"totalBw"`
	NPCI    int     `json:"nPci"`
	NNVS    int     `json:"nNvs"`
	Links   [][4]any
	Paths   map[string][][5]any // from, to, type, GB/s, hops
}

// NHops is kept apart in the results, and is not part of a Set's JSON.
type hops struct {
	Cases []struct {
		Search []struct {
			Graphs struct{ Ring, Tree, NVLS *struct{ NHops int } }
		}
	}
}

// Load reads one result file.
func Load(t testing.TB, path string) File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f File
	var h hops
	for _, v := range []any{&f, &h} {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for i := range f.Cases {
		for j := range f.Cases[i].Search {
			g, n := &f.Cases[i].Search[j].Graphs, h.Cases[i].Search[j].Graphs
			g.Ring.NHops, g.Tree.NHops = n.Ring.NHops, n.Tree.NHops
			if g.NVLS != nil {
				g.NVLS.NHops = n.NVLS.NHops
			}
		}
	}
	return f
}

// Names lists the files of a folder under Dir without their suffix.
func Names(t testing.TB, folder, suffix string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(Dir(), folder, "*"+suffix))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no results in %s: %v", folder, err)
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(p), suffix)
	}
	slices.Sort(names)
	return names
}
