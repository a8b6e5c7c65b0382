package rings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
)

func picker(t *rapid.T) topotest.Pick {
	return topotest.Bytes(rapid.SliceOfN(rapid.Byte(), 200, 200).Draw(t, "choices"))
}

// randomParts gives the nodes that a random machine is in a job over one or two
// of it; none where the machine makes no sense.
func randomParts(pick topotest.Pick) []*graph.Graph {
	g, err := graph.Build(topotest.Random(pick), graph.Options{NoNVB: pick(8) == 7, NoPXN: pick(8) == 7})
	if err != nil {
		return nil
	}
	parts, err := g.Split(len(g.NodesOf(graph.GPU)) * (1 + pick(2)))
	if err != nil {
		return nil
	}
	return parts
}

func randomOptions(pick topotest.Pick) rings.Options {
	opt := rings.DefaultOptions()
	opt.CrossNIC = []rings.CrossNIC{rings.CrossAuto, rings.CrossNever, rings.CrossAlways}[pick(3)]
	if pick(6) == 5 {
		opt.Multicast = rings.MulticastForced
	}
	return opt
}

func checkLiteral(t rapid.TB, g *graph.Graph, opt rings.Options) {
	t.Helper()
	got, err := rings.Search(g, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := newLit(g, int(opt.CrossNIC)).search(got.NVLS != nil, opt.Preset)
	if d := cmp.Diff(want, *got); d != "" {
		t.Fatalf("(-want +got)\n%s", d)
	}
}

// TestLiteral compares the package with the rules followed word by word.
func TestLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		for _, g := range randomParts(pick) {
			checkLiteral(t, g, randomOptions(pick))
		}
	})
}

// TestLiteralPreset starts searches from what a graph file without channels
// says.
func TestLiteralPreset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		preset := func() *rings.Set {
			if pick(3) == 0 {
				return nil
			}
			return &rings.Set{
				Pattern: rings.Pattern(1 + pick(5)), CrossNIC: pick(2), SameChannels: pick(2),
				BWIntra: float32(pick(60)), BWInter: float32(pick(60)), LatencyInter: float32(pick(3)),
				TypeIntra: graph.PathType(pick(8)), TypeInter: graph.PathType(pick(8)),
			}
		}
		for _, g := range randomParts(pick) {
			if len(g.NodesOf(graph.NVS)) == 0 && pick(2) == 1 {
				continue
			}
			opt := randomOptions(pick)
			opt.Preset = rings.Preset{Ring: preset(), Tree: preset(), NVLS: preset()}
			checkLiteral(t, g, opt)
		}
	})
}
