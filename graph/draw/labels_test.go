package draw

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/graph/draw/internal/paint"
)

// textBox is the ink of one text in a picture.
type textBox struct {
	text string
	rect
}

// textBoxes measures every text of an SVG as its viewer shows it.
func textBoxes(t *testing.T, svg []byte) (*paint.Drawing, []textBox) {
	t.Helper()
	d, err := paint.Read(svg)
	if err != nil {
		t.Fatal(err)
	}
	var boxes []textBox
	for _, s := range d.Shapes {
		if s.Path != nil {
			continue
		}
		w := paint.Width(s.Text, s.Size, s.Bold)
		left := s.At.X - w*map[string]float64{"start": 0, "middle": 0.5, "end": 1}[s.Anchor]
		// Capitals reach 0.73 of the size above the line and tails 0.2 below.
		boxes = append(boxes, textBox{s.Text, rect{left, s.At.Y - 0.73*s.Size, w, 0.93 * s.Size}})
	}
	return d, boxes
}

// TestNoLabelCoversAnother looks at the boxes in the finished SVG files.
func TestNoLabelCoversAnother(t *testing.T) {
	all := pictures(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svg, err := all[name].SVG(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, boxes := textBoxes(t, svg); len(boxes) < 5 {
				t.Fatalf("only %d texts", len(boxes))
			}
			checkTexts(t, svg)
		})
	}
}

// crossings lists the texts that an open line runs through.
func crossings(d *paint.Drawing, boxes []textBox) []string {
	var faults []string
	for _, s := range d.Shapes {
		if s.Path == nil || s.Fill != "none" {
			continue
		}
		half := s.Width / 2
		for _, p := range samples(s.Path) {
			for _, b := range boxes {
				if p.X > b.x-half && p.X < b.right()+half && p.Y > b.y && p.Y < b.bottom() {
					faults = append(faults, fmt.Sprintf("a %s line runs through %q at %.0f,%.0f", s.Stroke, b.text, p.X, p.Y))
				}
			}
		}
	}
	return slices.Compact(faults)
}

// samples gives places along a path, at most 3 units apart.
func samples(path []paint.Segment) []paint.Point {
	var out []paint.Point
	var at paint.Point
	for _, seg := range path {
		if seg.Kind == 'C' {
			p0, p := at, seg.Points
			n := int(math.Hypot(p[2].X-p0.X, p[2].Y-p0.Y)/3) + 2
			for i := range n + 1 {
				u := float64(i) / float64(n)
				v := 1 - u
				out = append(out, paint.Point{
					X: v*v*v*p0.X + 3*v*v*u*p[0].X + 3*v*u*u*p[1].X + u*u*u*p[2].X,
					Y: v*v*v*p0.Y + 3*v*v*u*p[0].Y + 3*v*u*u*p[1].Y + u*u*u*p[2].Y,
				})
			}
		}
		if len(seg.Points) > 0 {
			at = seg.Points[len(seg.Points)-1]
		}
	}
	return out
}
