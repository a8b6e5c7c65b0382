package rings_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/vectors"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// nodes cuts a machine of the expected results as a job over that many copies
// of it would be.
func nodes(t testing.TB, machine string, boxes int) []*graph.Graph {
	t.Helper()
	f, err := os.Open(filepath.Join(vectors.Dir(), "machines", machine+".xml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := ncclxml.Decode(f, machine)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = doc.Select(nil); err != nil {
		t.Fatal(err)
	}
	sys, err := doc.System()
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Build(sys, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := g.Split(boxes * len(g.NodesOf(graph.GPU)))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// BenchmarkSearch searches every machine of the expected results, and compares
// the CPU time with what the reference spent. The reference was timed on
// another machine of the same kind: the ratio is good to 30 % or so.
func BenchmarkSearch(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(vectors.Dir(), "reference-cpu.json"))
	if err != nil {
		b.Fatal(err)
	}
	reference := map[string]map[string]float64{}
	if err := json.Unmarshal(data, &reference); err != nil {
		b.Fatal(err)
	}
	for _, machine := range vectors.Names(b, "expect", ".json") {
		for _, boxes := range []int{1, 2} {
			ref, ok := reference[machine][strconv.Itoa(boxes)]
			if !ok {
				continue
			}
			b.Run(machine+"/boxes="+strconv.Itoa(boxes), func(b *testing.B) {
				part := nodes(b, machine, boxes)[0]
				var times []float64
				for b.Loop() {
					start := cpuSeconds()
					if _, err := rings.Search(part, rings.DefaultOptions()); err != nil {
						b.Fatal(err)
					}
					times = append(times, cpuSeconds()-start)
				}
				slices.Sort(times)
				own := times[len(times)/2]
				b.ReportMetric(own*1e3, "cpu-ms")
				b.ReportMetric(ref*1e3, "reference-ms")
				b.ReportMetric(ref/own, "times-faster")
			})
		}
	}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
