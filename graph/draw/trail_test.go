package draw

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo/machines"
)

// ofRing gives the wires of one ring, but for the sample in the key.
func (p *Picture) ofRing(o Overlay) []wire {
	var out []wire
	for _, w := range p.wires {
		if strings.HasPrefix(w.tip, o.Title+": ") {
			out = append(out, w)
		}
	}
	return out
}

// trailFaults lists what is wrong with the wires of a ring: each must have the
// ring's look and an arrow and lead from the box that it names to the other,
// and together they must lead from GPU to GPU all the way round. Between two
// hosts the network carries it from NIC to NIC.
func trailFaults(p *Picture, hosts []Host, o Overlay, i int) []string {
	var out []string
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	boxes := p.allBoxes()
	balance := map[string]int{}
	look := o.look(i)
	for _, w := range p.ofRing(o) {
		balance[w.from]--
		balance[w.to]++
		if w.color != look.color || w.dash != look.dash || !w.arrow || w.width != riderWidth {
			fault("%s to %s is %s, %s, %v wide, arrow %v", w.from, w.to, w.color, w.dash, w.width, w.arrow)
		}
		last := w.parts[len(w.parts)-1]
		for id, at := range map[string]point{w.from: w.parts[0][0], w.to: last[len(last)-1]} {
			if b, ok := boxes[id]; !ok || !b.touches(at) {
				fault("%s to %s: %v is not at the edge of %s, %v", w.from, w.to, at, id, b.area)
			}
		}
	}
	for id, n := range balance {
		if n != 0 {
			fault("%+d lines more come to %s than leave it", n, id)
		}
	}
	at := map[int]string{}
	for h := range hosts {
		for _, g := range hosts[h].Graph.NodesOf(graph.GPU) {
			rank, _ := hosts[h].rank(g)
			at[rank] = nodeID(h, hosts[h].Graph, g)
		}
	}
	for _, hop := range o.Hops {
		if !reaches(p.ofRing(o), at[hop.From], at[hop.To]) {
			fault("no way from %s to %s for the hop %d to %d", at[hop.From], at[hop.To], hop.From, hop.To)
		}
	}
	return out
}

// touches tells whether a place is on the edge of a box.
func (b *box) touches(p point) bool {
	const near = 0.01
	inX := p.x >= b.area.x-near && p.x <= b.area.right()+near
	inY := p.y >= b.area.y-near && p.y <= b.area.bottom()+near
	deep := p.x > b.area.x+near && p.x < b.area.right()-near && p.y > b.area.y+near && p.y < b.area.bottom()-near
	return inX && inY && !deep
}

// reaches tells whether wires lead from one box to another.
func reaches(wires []wire, from, to string) bool {
	seen := map[string]bool{from: true}
	for grown := true; grown; {
		grown = false
		for _, w := range wires {
			if seen[w.from] && !seen[w.to] {
				seen[w.to], grown = true, true
			}
		}
	}
	return seen[to]
}

// joined tells whether all hops of a ring through the network have ways to
// their devices.
func joined(hosts []Host, o Overlay) bool {
	places, err := placesOf(hosts)
	if err != nil {
		return false
	}
	for _, hop := range o.Hops {
		if hop.Nets == nil {
			continue
		}
		from, to := places[hop.From], places[hop.To]
		out, err1 := findNet(&hosts[from.host], hop.Nets.Out)
		in, err2 := findNet(&hosts[to.host], hop.Nets.In)
		if err1 != nil || err2 != nil {
			return false
		}
		up, _ := hosts[from.host].Graph.Path(from.node, out)
		down, _ := hosts[to.host].Graph.Path(in, to.node)
		if up.Hops() == 0 || up.Type == graph.DIS || down.Hops() == 0 || down.Type == graph.DIS {
			return false
		}
	}
	return true
}

// regular tells whether a host is wired as boards are: nothing hangs in two
// places, nor twice in one, and switches that are joined directly are of one
// level. No ring is drawn over the rest.
func regular(t testingTB, p *Picture, h *Host) bool {
	t.Helper()
	plan, err := planHost(h, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	boxes := p.allBoxes()
	y := func(n *graph.Node) float64 { return boxes[nodeID(0, h.Graph, n)].area.y }
	hangs := map[[2]*graph.Node]bool{}
	for _, l := range h.Graph.Links() {
		pair := [2]*graph.Node{l.From, l.To}
		switch {
		case l.Type == graph.LinkPCI && hangs[pair],
			l.Type == graph.LinkLOC && y(l.From) != y(l.To),
			l.Type == graph.LinkPCI && !hangsFrom(plan.roots, l.From, l.To) && !hangsFrom(plan.roots, l.To, l.From):
			return false
		}
		hangs[pair] = hangs[pair] || l.Type == graph.LinkPCI
	}
	return true
}

// TestRingsOfRandomMachines follows rings of any order over machines of any
// kind, alone and side by side.
func TestRingsOfRandomMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		hosts := copies(t, topotest.Random(pick), 1+pick(3))
		if hosts == nil || !ranksFit(hosts[0].Graph) || len(inOrder(hosts)) < 2 {
			t.Skip("nothing to draw")
		}
		var overlays []Overlay
		for i := range 1 + pick(3) {
			overlays = append(overlays, ring(hosts, i+pick(2), rapid.Permutation(inOrder(hosts)).Draw(t, "order")...))
			overlays[i].Title = fmt.Sprintf("ring %d", i)
		}
		p, err := Machines(hosts, overlays)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range overlays {
			if !joined(hosts, o) || !regular(t, p, &hosts[0]) {
				continue
			}
			for _, f := range trailFaults(p, hosts, o, i) {
				t.Errorf("%s: %s", o.Title, f)
			}
		}
		for _, f := range faults(p) {
			t.Error(f)
		}
	})
}

// TestRingThroughBothSockets: on this machine the card that sends hangs from
// the other CPU than the GPU, and GPUs have NVLinks to their CPUs.
func TestRingThroughBothSockets(t *testing.T) {
	hosts := machine(t, "power9x4", 2)
	o := ring(hosts, 0, inOrder(hosts)...)
	p, err := Machines(hosts, []Overlay{o})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(trailFaults(p, hosts, o, 0), faults(p)...) {
		t.Error(f)
	}
	gpus, cpus := hosts[0].Graph.NodesOf(graph.GPU), hosts[0].Graph.NodesOf(graph.CPU)
	for _, want := range [][2]*graph.Node{{gpus[3], cpus[1]}, {cpus[1], cpus[0]}, {cpus[0], gpus[0]}} {
		for h := range hosts {
			from, to := nodeID(h, hosts[h].Graph, want[0]), nodeID(h, hosts[h].Graph, want[1])
			drawn := 0
			for _, w := range p.ofRing(o) {
				if w.from == from && w.to == to {
					drawn++
				}
			}
			if drawn != 1 {
				t.Errorf("%s to %s: %d lines", from, to, drawn)
			}
		}
	}
}

// TestRingsOfBuiltInMachines follows rings through two of each built-in machine.
func TestRingsOfBuiltInMachines(t *testing.T) {
	for _, name := range machines.Names() {
		hosts := machine(t, name, 2)
		cycle := inOrder(hosts)
		overlays := []Overlay{ring(hosts, 0, cycle...), ring(hosts, 1, slices.Concat(cycle[1:], cycle[:1])...)}
		slices.Reverse(overlays[1].Hops) // not closed, but hops all the same
		p, err := Machines(hosts, overlays)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, o := range overlays {
			for _, f := range trailFaults(p, hosts, o, i) {
				t.Errorf("%s, %s: %s", name, o.Title, f)
			}
		}
		for _, f := range faults(p) {
			t.Errorf("%s: %s", name, f)
		}
	}
}

// TestManyRidersFit: however many rings climb to a card, its box is as wide as
// their lines, in small and in busy pictures.
func TestManyRidersFit(t *testing.T) {
	for _, n := range []int{2, 4} {
		hosts := machine(t, "power9x4", n)
		var overlays []Overlay
		for i := range 20 {
			overlays = append(overlays, ring(hosts, 0, inOrder(hosts)...))
			overlays[i].Title = fmt.Sprintf("ring %d", i)
		}
		p, err := Machines(hosts, overlays)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range overlays {
			for _, f := range trailFaults(p, hosts, o, i) {
				t.Errorf("%d hosts, %s: %s", n, o.Title, f)
			}
		}
		for _, f := range faults(p) {
			t.Errorf("%d hosts: %s", n, f)
		}
	}
}
