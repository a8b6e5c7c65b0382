package paint

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
)

// page wraps shapes as Graphviz does.
func page(shapes string) []byte {
	return []byte(`<?xml version="1.0"?><svg width="100pt" height="80pt" viewBox="0.00 0.00 100.00 80.00">
<g id="graph0" transform="scale(1 1) rotate(0) translate(10 70)"><title>not shown</title>` + shapes + `</g></svg>`)
}

func picture(t *testing.T, shapes string) image.Image {
	t.Helper()
	data, err := PNG(t.Context(), page(shapes), 1)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func at(img image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
}

var (
	white = color.RGBA{255, 255, 255, 255}
	red   = color.RGBA{255, 0, 0, 255}
	green = color.RGBA{0, 255, 0, 255}
)

// TestOpenPathsAreNotFilled is what go-graphviz's own PNG plugin gets wrong.
func TestOpenPathsAreNotFilled(t *testing.T) {
	img := picture(t, `<path fill="none" stroke="#ff0000" stroke-width="4" d="M0,0C0,-30 60,-30 60,0"/>`)
	if got := at(img, 40, 60); got != white {
		t.Errorf("inside of the bow: %v", got)
	}
	if got := at(img, 40, 70-22); got != red {
		t.Errorf("on the bow: %v", got)
	}
}

func TestFilledShapesKeepTheirEdge(t *testing.T) {
	img := picture(t, `<polygon fill="#00ff00" stroke="#ff0000" stroke-width="4" points="0,0 60,0 60,-40 0,-40 0,0"/>`)
	if got := at(img, 40, 50); got != green {
		t.Errorf("inside: %v", got)
	}
	if got := at(img, 40, 70-40); got != red {
		t.Errorf("edge: %v", got)
	}
	if got := at(img, 5, 50); got != white {
		t.Errorf("outside: %v", got)
	}
}

func TestEllipseAndTransparent(t *testing.T) {
	img := picture(t, `<ellipse fill="#00ff00" stroke="black" cx="40" cy="-30" rx="30" ry="20"/>
		<polygon fill="transparent" stroke="transparent" points="0,0 80,0 80,-60 0,-60 0,0"/>`)
	if at(img, 50, 40) != green || at(img, 22, 22) != white {
		t.Errorf("middle %v, corner %v", at(img, 50, 40), at(img, 22, 22))
	}
}

func TestDashesLeaveGaps(t *testing.T) {
	img := picture(t, `<polyline fill="none" stroke="#ff0000" stroke-width="4" stroke-dasharray="10,10" points="0,-30 80,-30"/>`)
	if at(img, 15, 40) != red || at(img, 25, 40) != white {
		t.Errorf("dash %v, gap %v", at(img, 15, 40), at(img, 25, 40))
	}
}

// inkWidth is the extent of what is not white.
func inkWidth(img image.Image) (left, right int) {
	left, right = img.Bounds().Dx(), -1
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if at(img, x, y) != white {
				left, right = min(left, x), max(right, x)
			}
		}
	}
	return left, right
}

func TestTextStandsAtItsAnchor(t *testing.T) {
	w := Width("HHHH", 14, false)
	for anchor, left := range map[string]float64{"start": 50, "middle": 50 - w/2, "end": 50 - w} {
		img := picture(t, `<text text-anchor="`+anchor+`" x="40" y="-20" font-size="14.00">HHHH</text>`)
		l, r := inkWidth(img)
		if math.Abs(float64(l)-left) > 3 || math.Abs(float64(r)-left-w) > 3 {
			t.Errorf("%s: ink from %d to %d, want %.0f to %.0f", anchor, l, r, left, left+w)
		}
	}
}

func TestWidthGrows(t *testing.T) {
	if Width("", 10, false) != 0 {
		t.Error("no text has a width")
	}
	if a, b := Width("GPU 0", 10, false), Width("GPU 0", 20, false); math.Abs(b-2*a) > 1e-9 {
		t.Errorf("twice the size: %v, %v", a, b)
	}
	if a, b := Width("Network", 10, false), Width("Network", 10, true); b <= a {
		t.Errorf("bold is not wider: %v, %v", a, b)
	}
}

func TestWhatIsNotKnownIsAnError(t *testing.T) {
	for want, shapes := range map[string]string{
		"unknown element circle":      `<circle r="3"/>`,
		"unknown command":             `<path fill="none" stroke="black" d="A1,2 3,4"/>`,
		"3 numbers after C":           `<path fill="none" stroke="black" d="M0,0C1,2 3"/>`,
		"does not begin with M":       `<path fill="none" stroke="black" d="L1,2"/>`,
		"polygon points":              `<polygon fill="none" stroke="black" points="1,2,3"/>`,
		`unknown colour "chartreuse"`: `<polygon fill="chartreuse" stroke="black" points="1,2 3,4 5,6"/>`,
		`ellipse rx="wide"`:           `<ellipse fill="none" cx="1" cy="1" rx="wide" ry="2"/>`,
		`font-size="big"`:             `<text text-anchor="start" x="1" y="1" font-size="big">x</text>`,
		`unknown anchor "left"`:       `<text text-anchor="left" x="1" y="1" font-size="9">x</text>`,
		"stroke-width":                `<polygon fill="none" stroke="black" stroke-width="thin" points="1,2 3,4"/>`,
		"stroke-dasharray":            `<polygon fill="none" stroke="black" stroke-dasharray="a" points="1,2 3,4"/>`,
		"transform":                   `<g transform="rotate(30)"></g>`,
		`0A1`:                         `<path fill="none" stroke="black" d="M0,0A1,2 3,4"/>`,
		"a text inside":               `<text x="1" y="1" font-size="9"><text x="1" y="1" font-size="9">a</text></text>`,
		"svg line 2":                  `<g>`,
	} {
		if _, err := PNG(t.Context(), page(shapes), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", shapes, err, want)
		}
	}
}

func TestSizeHasLimits(t *testing.T) {
	if _, err := PNG(t.Context(), []byte(`<svg viewBox="0 0 100000 100000"></svg>`), 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a wall: %v", err)
	}
	for _, svg := range []string{
		`<svg viewBox="0 0 0 10"></svg>`, `<svg viewBox="0 0 NaN 10"></svg>`, `<svg viewBox="0 0 -5 10"></svg>`,
		`<svg viewBox="0 0 1"></svg>`, ``,
	} {
		if _, err := PNG(t.Context(), []byte(svg), 1); err == nil {
			t.Errorf("%q is accepted", svg)
		}
	}
}

func TestPaintingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := PNG(ctx, page(`<polygon fill="white" stroke="black" points="0,0 1,1 2,0"/>`), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(page(`<path fill="none" stroke="black" d="M0,0C1,2 3,4 5,6L7,8Z"/><text x="1" y="2" text-anchor="start" font-size="9">a</text>`))
	f.Add(page(`<ellipse cx="1" cy="2" rx="3" ry="4"/><polyline points="1,2 3,4"/>`))
	f.Fuzz(func(t *testing.T, svg []byte) {
		d, err := Read(svg)
		if err != nil {
			return
		}
		for _, s := range d.Shapes {
			if len(s.Path) > 0 && s.Path[0].Kind != 'M' {
				t.Errorf("a path begins with %c", s.Path[0].Kind)
			}
		}
	})
}
