package draw

import (
	"fmt"

	"github.com/ringtopo/ringtopo/graph"
)

// peerRider is a hop's way from one PCI switch to another that the board joins
// to it.
type peerRider struct {
	rider
	from, to *graph.Node
}

// Places of the links between PCI switches.
const (
	peerDrop  = 6. // below the switches
	peerInset = 3. // from the switches' near ends, less than the margin of their texts
	peerPitch = climbPitch
)

// peerRidersH is the room that the riders of any host need below a switch.
func (l *layout) peerRidersH() float64 {
	most := 0
	for _, p := range l.hosts {
		most = max(most, len(p.onPeers))
	}
	return peerPitch * float64(most)
}

// peersWidth is what the riders of a switch need along its lower edge.
func (p *hostPlan) peersWidth(n *graph.Node) float64 {
	count := 0
	for _, r := range p.onPeers {
		if r.from == n || r.to == n {
			count = len(p.onPeers)
		}
	}
	return peerPitch * float64(count)
}

// switches are the host's PCI switches, from the left and from the top.
func (p *hostPlan) switches() []*branch {
	var out []*branch
	for _, root := range p.roots {
		root.walk(func(br *branch) {
			if br.level > 0 {
				out = append(out, br)
			}
		})
	}
	return out
}

// emitPeers draws the direct links between PCI switches, just below them.
func (l *layout) emitPeers(p *hostPlan) {
	switches := p.switches()
	for i, a := range switches {
		for _, b := range switches[i+1:] {
			if linkTo(a.node, b.node, graph.LinkLOC) == nil && linkTo(b.node, a.node, graph.LinkLOC) == nil {
				continue
			}
			l.peers = true
			l.add(wire{
				from: p.id(a.node), to: p.id(b.node), color: l.linkInk(), width: riderWidth, dash: dotted,
				parts: [][]point{l.peerWay(a, b, 0)}, tip: fmt.Sprintf("%s %s: joined on the board", a.node, b.node),
			})
			l.emitPeerRiders(p, a, b)
		}
	}
}

// emitPeerRiders draws the riders between two switches, each around the one
// before, so that none cross at their switch. Boards join switches of one level;
// between others, which only made-up files have, riders would run through texts.
func (l *layout) emitPeerRiders(p *hostPlan, a, b *branch) {
	if a.level != b.level {
		return
	}
	for i, r := range p.onPeers {
		r.forward = r.from == a.node
		if r.forward && r.to == b.node || r.from == b.node && r.to == a.node {
			l.addRider(r.rider, p.id(a.node), p.id(b.node), [][]point{l.peerWay(a, b, i+1)}, point{})
		}
	}
}

// peerWay leads from the right end of a to the left end of b: the link itself,
// or the n-th rider, half way between the lines that climb there.
func (l *layout) peerWay(a, b *branch, n int) []point {
	out := peerPitch * float64(n)
	end := peerInset
	if n > 0 {
		end = l.m.pciInset - climbPitch/2 + out
	}
	y := max(a.area.bottom(), b.area.bottom()) + peerDrop + out
	from, to := a.area.right()-end, b.area.x+end
	return []point{{from, a.area.bottom()}, {from, y}, {to, y}, {to, b.area.bottom()}}
}
