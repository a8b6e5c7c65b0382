package connect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// Nodes are numbered by the lowest rank they hold, however ranks are spread.
func TestNodesAreNumberedByTheirLowestRank(t *testing.T) {
	g := boxOf(t, topotest.AMD, 2, 70)
	at := func(ranks ...int) connect.Node {
		n := fake(g, 0, []int{1, 0})
		n.Ranks = ranks
		return n
	}
	c := mustJoin(t, connect.DefaultOptions(), at(5, 2), at(1, 4), at(3, 0))
	if d := cmp.Diff([]int{0, 1, 2, 0, 1, 2}, c.RankToNode); d != "" {
		t.Errorf("rank to node (-want +got)\n%s", d)
	}
	if d := cmp.Diff([][]int{{3, 0}, {1, 4}, {5, 2}}, [][]int{c.Nodes[0].Ranks, c.Nodes[1].Ranks, c.Nodes[2].Ranks}); d != "" {
		t.Errorf("nodes (-want +got)\n%s", d)
	}
	// Chains run 1, 0 in each node's own ranks: 0 3 | 4 1 | 2 5.
	if want := []int32{0, 3, 4, 1, 2, 5}; !slices.Equal(c.Rings[0].Order, want) {
		t.Errorf("ring %v, want %v", c.Rings[0].Order, want)
	}
}

// The least and the worst of all nodes count; what a rank keeps for itself is
// rank 0's.
func TestReconcile(t *testing.T) {
	g := boxOf(t, topotest.AMD, 2, 70)
	node := func(first, n int, change func(*rings.Result)) connect.Node {
		x := fake(g, first, rotated(n, 2)...)
		change(x.Search)
		return x
	}
	a := node(0, 5, func(r *rings.Result) {
		r.Ring.BWIntra, r.Ring.BWInter, r.Ring.TypeIntra, r.Ring.LatencyInter = 30, 10, graph.NVL, 1
		r.Tree.Pattern, r.Tree.TypeInter = rings.SplitTree, graph.PXN
	})
	b := node(2, 3, func(r *rings.Result) {
		r.Ring.BWIntra, r.Ring.BWInter, r.Ring.TypeIntra, r.Ring.SameChannels, r.Ring.LatencyInter = 20, 12, graph.PHB, 0, 9
		r.Ring.CrossNIC = 1
		r.Tree.Pattern = rings.Tree
		r.Tree.NChannels, r.Tree.Intra = 2, r.Tree.Intra[:2]
	})
	c := mustJoin(t, connect.DefaultOptions(), a, b)
	want := rings.Set{
		Pattern: rings.Ring, CrossNIC: 1, NChannels: 2, BWIntra: 20, BWInter: 10, LatencyInter: 1, TypeIntra: graph.PHB,
	}
	got := c.Ring
	got.Intra = nil
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("ring (-want +got)\n%s", d)
	}
	if c.Tree.Pattern != rings.SplitTree || c.Tree.TypeInter != graph.PXN || c.Tree.NChannels != 2 {
		t.Errorf("tree %+v", c.Tree)
	}
	if c.NChannels != 4 || len(c.Rings) != 4 || len(c.Trees) != 4 {
		t.Errorf("%d channels, %d rings, %d trees; want twice 2", c.NChannels, len(c.Rings), len(c.Trees))
	}
	// The nodes' own searches stay as they were.
	if a.Search.Ring.NChannels != 5 || a.Search.Ring.BWIntra != 30 {
		t.Errorf("node 0's ring changed: %+v", a.Search.Ring)
	}
}

func TestMixedProcessors(t *testing.T) {
	at := func(first int, cpu topo.CPU, sm int) connect.Node {
		return fake(boxOf(t, cpu, 1, sm), first, []int{0})
	}
	for name, c := range map[string]struct {
		nodes []connect.Node
		want  connect.CPU
	}{
		"all alike": {[]connect.Node{at(0, topotest.AMD, 80), at(1, topotest.AMD, 80)},
			connect.CPU{Arch: topo.ArchX86, Vendor: topo.VendorAMD}},
		"two vendors": {[]connect.Node{at(0, topotest.AMD, 80), at(1, topotest.Skylake, 70), at(2, topotest.AMD, 90)},
			connect.CPU{Arch: topo.ArchX86, Vendor: topo.VendorMixed}},
		"two architectures": {[]connect.Node{at(0, topotest.ARM, 90), at(1, topotest.POWER, 70)},
			connect.CPU{Arch: topo.ArchMixed, Vendor: topo.VendorUndefined}},
	} {
		comm := mustJoin(t, connect.DefaultOptions(), c.nodes...)
		if comm.CPU != c.want {
			t.Errorf("%s: %+v, want %+v", name, comm.CPU, c.want)
		}
		if name == "two vendors" && (comm.MinSM != 70 || comm.MaxSM != 90) {
			t.Errorf("sm %d to %d, want 70 to 90", comm.MinSM, comm.MaxSM)
		}
	}
}

func TestNodesThatMakeNoCommunicator(t *testing.T) {
	g := boxOf(t, topotest.AMD, 2, 70)
	with := func(first int, change func(*connect.Node)) connect.Node {
		n := fake(g, first, []int{0, 1})
		change(&n)
		return n
	}
	same := func(*connect.Node) {}
	for word, nodes := range map[string][]connect.Node{
		"there are none":               nil,
		"user rank 1 is out of":        {with(0, same), with(1, same)},
		"user rank 4":                  {with(0, same), with(3, same)},
		"user rank -1":                 {with(-1, same)},
		"no user rank is given":        {with(0, func(n *connect.Node) { n.Ranks = n.Ranks[:1] })},
		"0 channels in common":         {with(0, func(n *connect.Node) { n.Search.Tree.NChannels = 0 })},
		"lists 1 channels of 3":        {with(0, func(n *connect.Node) { n.Search.Ring.NChannels, n.Search.Tree.NChannels = 3, 3 })},
		"names 1 ranks, not 2":         {with(0, func(n *connect.Node) { n.Search.Tree.Intra = [][]int{{0}} })},
		"names rank 5, which the":      {with(0, func(n *connect.Node) { n.Search.Tree.Intra = [][]int{{0, 5}} })},
		"node 1, channel 0 names":      {with(0, same), with(2, func(n *connect.Node) { n.Search.Ring.Intra = [][]int{{0, -1}} })},
		"33 channels in common; there": {fake(g, 0, rotated(33, 2)...)},
	} {
		_, err := connect.Join(nodes, connect.DefaultOptions())
		if !errors.Is(err, connect.ErrNodes) || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want an ErrNodes that says %q", err, word)
		}
	}
}

// A box that is split in two gives two nodes of one graph each; its ranks need
// not follow each other.
func TestSplitBox(t *testing.T) {
	half := func(i, bus int) topo.Device {
		sw := topotest.Switch(bus, topotest.Gen4, topotest.NIC(bus+8, topotest.Gen4, topotest.Net(i, 200000)))
		for j := range 2 { // ranks 0 and 2 on the first socket, 1 and 3 on the second
			sw.Devices = append(sw.Devices, topotest.GPU(bus+1+j, i+2*j, 80, topotest.Gen4))
		}
		return sw
	}
	g, err := graph.Build(topotest.Machine(topotest.Socket(topotest.Skylake, 0, half(0, 0x10)),
		topotest.Socket(topotest.Skylake, 1, half(1, 0x30))), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := search(t, g, 4, nil)
	c := join(t, []box{b}, nil)
	if d := cmp.Diff([]int{0, 1, 0, 1}, c.RankToNode); c.NNodes != 2 || d != "" {
		t.Errorf("%d nodes, rank to node (-want +got)\n%s", c.NNodes, d)
	}
	for ch, r := range c.Rings {
		if c.RankToNode[r.Order[0]] != c.RankToNode[r.Order[1]] && c.RankToNode[r.Order[0]] != c.RankToNode[r.Order[3]] {
			t.Errorf("channel %d leaves a node in between: %v", ch, r.Order)
		}
	}
}
