package rings_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

func ranksOf(g *graph.Graph) (ranks []int) {
	for _, n := range g.NodesOf(graph.GPU) {
		ranks = append(ranks, n.GPU.Rank)
	}
	slices.Sort(ranks)
	return ranks
}

// checkPermutations makes sure that each channel visits every GPU once, that
// there are as many as said, and that networks are the node's own.
func checkPermutations(t rapid.TB, g *graph.Graph, r *rings.Result) {
	t.Helper()
	want := ranksOf(g)
	for _, s := range []rings.Set{r.Ring, r.Tree} {
		if s.NChannels < 1 || s.NChannels > rings.MaxChannels || len(s.Intra) != s.NChannels {
			t.Fatalf("pattern %d: %d channels, %d listed", s.Pattern, s.NChannels, len(s.Intra))
		}
		for c, ranks := range s.Intra {
			if got := slices.Sorted(slices.Values(ranks)); !slices.Equal(got, want) {
				t.Fatalf("pattern %d, channel %d: %v is no order of %v", s.Pattern, c, ranks, want)
			}
		}
		checkNetworks(t, g, s)
	}
	if r.NVLS == nil {
		return
	}
	var heads []int
	for _, ranks := range r.NVLS.Intra {
		if slices.Contains(heads, ranks[0]) || !slices.Contains(want, ranks[0]) {
			t.Fatalf("NVLS heads %v and %d", heads, ranks[0])
		}
		heads = append(heads, ranks[0])
	}
}

func checkNetworks(t rapid.TB, g *graph.Graph, s rings.Set) {
	t.Helper()
	nets := map[int64]bool{0: true} // 0 also stands in where nothing was found
	for _, n := range g.NodesOf(graph.NET) {
		nets[int64(n.NodeID)] = true
	}
	if len(nets) > 1 && len(s.Inter) != s.NChannels || len(g.NodesOf(graph.NET)) == 0 && len(s.Inter) > 0 {
		t.Fatalf("pattern %d: %d channels, %d of them with networks", s.Pattern, s.NChannels, len(s.Inter))
	}
	for c, ends := range s.Inter {
		if !nets[ends[0]] || !nets[ends[1]] {
			t.Fatalf("pattern %d, channel %d: networks %v are not the node's", s.Pattern, c, ends)
		}
	}
}

func TestChannelsArePermutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		for _, g := range randomParts(pick) {
			r, err := rings.Search(g, randomOptions(pick))
			if err != nil {
				t.Fatal(err)
			}
			checkPermutations(t, g, r)
		}
	})
}

// No link carries more than it has: all channels' demands together fit. (Where
// nothing was found the one channel that remains is not measured.)
func TestChannelsFitTheMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, g := range randomParts(picker(t)) {
			s := search(t, g).Ring
			if s.TypeIntra == graph.SYS && s.BWIntra < 0.2 || len(s.Inter) > 0 {
				continue
			}
			used := map[*graph.Link]float32{}
			for _, ranks := range s.Intra {
				for i, r := range ranks {
					p, _ := g.Path(gpu(g, r), gpu(g, ranks[(i+1)%len(ranks)]))
					for _, l := range p.Links {
						used[l] += s.BWIntra
					}
				}
			}
			for l, bw := range used {
				if bw > l.BW+0.01*float32(s.NChannels) {
					t.Fatalf("%s to %s: %v of %v GB/s used\n%v", l.From, l.To, bw, l.BW, lines(s))
				}
			}
		}
	})
}

func gpu(g *graph.Graph, rank int) *graph.Node {
	for _, n := range g.NodesOf(graph.GPU) {
		if n.GPU.Rank == rank {
			return n
		}
	}
	return nil
}

// Searching changes nothing in the graph: the same graph searched again, also
// by several at once, gives the same.
func TestSearchIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, g := range randomParts(picker(t)) {
			var all [3]*rings.Result
			var done sync.WaitGroup
			for i := range all {
				done.Go(func() { all[i], _ = rings.Search(g, rings.DefaultOptions()) })
			}
			done.Wait()
			for _, r := range all[1:] {
				if d := cmp.Diff(all[0], r); d != "" {
					t.Fatalf("two searches of one graph differ\n%s", d)
				}
			}
		}
	})
}

// Ranks are but names: with other ranks on the same GPUs, device numbers and
// all else unchanged, channels visit the same GPUs.
func TestRanksAreButNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choices := rapid.SliceOfN(rapid.Byte(), 200, 200).Draw(t, "choices")
		a, b := topotest.Random(topotest.Bytes(choices)), topotest.Random(topotest.Bytes(choices))
		shift := 1 + rapid.IntRange(0, 6).Draw(t, "shift")
		n := 0
		eachGPU(b, func(g *topo.GPU) { n++ })
		rename := func(r int) int { return (r + shift) % n }
		eachGPU(b, func(g *topo.GPU) { g.Rank = rename(g.Rank) })
		ga, errA := graph.Build(a, graph.Options{KeepUnreachable: true})
		gb, errB := graph.Build(b, graph.Options{KeepUnreachable: true})
		if errA != nil || errB != nil {
			t.Skip(errA)
		}
		ra, rb := search(t, ga), search(t, gb)
		for _, s := range [][2]rings.Set{{ra.Ring, rb.Ring}, {ra.Tree, rb.Tree}} {
			for _, ranks := range s[0].Intra {
				for i := range ranks {
					ranks[i] = rename(ranks[i])
				}
			}
			if d := cmp.Diff(s[0], s[1]); d != "" {
				t.Fatalf("(-renamed +of renamed)\n%s", d)
			}
		}
	})
}

func eachGPU(sys *topo.System, visit func(*topo.GPU)) {
	var walk func([]topo.Device)
	walk = func(ds []topo.Device) {
		for i := range ds {
			if ds[i].GPU != nil {
				visit(ds[i].GPU)
			}
			walk(ds[i].Devices)
		}
	}
	for i := range sys.CPUs {
		walk(sys.CPUs[i].Devices)
	}
}

func FuzzBuildAndSearch(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 1, 2, 0, 0, 5, 0, 0, 4, 0, 0, 1, 1, 2, 3, 5, 8, 13, 21})
	f.Fuzz(func(t *testing.T, data []byte) {
		pick := topotest.Bytes(data)
		g, err := graph.Build(topotest.Wild(pick), graph.Options{})
		if err != nil {
			return
		}
		parts, err := g.Split(len(g.NodesOf(graph.GPU)) + pick(2))
		if err != nil {
			return
		}
		for _, p := range parts {
			_, _ = rings.Search(p, randomOptions(pick)) // an error is an answer
		}
	})
}
