package draw

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/internal/topotest"
)

// TestNothingRunsThroughTextsOfRandomMachines: whatever the machine and its rings,
// texts stay on the page and clear of each other, and no line runs through one.
func TestNothingRunsThroughTextsOfRandomMachines(t *testing.T) {
	machines := 16 // Graphviz takes its time
	if os.Getenv("RINGTOPO_TEST_FULL") != "" {
		machines = 500
	}
	for seed := range uint64(machines) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			hosts := copies(t, topotest.Random(r.IntN), 1+r.IntN(2))
			if hosts == nil || !ranksFit(hosts[0].Graph) || len(inOrder(hosts)) < 2 {
				t.Skip("nothing to draw")
			}
			var overlays []Overlay
			for i := range r.IntN(4) {
				order := inOrder(hosts)
				r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				overlays = append(overlays, ring(hosts, i, order...))
			}
			p, err := Machines(hosts, overlays)
			if err != nil {
				t.Fatal(err)
			}
			svg, err := p.SVG(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkTexts(t, svg)
		})
	}
}

// checkTexts looks at the finished texts of an SVG.
func checkTexts(t *testing.T, svg []byte) {
	t.Helper()
	d, boxes := textBoxes(t, svg)
	for i, a := range boxes {
		if a.x < 0 || a.y < 0 || a.right() > d.Width || a.bottom() > d.Height {
			t.Errorf("%q sticks out of the page", a.text)
		}
		if j := slices.IndexFunc(boxes[i+1:], func(b textBox) bool { return a.covers(b.rect) }); j >= 0 {
			t.Errorf("%q at %v covers %q at %v", a.text, a.rect, boxes[i+1+j].text, boxes[i+1+j].rect)
		}
	}
	for _, fault := range crossings(d, boxes) {
		t.Error(fault)
	}
}
