package paint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"github.com/fogleman/gg"
)

// maxPixels limits a picture to 256 MiB of memory.
const maxPixels = 64 << 20

// ErrTooLarge is returned for a picture of too many dots.
var ErrTooLarge = errors.New("picture too large for PNG: write SVG instead")

// painter paints one drawing.
type painter struct {
	*gg.Context
	scale float64
	fonts faces
}

// PNG paints an SVG that Graphviz wrote, with scale dots for each of its units.
func PNG(ctx context.Context, svg []byte, scale float64) ([]byte, error) {
	d, err := Read(svg)
	if err != nil {
		return nil, err
	}
	w, h := math.Ceil(d.Width*scale), math.Ceil(d.Height*scale)
	if !(w >= 1 && h >= 1) {
		return nil, fmt.Errorf("svg of %v × %v has no size", d.Width, d.Height)
	}
	if w*h > maxPixels {
		return nil, fmt.Errorf("%w: %.0f × %.0f dots", ErrTooLarge, w, h)
	}
	p := &painter{Context: gg.NewContext(int(w), int(h)), scale: scale, fonts: faces{}}
	p.SetColor(color.White)
	p.Clear()
	p.SetLineCap(gg.LineCapButt)
	for i := range d.Shapes {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := p.shape(&d.Shapes[i]); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	err = p.EncodePNG(&out)
	return out.Bytes(), err
}

func (p *painter) shape(s *Shape) error {
	if s.Path == nil {
		return p.text(s)
	}
	defer p.ClearPath()
	p.trace(s.Path)
	if err := p.with(s.Fill, p.FillPreserve); err != nil {
		return err
	}
	p.SetLineWidth(s.Width * p.scale)
	dash := make([]float64, len(s.Dash))
	for i, d := range s.Dash {
		dash[i] = d * p.scale
	}
	p.SetDash(dash...)
	return p.with(s.Stroke, p.StrokePreserve)
}

func (p *painter) trace(path []Segment) {
	for _, seg := range path {
		q := make([]Point, len(seg.Points))
		for i, at := range seg.Points {
			q[i] = Point{at.X * p.scale, at.Y * p.scale}
		}
		switch seg.Kind {
		case 'M':
			p.MoveTo(q[0].X, q[0].Y)
		case 'L':
			p.LineTo(q[0].X, q[0].Y)
		case 'C':
			p.CubicTo(q[0].X, q[0].Y, q[1].X, q[1].Y, q[2].X, q[2].Y)
		case 'Z':
			p.ClosePath()
		}
	}
}

// with sets a colour and paints, or does nothing for none.
func (p *painter) with(name string, paint func()) error {
	if name == "" || name == "none" || name == "transparent" {
		return nil
	}
	c, err := parseColor(name)
	if err != nil {
		return err
	}
	p.SetColor(c)
	paint()
	return nil
}

// parseColor reads a colour as Graphviz writes those of our pictures.
func parseColor(name string) (color.Color, error) {
	switch name {
	case "black":
		return color.Black, nil
	case "white":
		return color.White, nil
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(name, "#"), 16, 24)
	if err != nil || len(name) != 7 {
		return nil, fmt.Errorf("unknown colour %q", name)
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}, nil
}

func (p *painter) text(s *Shape) error {
	anchor, ok := map[string]float64{"start": 0, "middle": 0.5, "end": 1}[s.Anchor]
	if !ok {
		return fmt.Errorf("text %q: unknown anchor %q", s.Text, s.Anchor)
	}
	p.SetFontFace(p.fonts.get(s.Size*p.scale, s.Bold))
	return p.with(s.Fill, func() {
		p.DrawStringAnchored(s.Text, s.At.X*p.scale, s.At.Y*p.scale, anchor, 0)
	})
}
