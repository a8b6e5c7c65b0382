package connect_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// plain are graphs of 1 to 6 GPUs, made once.
var plain = sync.OnceValue(func() (graphs [7]*graph.Graph) {
	for n := 1; n < len(graphs); n++ {
		cpu := topotest.Socket(topotest.AMD, 0)
		for i := range n {
			cpu.Devices = append(cpu.Devices, topotest.GPU(4+i, i, 80, topotest.Gen4))
		}
		g, err := graph.Build(topotest.Machine(cpu), graph.Options{})
		if err != nil {
			panic(err)
		}
		graphs[n] = g
	}
	return graphs
})

// identity gives 0..n-1.
func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// randomSet gives n channels in any order.
func randomSet(t *rapid.T, pattern rings.Pattern, n, gpus int) rings.Set {
	s := rings.Set{
		Pattern: pattern, NChannels: n, CrossNIC: rapid.IntRange(0, 1).Draw(t, "cross"),
		BWIntra: rapid.Float32Range(1, 60).Draw(t, "intra"), BWInter: rapid.Float32Range(1, 60).Draw(t, "inter"),
		TypeIntra: graph.PathType(rapid.IntRange(1, 7).Draw(t, "type")),
	}
	for range n {
		s.Intra = append(s.Intra, rapid.Permutation(identity(gpus)).Draw(t, "order"))
	}
	return s
}

// randomNodes gives nodes of unlike size, pattern and number of channels, with
// ranks spread over them at random.
func randomNodes(t *rapid.T) (nodes []connect.Node, nRanks int) {
	sizes := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 9).Draw(t, "sizes")
	for _, size := range sizes {
		nRanks += size
	}
	ranks := rapid.Permutation(identity(nRanks)).Draw(t, "ranks")
	for _, size := range sizes {
		n := rapid.IntRange(1, 16).Draw(t, "channels")
		pattern := rapid.SampledFrom([]rings.Pattern{rings.BalancedTree, rings.SplitTree, rings.Tree}).Draw(t, "pattern")
		if size == 1 {
			pattern = rings.Tree
		}
		nodes = append(nodes, connect.Node{
			Graph: plain()[size],
			Ranks: ranks[:size],
			Search: &rings.Result{
				Ring: randomSet(t, rings.Ring, n, size),
				Tree: randomSet(t, pattern, rapid.IntRange(1, n).Draw(t, "tree channels"), size),
			},
		})
		ranks = ranks[size:]
	}
	return nodes, nRanks
}

// TestLiteral compares the package with the rules followed word by word.
func TestLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, nRanks := randomNodes(t)
		got, err := connect.Join(nodes, connect.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		want := litJoin(nodes, nRanks)
		diff := func(what string, want, got any) {
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s (-want +got)\n%s", what, d)
			}
		}
		diff("rank to node", want.rankToNode, got.RankToNode)
		ring := got.Ring
		ring.Intra, want.ring.Intra = nil, nil
		diff("ring", want.ring, ring)
		diff("number of channels", min(2*want.n, rings.MaxChannels), got.NChannels)
		for ch := range got.NChannels {
			for r := range nRanks {
				if int(got.Rings[ch].Next[r]) != want.next[ch][r] {
					t.Fatalf("channel %d: after %d comes %d, want %d", ch, r, got.Rings[ch].Next[r], want.next[ch][r])
				}
			}
		}
		diff("trees", want.trees[:got.NChannels], trees(got))
	})
}

// Whatever the settings, every channel is a ring and a tree over all ranks.
func TestEveryChannelReachesEveryRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, nRanks := randomNodes(t)
		number := rapid.IntRange(-3, 40)
		opt := connect.DefaultOptions()
		opt.MinChannels, opt.MaxChannels = number.Draw(t, "min"), number.Draw(t, "max")
		opt.MinCTAs, opt.MaxCTAs = number.Draw(t, "min CTAs"), number.Draw(t, "max CTAs")
		opt.MinP2P, opt.MaxP2P = number.Draw(t, "min p2p"), number.Draw(t, "max p2p")
		opt.PerNetPeer = number.Draw(t, "per peer")
		opt.WorkArgsBytes = rapid.Uint64().Draw(t, "bytes")
		c, err := connect.Join(nodes, opt)
		if err != nil {
			t.Fatal(err)
		}
		if n := c.NChannels; n < 1 || n > rings.MaxChannels || len(c.Rings) != n || len(c.Trees) != n {
			t.Fatalf("%d channels, %d rings, %d trees", n, len(c.Rings), len(c.Trees))
		}
		for _, p := range []int{c.P2PChannels, c.P2PChannelsPerPeer} {
			if p < 1 || p > rings.MaxChannels || p&(p-1) != 0 {
				t.Fatalf("%d point-to-point channels", p)
			}
		}
		for ch := range c.NChannels {
			checkRing(t, c.Rings[ch], nRanks)
			checkSpans(t, c.Trees[ch])
		}
	})
}

func checkRing(t *rapid.T, r connect.Ring, n int) {
	seen := make([]bool, n)
	for i, rank := range r.Order {
		if seen[rank] || r.Index[rank] != int32(i) || r.Next[rank] != r.Order[(i+1)%n] || r.Prev[r.Next[rank]] != rank {
			t.Fatalf("rank %d at %d of %v", rank, i, r.Order)
		}
		seen[rank] = true
	}
	if r.Order[0] != 0 || len(r.Order) != n {
		t.Fatalf("order %v", r.Order)
	}
}

// checkSpans makes sure that children and parents agree, and that all ranks
// hang below one root.
func checkSpans(t *rapid.T, tree connect.Tree) {
	roots, children := 0, 0
	for r, up := range tree.Up {
		if up < 0 {
			roots++
		} else if !slices.Contains(tree.Down[up][:], int32(r)) {
			t.Fatalf("%d is no child of its parent %d, which has %v", r, up, tree.Down[up])
		}
		for _, d := range tree.Down[r] {
			if d >= 0 {
				children++
				if tree.Up[d] != int32(r) {
					t.Fatalf("%d is a child of %d, but its parent is %d", d, r, tree.Up[d])
				}
			}
		}
		steps := 0
		for x := int32(r); x >= 0; x = tree.Up[x] {
			if steps++; steps > len(tree.Up) {
				t.Fatalf("%d goes round in circles", r)
			}
		}
	}
	if roots != 1 || children != len(tree.Up)-1 {
		t.Fatalf("%d roots, %d children of %d ranks", roots, children, len(tree.Up))
	}
}

// The same nodes make the same communicator in whatever order they are given.
func TestOrderOfNodesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, _ := randomNodes(t)
		shuffled := rapid.Permutation(nodes).Draw(t, "shuffled")
		a, errA := connect.Join(nodes, connect.DefaultOptions())
		b, errB := connect.Join(shuffled, connect.DefaultOptions())
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		sameGraph := cmp.Comparer(func(a, b *graph.Graph) bool { return a == b })
		if d := cmp.Diff(a, b, sameGraph); d != "" {
			t.Fatal(d)
		}
	})
}

// A machine is searched and joined without a panic, whatever it is.
func FuzzJoin(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		pick := topotest.Bytes(data)
		boxes := 1 + pick(3)
		g, err := graph.Build(topotest.Wild(pick), graph.Options{})
		if err != nil {
			return
		}
		n := len(g.NodesOf(graph.GPU))
		parts, err := g.Split(boxes * n)
		if err != nil {
			return
		}
		var nodes []connect.Node
		for _, p := range parts {
			r, err := rings.Search(p, rings.DefaultOptions())
			if err != nil {
				return
			}
			for i := range boxes {
				ranks := identity(n)
				for j := range ranks {
					ranks[j] += i * n
				}
				nodes = append(nodes, connect.Node{Graph: p, Search: r, Ranks: ranks})
			}
		}
		c, err := connect.Join(nodes, connect.DefaultOptions())
		if err != nil {
			return // an error is an answer
		}
		for _, r := range c.Rings {
			if len(r.Order) != boxes*n {
				t.Fatalf("a ring over %d of %d ranks", len(r.Order), boxes*n)
			}
		}
	})
}

// Real machines: searched, cut and joined, also with ranks in another order.
func TestJoinRandomMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choices := rapid.SliceOfN(rapid.Byte(), 200, 200).Draw(t, "choices")
		sys := topotest.Random(topotest.Bytes(choices))
		g, err := graph.Build(sys, graph.Options{})
		if err != nil {
			t.Skip(err)
		}
		n, boxes := len(g.NodesOf(graph.GPU)), rapid.IntRange(1, 4).Draw(t, "boxes")
		parts, err := g.Split(boxes * n)
		if err != nil {
			t.Skip(err)
		}
		ranks := rapid.Permutation(identity(boxes*n)).Draw(t, "ranks")
		var nodes []connect.Node
		for _, p := range parts {
			r, err := rings.Search(p, rings.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			for i := range boxes {
				nodes = append(nodes, connect.Node{Graph: p, Search: r, Ranks: ranks[i*n : (i+1)*n]})
			}
		}
		c, err := connect.Join(nodes, connect.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for ch := range c.NChannels {
			checkRing(t, c.Rings[ch], boxes*n)
			checkSpans(t, c.Trees[ch])
		}
		if c.CPU.Vendor == topo.VendorMixed || c.CPU.Arch == topo.ArchMixed {
			t.Fatalf("machines of one kind are mixed: %+v", c.CPU)
		}
	})
}
