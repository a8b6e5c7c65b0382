package draw

import (
	"slices"

	"github.com/ringtopo/ringtopo/graph"
)

// busRider is a hop's way from one CPU of a host to another.
type busRider struct {
	rider
	from, to *graph.Node
}

// busPitch is between riders below the line that joins the CPUs.
const busPitch = 6.

// busRidersH is the room that the riders of any host need there.
func (l *layout) busRidersH() float64 {
	most := 0
	for _, p := range l.hosts {
		most = max(most, len(p.onBus))
	}
	return busPitch * float64(most)
}

// emitBusRiders draws what rings send from CPU to CPU: up, along and down, each
// inside the one before, so that none cross at their CPU.
func (l *layout) emitBusRiders(p *hostPlan) {
	middle := func(n *graph.Node) float64 {
		i := slices.IndexFunc(p.roots, func(br *branch) bool { return br.node == n })
		return p.roots[i].area.center().x
	}
	for i, r := range p.onBus {
		in := busPitch * float64(i+1)
		from, to := middle(r.from), middle(r.to)
		if from < to {
			from, to = from+in, to-in
		} else {
			from, to = from-in, to+in
		}
		y := l.y.bus + in
		l.addRider(r.rider, p.id(r.from), p.id(r.to), [][]point{{{from, l.y.cpu}, {from, y}, {to, y}, {to, l.y.cpu}}}, point{})
	}
}
