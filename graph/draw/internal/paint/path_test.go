package paint

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathData(t *testing.T) {
	for d, want := range map[string][]Segment{
		"M1,2":               {{'M', []Point{{1, 2}}}},
		" M1 2 L3,4 5,6 Z ":  {{'M', []Point{{1, 2}}}, {'L', []Point{{3, 4}}}, {'L', []Point{{5, 6}}}, {Kind: 'Z'}},
		"M0,0C1,1 2,2 -3,-3": {{'M', []Point{{0, 0}}}, {'C', []Point{{1, 1}, {2, 2}, {-3, -3}}}},
		"M1e1,.5":            {{'M', []Point{{10, 0.5}}}},
	} {
		got, err := pathData(d)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", d, err, diff)
		}
	}
	for d, want := range map[string]string{
		"": "does not begin with M", "L1,2": "does not begin with M", "M1": "1 numbers after M", "M1,2C1,2": "2 numbers after C",
		"M1,2Z3": "1 numbers after Z", "M1,2Q3,4": "invalid syntax", "X1,2": "unknown command", "M1,NaN": "no number", "M1,1e999": "out of range",
	} {
		if got, err := pathData(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", d, got, err, want)
		}
	}
}

// TestGroupsMove: what is inside a group moves with it, and with those around.
func TestGroupsMove(t *testing.T) {
	d, err := Read(page(`<g transform="translate(5 -5)"><polyline points="0,0 1,1"/></g><polyline points="0,0 1,1"/>` +
		`<ellipse cx="2" cy="3" rx="1" ry="1"/><text text-anchor="end" font-size="7" x="1" y="2">a<title>not this</title>b</text>`))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Shapes) != 4 || d.Width != 100 || d.Height != 80 {
		t.Fatalf("%d shapes on %v × %v", len(d.Shapes), d.Width, d.Height)
	}
	for i, want := range []Point{{15, 65}, {10, 70}, {13, 73}} {
		if got := d.Shapes[i].Path[0].Points[0]; got != want {
			t.Errorf("shape %d begins at %v, want %v", i, got, want)
		}
	}
	if s := d.Shapes[3]; s.Text != "ab" || s.At != (Point{11, 72}) || s.Fill != "black" || s.Bold {
		t.Errorf("text %+v", s)
	}
}

// TestCurvesAreRound: an ellipse's curves stay on it.
func TestCurvesAreRound(t *testing.T) {
	segs, err := ellipse(attrs{"cx": "10", "cy": "20", "rx": "4", "ry": "2"})
	if err != nil {
		t.Fatal(err)
	}
	at := segs[0].Points[0]
	for _, s := range segs[1:5] {
		p := s.Points
		for u := 0.; u <= 1; u += 0.125 {
			v := 1 - u
			x := v*v*v*at.X + 3*v*v*u*p[0].X + 3*v*u*u*p[1].X + u*u*u*p[2].X
			y := v*v*v*at.Y + 3*v*v*u*p[0].Y + 3*v*u*u*p[1].Y + u*u*u*p[2].Y
			if r := math.Hypot((x-10)/4, (y-20)/2); math.Abs(r-1) > 0.0004 {
				t.Errorf("%v,%v is %v from the middle", x, y, r)
			}
		}
		at = p[2]
	}
	if at != segs[0].Points[0] {
		t.Errorf("the curve ends at %v", at)
	}
}
