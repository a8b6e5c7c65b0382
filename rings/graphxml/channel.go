package graphxml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// slots are the channels of one id in the making.
type slots struct {
	set   rings.Set
	intra [rings.MaxChannels][]int
	inter [rings.MaxChannels][2]int64
	nvls  bool
	from  *ncclxml.Element // the last graph that was read
}

// channels reads the channel elements of a graph; the n-th fills slot n.
func (r *reader) channels(e *ncclxml.Element, s *slots) error {
	slot := 0
	for _, c := range e.Children {
		if c.Name != "channel" {
			continue
		}
		if slot == rings.MaxChannels {
			return r.fail(c, fmt.Sprintf("more than %d channels", rings.MaxChannels), "leave the rest out")
		}
		if err := r.channel(c, s, slot); err != nil {
			return err
		}
		slot++
	}
	if slot > s.set.NChannels {
		r.assume(e, fmt.Sprintf("nchannels is %d: only that many of its %d channels count", s.set.NChannels, slot))
	}
	return nil
}

func (r *reader) channel(e *ncclxml.Element, s *slots, slot int) error {
	var ranks []int
	var nets []int64
	for _, c := range e.Children {
		if c.Name != "gpu" && c.Name != "net" {
			continue
		}
		text, ok := c.Get("dev")
		if !ok {
			return r.missing(c, "dev")
		}
		dev, _ := cnum.Int(text, 16)
		if c.Name == "net" {
			nets = append(nets, dev)
			continue
		}
		rank, err := r.rankOf(c, dev)
		if err != nil {
			return err
		}
		if slices.Contains(ranks, rank) {
			return r.fail(c, fmt.Sprintf("GPU %#x is in channel %d twice", dev, slot), "a channel visits each GPU once")
		}
		ranks = append(ranks, rank)
	}
	if err := r.checkGPUs(e, s, slot, len(ranks)); err != nil {
		return err
	}
	s.intra[slot] = ranks
	return r.nets(e, s, slot, nets)
}

// checkGPUs holds a channel to visiting every GPU of the node; of an NVLS
// channel a file names only the head.
func (r *reader) checkGPUs(e *ncclxml.Element, s *slots, slot, n int) error {
	have := len(r.g.NodesOf(graph.GPU))
	if s.nvls && n > 0 || n == have {
		return nil
	}
	want := fmt.Sprintf("all %d", have)
	if s.nvls {
		want = "the head"
	}
	return r.fail(e, fmt.Sprintf("channel %d names %d GPUs, not %s of the node", slot, n, want), madeForOthers)
}

// nets reads where a channel enters and leaves the node. Networks count only
// where the node has any.
func (r *reader) nets(e *ncclxml.Element, s *slots, slot int, nets []int64) error {
	have := r.g.NodesOf(graph.NET)
	if len(have) == 0 {
		return nil
	}
	if len(nets) > 2 {
		return r.fail(e, fmt.Sprintf("channel %d names %d networks", slot, len(nets)),
			"a channel enters by one and leaves by one")
	}
	if len(nets) < 2 {
		r.assume(e, fmt.Sprintf("channel %d names %d networks: network 0 taken for the rest, as NCCL does", slot, len(nets)))
	}
	s.inter[slot] = [2]int64{}
	copy(s.inter[slot][:], nets)
	for _, id := range s.inter[slot] {
		if !slices.ContainsFunc(have, func(n *graph.Node) bool { return int64(n.NodeID) == id }) {
			return r.fail(e, fmt.Sprintf("channel %d uses network %#x, but the node has %s", slot, id, list(have)), madeForOthers)
		}
	}
	return nil
}

// rankOf gives the rank of the GPU with a device number, its host's number in
// the top byte.
func (r *reader) rankOf(e *ncclxml.Element, dev int64) (int, error) {
	rank, found := 0, false
	for _, n := range r.g.NodesOf(graph.GPU) {
		if deviceID(n) == dev {
			rank, found = n.GPU.Rank, true
		}
	}
	if !found {
		return 0, r.fail(e, fmt.Sprintf("there is no GPU %#x in the node; it has %s", dev, list(r.g.NodesOf(graph.GPU))), madeForOthers)
	}
	return rank, nil
}

// finish takes the channels that count.
func (r *reader) finish(s *slots) (*rings.Set, error) {
	set := s.set
	for c := range set.NChannels {
		if s.intra[c] == nil {
			return nil, r.fail(s.from, fmt.Sprintf("nchannels is %d, but channel %d is missing", set.NChannels, c),
				"add the channel elements, or lower nchannels")
		}
		ranks := make([]int, len(r.g.NodesOf(graph.GPU)))
		copy(ranks, s.intra[c])
		set.Intra = append(set.Intra, ranks)
		if len(r.g.NodesOf(graph.NET)) > 0 {
			set.Inter = append(set.Inter, s.inter[c])
		}
	}
	return &set, nil
}

// list names GPUs or networks as a file does.
func list(nodes []*graph.Node) string {
	var names []string
	for _, n := range nodes {
		id := int64(n.NodeID)
		if n.Type == graph.GPU {
			id = deviceID(n)
		}
		names = append(names, fmt.Sprintf("%#x", uint64(id)))
	}
	return strings.Join(names, ", ")
}
