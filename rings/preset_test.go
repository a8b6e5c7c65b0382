package rings_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
)

func withPreset(p rings.Preset) rings.Options {
	opt := rings.DefaultOptions()
	opt.Preset = p
	return opt
}

// A set with channels is taken as it is: no search, no splitting of channels.
func TestPresetIsTakenAsItIs(t *testing.T) {
	ring := rings.Set{
		Pattern: rings.Ring, CrossNIC: 1, NChannels: 2, SameChannels: 1, BWIntra: 99, BWInter: 77, LatencyInter: 3,
		TypeIntra: graph.PHB, TypeInter: graph.SYS, Intra: [][]int{{3, 1, 2, 0}, {0, 1, 2, 3}}, Inter: [][2]int64{},
	}
	g := alone(t, topotest.V100x4())
	r, err := rings.Search(g, withPreset(rings.Preset{Ring: &ring}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ring, r.Ring); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// The tree gets as many channels.
	if r.Tree.NChannels != 2 {
		t.Errorf("tree: %v", lines(r.Tree))
	}
}

// One without channels is where the search starts: the types it names are the
// first to be tried, so that worse ones than need be can be found.
func TestPresetWithoutChannels(t *testing.T) {
	g := alone(t, topotest.PCIex4(topotest.AMD))
	start := rings.Set{Pattern: rings.Ring, SameChannels: 1, TypeIntra: graph.SYS, TypeInter: graph.SYS, LatencyInter: 5}
	r, err := rings.Search(g, withPreset(rings.Preset{Ring: &start}))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "ring", r.Ring, "Pattern 4, crossNic 0, nChannels 1, bw 15/15, type SYS/PIX, sameChannels 1", " 0 1 2 3")
	if r.Ring.LatencyInter != 5 {
		t.Errorf("latency %v, want the preset's", r.Ring.LatencyInter)
	}

	// A ring that is to be a tree: its pattern counts.
	start.Pattern = rings.Tree
	r, err = rings.Search(alone(t, topotest.V100x4()), withPreset(rings.Preset{Ring: &start}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Ring.Pattern != rings.Tree || r.Ring.NChannels == 0 {
		t.Errorf("ring: %v", lines(r.Ring))
	}
}

func TestPresetThatDoesNotFit(t *testing.T) {
	g := alone(t, topotest.V100x4())
	many := make([][]int, 33)
	for word, s := range map[string]rings.Set{
		"rank 7":                   {Pattern: rings.Ring, NChannels: 1, Intra: [][]int{{0, 1, 2, 7}}},
		"5 ranks":                  {Pattern: rings.Ring, NChannels: 1, Intra: [][]int{{0, 1, 2, 3, 0}}},
		"more than 32 channels":    {Pattern: rings.Ring, NChannels: 1, Intra: many},
		"more than 32":             {Pattern: rings.Ring, NChannels: 33},
		"pattern 6 cannot be":      {Pattern: 6},
		"of pattern 0 cannot":      {},
		"of pattern -3 cannot":     {Pattern: -3, NChannels: -2},
		"no path type 10":          {Pattern: rings.Ring, TypeInter: 10},
		"no path type 200":         {Pattern: rings.Ring, TypeIntra: 200},
		"channel 1 names rank 100": {Pattern: rings.NVLS, NChannels: 2, Intra: [][]int{{0, 0, 0, 0}, {100}}},
	} {
		for _, p := range []rings.Preset{{Ring: &s}, {Tree: &s}, {NVLS: &s}} {
			_, err := rings.Search(g, withPreset(p))
			if !errors.Is(err, rings.ErrPreset) || !strings.Contains(err.Error(), word) {
				t.Errorf("got %v, want an ErrPreset that says %q", err, word)
			}
		}
	}
}

// A preset can make a ring search find no channel at all (NVLS on a machine
// without). The tree, allowed none either, then remains in simple order.
func TestPresetThatFindsNothing(t *testing.T) {
	nvls := rings.Set{Pattern: rings.NVLS}
	r, err := rings.Search(alone(t, topotest.V100x4()), withPreset(rings.Preset{Ring: &nvls}))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "ring", r.Ring, "Pattern 5, crossNic 0, nChannels 0, bw 0/0, type LOC/LOC, sameChannels 0")
	want(t, "tree", r.Tree, "Pattern 1, crossNic 0, nChannels 1, bw 0.1/0.1, type SYS/SYS, sameChannels 1", " 0 1 2 3")
}

// Of NVLS channels only the heads mean something; the zeros behind them need
// not be ranks of the node.
func TestPresetOfNVLSHeads(t *testing.T) {
	sys := topotest.V100x4()
	for i := range sys.CPUs {
		for j := range sys.CPUs[i].Devices {
			sys.CPUs[i].Devices[j].GPU.Rank += 10
		}
	}
	nvls := rings.Set{Pattern: rings.NVLS, NChannels: 1, BWIntra: 1, BWInter: 1, Intra: [][]int{{12, 0, 0, 0}}, Inter: [][2]int64{}}
	opt := withPreset(rings.Preset{NVLS: &nvls})
	opt.Multicast = rings.MulticastForced
	r, err := rings.Search(alone(t, sys), opt)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(nvls, *r.NVLS); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
