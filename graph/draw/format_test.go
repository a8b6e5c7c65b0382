package draw

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/graph/draw/internal/graphviz"
	"github.com/ringtopo/ringtopo/graph/draw/internal/paint"
)

func onePicture(t testing.TB) *Picture {
	t.Helper()
	hosts := machine(t, "v100x4", 1)
	p, err := Machines(hosts, []Overlay{ring(hosts, 0, 0, 1, 2, 3), ring(hosts, 1, 0, 2, 1, 3), ring(hosts, 2, 0, 3, 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSVGStandsAlone looks for anything that a viewer would have to load.
func TestSVGStandsAlone(t *testing.T) {
	svg, err := onePicture(t).SVG(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	names := regexp.MustCompile(`xmlns(:xlink)?="http://www\.w3\.org/[^"]*"`)
	if bytes.Count(svg, []byte("xmlns")) != 2 {
		t.Error("a name space is missing")
	}
	rest := names.ReplaceAll(svg, nil)
	for _, bad := range []string{"http", "<!DOCTYPE", "href=", "url(", "<image", "<style", "<script", "@import"} {
		if i := bytes.Index(rest, []byte(bad)); i >= 0 {
			t.Errorf("found %s: %.80s", bad, rest[i:])
		}
	}
	for _, pattern := range []string{`stroke-dasharray="5,2"`, string(dashDot)} {
		if !bytes.Contains(svg, []byte(pattern)) {
			t.Errorf("no line with %s", pattern)
		}
	}
}

func TestPNGShowsThePicture(t *testing.T) {
	p := onePicture(t)
	data, err := p.PNG(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := p.SVG(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := paint.Read(svg)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size != image.Pt(int(math.Ceil(d.Width*pngScale)), int(math.Ceil(d.Height*pngScale))) {
		t.Errorf("%v dots for a picture of %v by %v", size, d.Width, d.Height)
	}
	// Below the lanes lies the fill of the host's frame: lines that were filled
	// would have covered it.
	frame := extent(d, hostFill)
	at := image.Pt(int(frame.center().x*pngScale), int((frame.bottom()-3)*pngScale))
	if c := color.RGBAModel.Convert(img.At(at.X, at.Y)); c != (color.RGBA{0xfa, 0xfa, 0xfa, 0xff}) {
		t.Errorf("inside of the host's frame: %v", c)
	}
	again, err := p.PNG(t.Context())
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("another file the second time, %v", err)
	}
}

// extent is the area of the first figure with a fill.
func extent(d *paint.Drawing, fill string) rect {
	for _, s := range d.Shapes {
		if s.Fill != fill || s.Path == nil {
			continue
		}
		low, high := point{math.Inf(1), math.Inf(1)}, point{}
		for _, p := range samples(s.Path) {
			low = point{min(low.x, p.X), min(low.y, p.Y)}
			high = point{max(high.x, p.X), max(high.y, p.Y)}
		}
		return rect{low.x, low.y, high.x - low.x, high.y - low.y}
	}
	return rect{}
}

func TestDrawingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := onePicture(t)
	if _, err := p.SVG(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("SVG: %v", err)
	}
	if _, err := p.PNG(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("PNG: %v", err)
	}
}

func BenchmarkPictures(b *testing.B) {
	dgx1, four := machine(b, "dgx-1v", 1), machine(b, "dgx-h100", 4)
	for _, c := range []struct {
		name  string
		hosts []Host
		rings []Overlay
	}{
		{"dgx-1v", dgx1, nil},
		{"four-dgx-h100", four, []Overlay{ring(four, 0, inOrder(four)...)}},
	} {
		b.Run(c.name+"/layout", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := Machines(c.hosts, c.rings)
				if err != nil {
					b.Fatal(err)
				}
				p.DOT()
			}
		})
		p, err := Machines(c.hosts, c.rings)
		if err != nil {
			b.Fatal(err)
		}
		for format, draw := range map[string]func(context.Context) ([]byte, error){"svg": p.SVG, "png": p.PNG} {
			b.Run(c.name+"/"+format, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := draw(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func TestWallsAreNoPNG(t *testing.T) {
	p := &Picture{size: point{60000, 60000}, boxes: []box{
		{id: "a", area: rect{0, 0, 10, 10}, fill: hostFill, stroke: hostLine},
		{id: "b", area: rect{59000, 59000, 10, 10}, fill: hostFill, stroke: hostLine},
	}}
	if _, err := p.PNG(t.Context()); !errors.Is(err, ErrTooMuch) {
		t.Errorf("got %v", err)
	}
}

// TestDOTIsForOthersToo: without the given places Graphviz's own layout takes
// the text as well.
func TestDOTIsForOthersToo(t *testing.T) {
	svg, err := graphviz.Render(t.Context(), onePicture(t).DOT(), "dot", "svg")
	if err != nil {
		t.Fatal(err)
	}
	_, texts := textBoxes(t, svg)
	for _, want := range []string{"GPU 3", "NUMA 1", "NV2 40 GB/s", "12 GB/s"} {
		if !slices.ContainsFunc(texts, func(b textBox) bool { return b.text == want }) {
			t.Errorf("no %q", want)
		}
	}
}
