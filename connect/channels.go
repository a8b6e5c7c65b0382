package connect

import (
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
)

// countChannels doubles the channels that were found and then applies NCCL's
// further rules, in its order.
func (c *Comm) countChannels(opt Options) {
	b := opt.bounds(func(w string) { c.Warnings = append(c.Warnings, w) })
	// Duplicates share their rings; their trees are their own.
	c.Rings = append(c.Rings, c.Rings...)
	c.NChannels = min(rings.MaxChannels, len(c.Rings))
	if c.MinSM == 90 && c.NNodes > 1 && c.Ring.BWIntra > 45 && c.NChannels < 16 {
		c.extend(2 * c.NChannels)
	}
	c.NChannels = min(b.maxChannels, c.NChannels, b.maxCTAs)
	c.extend(max(b.minChannels, b.minCTAs))
	c.CollChannels = c.NChannels
	if c.NVLS != nil {
		c.NVLSChannels = max(b.minCTAs, min(b.maxCTAs, opt.NVLSChannels))
		c.extend(c.NVLSChannels)
	}
	c.Rings, c.Trees = c.Rings[:c.NChannels], c.Trees[:c.NChannels]
	c.countP2P(opt)
}

// extend repeats channels from the first on until there are m.
func (c *Comm) extend(m int) {
	n := c.NChannels
	for ch := n; ch < m; ch++ {
		c.Rings = append(c.Rings[:ch], c.Rings[ch-n])
		c.Trees = append(c.Trees[:ch], c.Trees[ch-n])
	}
	c.NChannels = max(n, m)
}

// countP2P works out the channels of point-to-point operations.
func (c *Comm) countP2P(opt Options) {
	p2p := max(min(c.NChannels, opt.MaxP2P), opt.MinP2P)
	per := p2p
	own := c.Nodes[c.RankToNode[0]]
	for _, g := range own.Graph.NodesOf(graph.GPU) {
		for _, o := range own.Graph.NodesOf(graph.GPU) {
			if o == g {
				continue
			}
			per = min(per, localP2P(own.Graph, o, g))
		}
		if len(own.Graph.NodesOf(graph.GPU)) < c.NRanks {
			per = min(per, c.remoteP2P(own.Graph, g, p2p, opt))
		}
	}
	fit := 1
	for fit*2 <= opt.argChannels() {
		fit *= 2
	}
	c.P2PChannels = min(powerOfTwo(p2p), fit)
	c.P2PChannelsPerPeer = min(powerOfTwo(per), c.P2PChannels)
}

// localP2P gives two channels to a pair of GPUs, or two for each NVLink.
func localP2P(g *graph.Graph, from, to *graph.Node) int {
	p, _ := g.Path(from, to)
	if p.Type != graph.NVL {
		return 2
	}
	return 2 * max(1, int(p.BW/graph.NVLinkBW(to.GPU.SM)))
}

// remoteP2P gives a remote peer channels for as many NICs as the GPU's link to
// its CPU can feed.
func (c *Comm) remoteP2P(g *graph.Graph, gpu *graph.Node, p2p int, opt Options) int {
	if opt.PerNetPeer != -1 {
		return opt.PerNetPeer
	}
	x := 2
	for x*c.NRanks > 4*p2p && x > 1 {
		x /= 2
	}
	var room, sum float32
	for _, l := range gpu.Links {
		if l.To.Type == graph.CPU {
			room = l.BW
		}
	}
	count := 0
	for _, n := range g.Local(gpu, graph.NET) {
		if sum >= room {
			break
		}
		p, _ := g.Path(gpu, n)
		sum += p.BW
		count++
	}
	return max(count, x)
}

func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
