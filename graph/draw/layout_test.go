package draw

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// randomBundles ties bundles between ports in a row.
func randomBundles(t *rapid.T) ([]*port, []*bundle) {
	ports := make([]*port, rapid.IntRange(2, 9).Draw(t, "ports"))
	for i := range ports {
		ports[i] = &port{order: 2 * i}
		if rapid.Bool().Draw(t, "straight") {
			ports[i].straight = 4
		}
	}
	var bundles []*bundle
	for range rapid.IntRange(1, 12).Draw(t, "bundles") {
		i := rapid.IntRange(0, len(ports)-1).Draw(t, "a")
		j := (i + rapid.IntRange(1, len(ports)-1).Draw(t, "b")) % len(ports)
		b := &bundle{a: ports[i], b: ports[j]}
		if rapid.Bool().Draw(t, "road") {
			b.road = &road{labels: []string{"x"}, width: rapid.Float64Range(1, 9).Draw(t, "width")}
		}
		least := 1
		if b.road != nil {
			least = 0
		}
		b.riders = make([]rider, rapid.IntRange(least, 3).Draw(t, "riders"))
		join(b)
		bundles = append(bundles, b)
	}
	return ports, bundles
}

func TestPackedLanesDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, bundles := randomBundles(t)
		heights := pack(bundles)
		end := settle(bundles, heights, 100)
		for i, a := range bundles {
			if a.a.order >= a.b.order {
				t.Errorf("bundle from %d to %d", a.a.order, a.b.order)
			}
			if a.top < 100 || a.top+a.height() > end+1e-9 {
				t.Errorf("a bundle of %v at %v, lanes end at %v", a.height(), a.top, end)
			}
			for _, b := range bundles[i+1:] {
				apart := a.top+a.height() <= b.top+1e-9 || b.top+b.height() <= a.top+1e-9
				if !apart && a.overlaps(b) {
					t.Errorf("%d-%d and %d-%d at %v and %v", a.a.order, a.b.order, b.a.order, b.b.order, a.top, b.top)
				}
			}
		}
	})
}

// line is one wire down from a port: where, how deep, and which way it turns.
type descent struct {
	x, depth float64
	left     bool
}

// TestWiresDoNotCrossAtTheirPort: of two wires that turn the same way the
// deeper one leads down further inside.
func TestWiresDoNotCrossAtTheirPort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ports, bundles := randomBundles(t)
		settle(bundles, pack(bundles), 0)
		for _, p := range ports {
			p.assign(1000)
			var wires []descent
			for _, b := range p.bundles {
				if b.road != nil {
					wires = append(wires, descent{p.roadX(b), b.roadY(), b.b == p})
				}
				for i := range b.riders {
					wires = append(wires, descent{p.riderX(b, i), b.riderY(i), b.b == p})
				}
			}
			for i, a := range wires {
				if a.x < p.left || a.x > p.right() {
					t.Errorf("a wire at %v, the port at %v to %v", a.x, p.left, p.right())
				}
				for _, b := range wires[i+1:] {
					if a.left == b.left && (a.x < b.x) != (a.left == (a.depth < b.depth)) {
						t.Errorf("%+v crosses %+v", a, b)
					}
					if a.left != b.left && (a.x < b.x) != a.left {
						t.Errorf("%+v crosses %+v", a, b)
					}
				}
			}
		}
	})
}

func TestWrapKeepsAllWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching("[a-z0-9→]{1,9}"), 1, 40).Draw(t, "words")
		width := rapid.Float64Range(20, 300).Draw(t, "width")
		lines := wrap(strings.Join(words, " "), keySize, width)
		if got := strings.Join(lines, " "); got != strings.Join(words, " ") {
			t.Errorf("%q became %q", words, lines)
		}
		for _, l := range lines {
			if strings.Contains(l, " ") && textWidth(l, keySize) > width {
				t.Errorf("%q is wider than %v", l, width)
			}
		}
	})
}
