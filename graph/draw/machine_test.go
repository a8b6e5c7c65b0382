package draw

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/internal/vectors"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// TestFileMachines draws every machine of the test data, alone and three times
// with rings over them.
func TestFileMachines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors.Dir(), "machines", "*.xml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d machines, %v", len(files), err)
	}
	for _, file := range files {
		sys := readMachine(t, file)
		for _, n := range []int{1, 3} {
			hosts := copies(t, sys, n)
			if hosts == nil {
				continue
			}
			for _, p := range []*Picture{draw(t, hosts, 0), draw(t, hosts, 2)} {
				for _, f := range faults(p) {
					t.Errorf("%d × %s: %s", n, filepath.Base(file), f)
				}
			}
		}
	}
}

func readMachine(t *testing.T, file string) *topo.System {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := ncclxml.Decode(f, file)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := doc.System()
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// copies gives n hosts of one system, nil if no graph can be made of it.
func copies(t testingTB, sys *topo.System, n int) []Host {
	t.Helper()
	g, err := graph.Build(sys, graph.Options{})
	if err != nil {
		return nil
	}
	gpus := len(g.NodesOf(graph.GPU))
	hosts := make([]Host, n)
	for i := range hosts {
		hosts[i] = Host{Name: "box", Graph: g}
		for r := range gpus {
			hosts[i].Ranks = append(hosts[i].Ranks, i*gpus+r)
		}
	}
	return hosts
}

// draw lays so many rings of any order over the hosts.
func draw(t testingTB, hosts []Host, rings int) *Picture {
	t.Helper()
	var overlays []Overlay
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rings {
		cycle := inOrder(hosts)
		if len(cycle) < 2 {
			break
		}
		random.Shuffle(len(cycle), func(a, b int) { cycle[a], cycle[b] = cycle[b], cycle[a] })
		overlays = append(overlays, ring(hosts, i, cycle...))
	}
	p, err := Machines(hosts, overlays)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRandomMachines draws machines that could exist, and some that could not.
func TestRandomMachines(t *testing.T) {
	for name, make := range map[string]func(topotest.Pick) *topo.System{"random": topotest.Random, "wild": topotest.Wild} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
				sys := make(pick)
				hosts := copies(t, sys, 1+pick(2))
				if hosts == nil || !ranksFit(hosts[0].Graph) {
					t.Skip("NCCL would refuse it")
				}
				p := draw(t, hosts, pick(3))
				for _, f := range faults(p) {
					t.Error(f)
				}
			})
		})
	}
}

// ranksFit tells whether a machine's ranks are 0 to n-1, each once.
func ranksFit(g *graph.Graph) bool {
	gpus := g.NodesOf(graph.GPU)
	seen := map[int]bool{}
	for _, n := range gpus {
		if n.GPU.Rank < 0 || n.GPU.Rank >= len(gpus) || seen[n.GPU.Rank] {
			return false
		}
		seen[n.GPU.Rank] = true
	}
	return true
}

func TestMistakesAreTold(t *testing.T) {
	one, two := machine(t, "v100x4", 1), machine(t, "dgx-1v", 2)
	same := append(machine(t, "v100x4", 1), one...)
	short := []Host{{Name: "short", Graph: one[0].Graph, Ranks: []int{0, 1}}}
	foreign := ring(two, 0, 0, 8)
	foreign.Hops[0].Nets.In = 77
	for _, c := range []struct {
		name  string
		hosts []Host
		rings []Overlay
		want  string
	}{
		{"no host", nil, nil, "no machine"},
		{"ranks twice", same, nil, "rank 0 is there twice"},
		{"too few ranks", short, nil, "only 2 user ranks"},
		{"unknown rank", one, []Overlay{{Title: "channel 0", Hops: []Hop{{From: 0, To: 9}}}}, "no GPU has rank 9"},
		{"to itself", one, []Overlay{{Title: "channel 0", Hops: []Hop{{From: 1, To: 1}}}}, "from rank 1 to itself"},
		{"unknown network", two, []Overlay{foreign}, "no network device has id 77"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Machines(c.hosts, c.rings)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTooMuch(t *testing.T) {
	hosts := machine(t, "v100x4", MaxHosts+1)
	if _, err := Machines(hosts, nil); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%d hosts: %v", len(hosts), err)
	}
	if _, err := Machines(hosts[:1], make([]Overlay, MaxOverlays+1)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%d rings: %v", MaxOverlays+1, err)
	}
}
