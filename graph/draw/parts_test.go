package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

// TestEveryPartOfRandomMachines looks for the box of each node and the line of
// each link, at the right boxes and as wide as its bandwidth asks.
func TestEveryPartOfRandomMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		hosts := copies(t, topotest.Random(pick), 1+pick(2))
		if hosts == nil || !ranksFit(hosts[0].Graph) {
			t.Skip("nothing to draw")
		}
		p, err := Machines(hosts, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !regular(t, p, &hosts[0]) {
			t.Skip("no board is wired so")
		}
		for h := range hosts {
			for _, f := range missing(p, h, hosts[h].Graph) {
				t.Error(f)
			}
		}
	})
}

// missing lists what of a host a picture does not show as it should.
func missing(p *Picture, h int, g *graph.Graph) []string {
	var out []string
	boxes := p.allBoxes()
	for _, kind := range []graph.NodeType{graph.GPU, graph.CPU, graph.PCI, graph.NIC} {
		for _, n := range g.NodesOf(kind) {
			if _, ok := boxes[nodeID(h, g, n)]; !ok {
				out = append(out, fmt.Sprintf("no box for %s", n))
			}
		}
	}
	for _, l := range g.Links() {
		if l.Type == graph.LinkNET || l.Type == graph.LinkSYS {
			continue // in the NIC's box; one line for all CPUs
		}
		from, to := nodeID(h, g, l.From), nodeID(h, g, l.To)
		lines := append(p.between(from, to), p.between(to, from)...)
		if len(lines) == 0 {
			out = append(out, fmt.Sprintf("no line from %s to %s", from, to))
		}
		for _, w := range lines {
			begin, end := w.parts[0][0], w.parts[len(w.parts)-1][len(w.parts[len(w.parts)-1])-1]
			if a, b := boxes[w.from], boxes[w.to]; !a.touches(begin) || !b.touches(end) {
				out = append(out, fmt.Sprintf("%s to %s: from %v to %v, but the boxes are %v and %v", w.from, w.to, begin, end, a.area, b.area))
			}
		}
		if !slices.ContainsFunc(lines, func(w wire) bool { return fits(w, l) }) {
			out = append(out, fmt.Sprintf("no line from %s to %s is as wide as %s asks", from, to, gbps(l.BW)))
		}
	}
	return out
}

// fits tells whether a line's width is that of a link or, both ways being one
// line, of its way back.
func fits(w wire, l *graph.Link) bool {
	bw := l.BW
	if back := l.Reverse(); back != nil {
		bw = max(bw, back.BW)
	}
	return w.width == bandwidthWidth(bw) || l.Type == graph.LinkLOC || l.BW >= virtualBW && w.width == minWidth
}

func TestWidthNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bw := rapid.Float32()
		a, b := bw.Draw(t, "a"), bw.Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		wa, wb := bandwidthWidth(a), bandwidthWidth(b)
		if wa > wb || wa < minWidth || wb > maxWidth || math.IsNaN(wa) {
			t.Errorf("%v GB/s is %v wide, %v GB/s %v", a, wa, b, wb)
		}
	})
}

// TestKeyNamesEachRing: every ring has a sample of its line in the key, with its
// look, and its name and ranks beside it, all inside the page.
func TestKeyNamesEachRing(t *testing.T) {
	hosts := machine(t, "dgx-1v", 1)
	rapid.Check(t, func(t *rapid.T) {
		var overlays []Overlay
		for i := range rapid.IntRange(1, 25).Draw(t, "rings") {
			overlays = append(overlays, ring(hosts, i, rapid.Permutation(inOrder(hosts)).Draw(t, "order")...))
		}
		p, err := Machines(hosts, overlays)
		if err != nil {
			t.Fatal(err)
		}
		boxes := p.allBoxes()
		for i, o := range overlays {
			look := o.look(i)
			samples := slices.DeleteFunc(slices.Clone(p.wires), func(w wire) bool { return w.from != fmt.Sprintf("key %d from", i) })
			if len(samples) != 1 || samples[0].color != look.color || samples[0].dash != look.dash || !samples[0].arrow {
				t.Errorf("%s: samples %+v, want %+v", o.Title, samples, look)
			}
			text := ""
			for k := 0; ; k++ {
				b, ok := boxes[fmt.Sprintf("key %d %d", i, k)]
				if !ok {
					break
				}
				text += b.lines[0].text + " "
				if b.lines[0].color != look.color || b.area.right() > p.size.x || b.area.bottom() > p.size.y {
					t.Errorf("%s: %+v on a page of %v", o.Title, b, p.size)
				}
			}
			want := o.Title + ": "
			for _, hop := range o.Hops {
				want += fmt.Sprintf(" %d →", hop.From)
			}
			if want += fmt.Sprintf(" %d ", o.Hops[0].From); text != want {
				t.Errorf("the key says %q, want %q", text, want)
			}
		}
	})
}

// TestLinesOfRingsNeverCoincide: two lines of rings may cross, but not run over
// each other. Between switches that the board joins they may.
func TestLinesOfRingsNeverCoincide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		hosts := copies(t, topotest.Random(pick), 1+pick(3))
		if hosts == nil || !ranksFit(hosts[0].Graph) {
			t.Skip("nothing to draw")
		}
		if slices.ContainsFunc(hosts[0].Graph.Links(), func(l *graph.Link) bool { return l.Type == graph.LinkLOC }) {
			t.Skip("joined switches")
		}
		p := draw(t, hosts, 1+pick(4))
		var lines []wire
		for _, w := range p.wires {
			if w.arrow && !strings.HasPrefix(w.from, "key") {
				lines = append(lines, w)
			}
		}
		ways := make([][][2]point, len(lines))
		for i, w := range lines {
			ways[i] = segments(w)
		}
		for i, a := range lines {
			for k, b := range lines[i+1:] {
				if at, ok := coincide(ways[i], ways[i+1+k]); ok {
					t.Errorf("%s to %s (%s) runs over %s to %s (%s) at %v", a.from, a.to, a.tip, b.from, b.to, b.tip, at)
				}
			}
		}
	})
}

// coincide finds a stretch that two wires of upright and level lines share.
func coincide(a, b [][2]point) (point, bool) {
	for _, s := range a {
		for _, u := range b {
			if s[0].x == s[1].x && u[0].x == u[1].x && math.Abs(s[0].x-u[0].x) < riderWidth && shared(s[0].y, s[1].y, u[0].y, u[1].y) > 1 {
				return s[0], true
			}
			if s[0].y == s[1].y && u[0].y == u[1].y && math.Abs(s[0].y-u[0].y) < riderWidth && shared(s[0].x, s[1].x, u[0].x, u[1].x) > 1 {
				return s[0], true
			}
		}
	}
	return point{}, false
}

func segments(w wire) [][2]point {
	var out [][2]point
	for _, pts := range w.parts {
		for i := 1; i < len(pts); i++ {
			out = append(out, [2]point{pts[i-1], pts[i]})
		}
	}
	return out
}

// shared is how long two stretches run side by side.
func shared(a, b, c, d float64) float64 { return min(max(a, b), max(c, d)) - max(min(a, b), min(c, d)) }
