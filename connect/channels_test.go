package connect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

func from(set ...string) connect.Options { return connect.OptionsFrom(ncclenv.FromEnviron(set)) }

// starts tells which of the searched channels each channel is, by the rank that
// follows rank 0 in rotated chains over many ranks.
func starts(c *connect.Comm) (list []int) {
	for _, r := range c.Rings {
		list = append(list, int(r.Next[0]))
	}
	return list
}

// marked is a node of 24 GPUs whose n channels differ in what follows rank 0.
func marked(t *testing.T, n int) connect.Node {
	g := boxOf(t, topotest.AMD, 24, 70)
	var orders [][]int
	for c := range n {
		order := []int{0, c + 1}
		for i := 1; i < 24; i++ {
			if i != c+1 {
				order = append(order, i)
			}
		}
		orders = append(orders, order)
	}
	return fake(g, 0, orders...)
}

func repeat(n int, from, to int) (list []int) {
	for i := range n {
		list = append(list, from+i%(to-from+1))
	}
	return list
}

// MAX acts before MIN, in whatever order they are given; what is missing is
// repeated from the first channel on.
func TestChannelCounts(t *testing.T) {
	for name, c := range map[string]struct {
		found int
		set   []string
		want  []int
	}{
		"doubled":                       {6, nil, append(repeat(6, 1, 6), repeat(6, 1, 6)...)},
		"doubled up to 32":              {20, nil, append(repeat(20, 1, 20), repeat(12, 1, 20)...)},
		"a maximum below what is found": {6, []string{"NCCL_MAX_NCHANNELS=2"}, []int{1, 2}},
		"a maximum above":               {2, []string{"NCCL_MAX_NCHANNELS=9"}, []int{1, 2, 1, 2}},
		"a minimum":                     {6, []string{"NCCL_MIN_NCHANNELS=32"}, slices.Concat(repeat(12, 1, 6), repeat(12, 1, 6), repeat(8, 1, 6))},
		"a minimum below":               {6, []string{"NCCL_MIN_NCHANNELS=3"}, append(repeat(6, 1, 6), repeat(6, 1, 6)...)},
		"maximum 4, minimum 8":          {6, []string{"NCCL_MIN_NCHANNELS=8", "NCCL_MAX_NCHANNELS=4"}, []int{1, 2, 3, 4, 1, 2, 3, 4}},
		"maximum 4, minimum 7":          {6, []string{"NCCL_MAX_NCHANNELS=4", "NCCL_MIN_NCHANNELS=7"}, []int{1, 2, 3, 4, 1, 2, 3}},
		"older names":                   {6, []string{"NCCL_MAX_NRINGS=1", "NCCL_MIN_NRINGS=3"}, []int{1, 1, 1}},
		"newer names win":               {6, []string{"NCCL_MAX_NRINGS=1", "NCCL_MAX_NCHANNELS=2", "NCCL_MIN_NRINGS=9", "NCCL_MIN_NCHANNELS=3"}, []int{1, 2, 1}},
		"-2 is not set":                 {1, []string{"NCCL_MAX_NRINGS=-2", "NCCL_MIN_NCHANNELS=-2"}, []int{1, 1}},
		"a minimum below 0":             {1, []string{"NCCL_MIN_NCHANNELS=-7"}, []int{1, 1}},
		"most CTAs":                     {6, []string{"NCCL_MAX_CTAS=3"}, []int{1, 2, 3}},
		"fewest CTAs":                   {1, []string{"NCCL_MIN_CTAS=5"}, []int{1, 1, 1, 1, 1}},
		"CTAs and channels":             {6, []string{"NCCL_MAX_CTAS=5", "NCCL_MAX_NCHANNELS=4", "NCCL_MIN_CTAS=4", "NCCL_MIN_NCHANNELS=6"}, []int{1, 2, 3, 4, 1, 2}},
		"little room for arguments":     {6, []string{"NCCL_WORK_ARGS_BYTES=80"}, []int{1, 2, 3}},
		"room that wraps around":        {1, []string{"NCCL_WORK_ARGS_BYTES=16", "NCCL_MIN_NCHANNELS=3"}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			comm := mustJoin(t, from(c.set...), marked(t, c.found))
			if got := starts(comm); !slices.Equal(got, c.want) {
				t.Errorf("channels %v, want %v", got, c.want)
			}
			if n := len(c.want); comm.NChannels != n || comm.CollChannels != n || len(comm.Trees) != n {
				t.Errorf("%d channels, %d of collectives, %d trees; want %d", comm.NChannels, comm.CollChannels, len(comm.Trees), n)
			}
			if len(comm.Warnings) > 0 {
				t.Errorf("warnings %q", comm.Warnings)
			}
		})
	}
}

func TestBentSettings(t *testing.T) {
	for set, c := range map[string]struct {
		channels int
		warning  string
	}{
		"NCCL_MAX_NCHANNELS=0":       {1, "User asked for a maximum of 0 channels, setting it to 1"},
		"NCCL_MAX_NCHANNELS=-9":      {1, "User asked for a maximum of -9 channels, setting it to 1"},
		"NCCL_WORK_ARGS_BYTES=40":    {1, "User asked for a maximum of 0 channels, setting it to 1"},
		"NCCL_MIN_NCHANNELS=100":     {32, "User asked for a minimum of 100 channels, limiting to 32"},
		"NCCL_MIN_CTAS=40":           {32, "minCTAs 40 is larger than #channels upper limit 32, cap it to 32"},
		"NCCL_MAX_CTAS=40":           {4, "maxCTAs 40 is larger than #channels upper limit 32, cap it to 32"},
		"NCCL_MIN_CTAS=7 MAX_CTAS=3": {3, "minCTAs 7 is larger than maxCTAs 3, set both to 3"},
		"NCCL_MAX_CTAS=0":            {1, "maxCTAs 0 leaves no channel, setting it to 1"},
		"NCCL_MAX_CTAS=-3":           {1, "maxCTAs -3 leaves no channel, setting it to 1"},
	} {
		comm := mustJoin(t, from(strings.Fields(strings.ReplaceAll(set, " ", " NCCL_"))...), marked(t, 2))
		if comm.NChannels != c.channels || !slices.Contains(comm.Warnings, c.warning) {
			t.Errorf("%s: %d channels, warnings %q; want %d, %q", set, comm.NChannels, comm.Warnings, c.channels, c.warning)
		}
	}
}

// Rings over several nodes of sm 90 exactly are doubled once more if they are
// fast and few.
func TestFastRingsOfSM90(t *testing.T) {
	for name, c := range map[string]struct {
		sm, nodes, found int
		bw               float32
		want             int
	}{
		"doubled": {90, 2, 4, 48, 16}, "45 is not fast": {90, 2, 4, 45, 8}, "one node": {90, 1, 4, 48, 8},
		"sm 80": {80, 2, 4, 48, 8}, "sm 100": {100, 2, 4, 48, 8}, "16 are enough": {90, 2, 8, 48, 16},
	} {
		g := boxOf(t, topotest.AMD, 2, c.sm)
		var nodes []connect.Node
		for i := range c.nodes {
			n := fake(g, 2*i, rotated(c.found, 2)...)
			n.Search.Ring.BWIntra = c.bw
			nodes = append(nodes, n)
		}
		if got := mustJoin(t, connect.DefaultOptions(), nodes...).NChannels; got != c.want {
			t.Errorf("%s: %d channels, want %d", name, got, c.want)
		}
	}
}

// NVLS needs its 16 channels, and every node.
func TestChannelsForNVLS(t *testing.T) {
	g := boxOf(t, topotest.AMD, 3, 90)
	node := func(first int, heads ...int) connect.Node {
		n := fake(g, first, rotated(2, 3)...)
		n.Search.NVLS = &rings.Set{Pattern: rings.NVLS, NChannels: len(heads), BWIntra: 20}
		for _, h := range heads {
			n.Search.NVLS.Intra = append(n.Search.NVLS.Intra, []int{h, 0, 0})
		}
		return n
	}
	without := fake(g, 3, rotated(2, 3)...)
	for name, c := range map[string]struct {
		nodes                []connect.Node
		set                  []string
		n, coll, nvls, heads int
	}{
		"raised to 16":             {[]connect.Node{node(0, 0, 1, 2)}, nil, 16, 4, 16, 3},
		"fewest heads count":       {[]connect.Node{node(0, 0, 1, 2), node(3, 1, 1)}, nil, 16, 4, 16, 1},
		"one node cannot":          {[]connect.Node{node(0, 0), without}, nil, 4, 4, 0, 0},
		"no channels in one":       {[]connect.Node{node(0, 0), node(3)}, nil, 4, 4, 0, 0},
		"a number that was set":    {[]connect.Node{node(0, 0)}, []string{"NCCL_NVLS_NCHANNELS=6"}, 6, 4, 6, 1},
		"fewer than there are":     {[]connect.Node{node(0, 0)}, []string{"NCCL_NVLS_NCHANNELS=2"}, 4, 4, 2, 1},
		"not above the most":       {[]connect.Node{node(0, 0)}, []string{"NCCL_MAX_CTAS=3"}, 3, 3, 3, 1},
		"channels do not bound it": {[]connect.Node{node(0, 0)}, []string{"NCCL_MAX_NCHANNELS=3"}, 16, 3, 16, 1},
		"at least the fewest":      {[]connect.Node{node(0, 0)}, []string{"NCCL_MIN_CTAS=20"}, 20, 20, 20, 1},
	} {
		comm := mustJoin(t, from(c.set...), c.nodes...)
		if comm.NChannels != c.n || comm.CollChannels != c.coll || comm.NVLSChannels != c.nvls || comm.NVLSHeads != c.heads {
			t.Errorf("%s: %d channels, %d of collectives, %d of NVLS, %d heads; want %d, %d, %d, %d", name,
				comm.NChannels, comm.CollChannels, comm.NVLSChannels, comm.NVLSHeads, c.n, c.coll, c.nvls, c.heads)
		}
		if (comm.NVLS != nil) != (c.nvls > 0) {
			t.Errorf("%s: NVLS set %v", name, comm.NVLS)
		}
	}
}

// p2pNode is a node of GPUs with two NVLinks between each pair and NICs of so
// many Gb/s on their own switch or on the CPU.
func p2pNode(t *testing.T, gpus, nics, gbps, found int, onSwitch bool) connect.Node {
	var devices []topo.Device
	for i := range gpus {
		d := topotest.GPU(4+i, i, 70, topotest.Gen3)
		for j := range gpus {
			if j != i {
				d.GPU.NVLinks = append(d.GPU.NVLinks, topotest.ToGPU(4+j, 2))
			}
		}
		devices = append(devices, d)
	}
	for i := range nics {
		devices = append(devices, topotest.NIC(0x20+i, topotest.Gen3, topotest.Net(i, 1000*gbps)))
	}
	if onSwitch {
		devices = []topo.Device{topotest.Switch(2, topotest.Gen3, devices...)}
	}
	g, err := graph.Build(topotest.Machine(topotest.Socket(topotest.AMD, 0, devices...)), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return fake(g, 0, rotated(found, gpus)...)
}

func TestP2PChannels(t *testing.T) {
	for name, c := range map[string]struct {
		node     connect.Node
		copies   int
		set      []string
		p2p, per int
	}{
		// Two channels for each of the two NVLinks.
		"NVLink":             {p2pNode(t, 4, 0, 0, 6, false), 1, nil, 16, 4},
		"fewer than that":    {p2pNode(t, 4, 0, 0, 1, false), 1, nil, 2, 2},
		"one GPU":            {p2pNode(t, 1, 0, 0, 3, false), 1, nil, 8, 8},
		"at most":            {p2pNode(t, 4, 0, 0, 6, false), 1, []string{"NCCL_MAX_P2P_NCHANNELS=3"}, 4, 4},
		"at least":           {p2pNode(t, 4, 0, 0, 1, false), 1, []string{"NCCL_MIN_P2P_NCHANNELS=9"}, 16, 4},
		"room for arguments": {p2pNode(t, 4, 0, 0, 6, false), 1, []string{"NCCL_WORK_ARGS_BYTES=144"}, 4, 4}, // 7 channels fit
		// Remote peers: 2, less the more ranks there are.
		"8 ranks":             {p2pNode(t, 4, 0, 0, 6, false), 2, nil, 16, 2},
		"28 ranks":            {p2pNode(t, 4, 0, 0, 6, false), 7, nil, 16, 1}, // 2 x 28 > 4 x 12
		"24 ranks":            {p2pNode(t, 4, 0, 0, 6, false), 6, nil, 16, 2}, // 2 x 24 = 4 x 12
		"as many as were set": {p2pNode(t, 4, 0, 0, 6, false), 7, []string{"NCCL_NCHANNELS_PER_NET_PEER=3"}, 16, 4},
		// Or as many as NICs that a GPU's 12 GB/s can feed, if it is on the CPU.
		"slow NICs":            {p2pNode(t, 4, 8, 25, 6, false), 7, nil, 16, 4}, // 3.125 each: 4 of them, the least that reach 12
		"below a switch":       {p2pNode(t, 4, 8, 25, 6, true), 7, nil, 16, 1},
		"no more than NVLinks": {p2pNode(t, 4, 16, 10, 6, false), 7, nil, 16, 4},  // 10 NICs, but 4 for local peers
		"NICs, one GPU a node": {p2pNode(t, 1, 16, 10, 6, false), 2, nil, 16, 16}, // 10 of 1.25
	} {
		var nodes []connect.Node
		n := len(c.node.Ranks)
		for i := range c.copies {
			at := c.node
			at.Ranks = nil
			for r := range n {
				at.Ranks = append(at.Ranks, i*n+r)
			}
			nodes = append(nodes, at)
		}
		comm := mustJoin(t, from(c.set...), nodes...)
		if comm.P2PChannels != c.p2p || comm.P2PChannelsPerPeer != c.per {
			t.Errorf("%s: %d p2p channels, %d per peer; want %d, %d", name, comm.P2PChannels, comm.P2PChannelsPerPeer, c.p2p, c.per)
		}
	}
}
