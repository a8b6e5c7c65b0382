package paint

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Shape is one element of a drawing, in the picture's own units.
type Shape struct {
	Path   []Segment // of a figure
	Text   string    // of a text
	At     Point     // where the text's anchor is
	Anchor string    // start, middle or end
	Size   float64
	Bold   bool
	Fill   string // none, transparent, or a colour
	Stroke string
	Width  float64
	Dash   []float64
}

// Point is a place, y downwards.
type Point struct{ X, Y float64 }

// Segment is a part of a path: M and L with one point, C with three, Z with
// none.
type Segment struct {
	Kind   byte
	Points []Point
}

// Drawing is what an SVG file shows.
type Drawing struct {
	Width, Height float64
	Shapes        []Shape
}

// Read reads an SVG as Graphviz writes it.
func Read(svg []byte) (*Drawing, error) {
	r := &reader{dec: xml.NewDecoder(bytes.NewReader(svg)), d: &Drawing{}}
	for {
		tok, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			return r.d, nil
		}
		if err == nil {
			err = r.token(tok)
		}
		if err != nil {
			line, _ := r.dec.InputPos()
			return nil, fmt.Errorf("svg line %d: %w", line, err)
		}
	}
}

type reader struct {
	dec    *xml.Decoder
	d      *Drawing
	shift  Point // from the g elements around
	shifts []Point
	text   *Shape // that is being read
	silent bool   // inside a title
}

func (r *reader) token(tok xml.Token) error {
	switch t := tok.(type) {
	case xml.StartElement:
		return r.start(t)
	case xml.EndElement:
		return r.end(t.Name.Local)
	case xml.CharData:
		if r.text != nil && !r.silent {
			r.text.Text += string(t)
		}
	}
	return nil
}

func (r *reader) start(e xml.StartElement) error {
	a := attributes(e)
	switch e.Name.Local {
	case "svg":
		return r.svg(a)
	case "g":
		return r.group(a)
	case "title":
		r.silent = true
		return nil
	case "a":
		return nil
	case "text":
		return r.startText(a)
	case "polygon", "polyline", "path", "ellipse":
		return r.figure(e.Name.Local, a)
	}
	return fmt.Errorf("unknown element %s", e.Name.Local)
}

func (r *reader) end(name string) error {
	switch name {
	case "g":
		last := len(r.shifts) - 1
		r.shift, r.shifts = r.shifts[last], r.shifts[:last]
	case "title":
		r.silent = false
	case "text":
		if r.text == nil {
			return errors.New("a text inside of a text")
		}
		r.d.Shapes = append(r.d.Shapes, *r.text)
		r.text = nil
	}
	return nil
}

func (r *reader) svg(a attrs) error {
	box, err := numbers(a["viewBox"])
	if err != nil || len(box) != 4 {
		return fmt.Errorf("viewBox %q", a["viewBox"])
	}
	r.d.Width, r.d.Height = box[2], box[3]
	return nil
}

// group takes Graphviz's transform, which only ever moves.
func (r *reader) group(a attrs) error {
	r.shifts = append(r.shifts, r.shift)
	t := strings.TrimPrefix(a["transform"], "scale(1 1) rotate(0) ")
	if t == "" {
		return nil
	}
	inner, ok := strings.CutPrefix(strings.TrimSuffix(t, ")"), "translate(")
	v, err := numbers(inner)
	if !ok || err != nil || len(v) != 2 {
		return fmt.Errorf("transform %q", a["transform"])
	}
	r.shift = Point{r.shift.X + v[0], r.shift.Y + v[1]}
	return nil
}

func (r *reader) startText(a attrs) error {
	s := Shape{Anchor: a["text-anchor"], Bold: a["font-weight"] == "bold", Fill: a["fill"]}
	var err error
	number := func(name string) (v float64) {
		if v, err = strconv.ParseFloat(a[name], 64); err != nil {
			err = fmt.Errorf("text %s=%q: %w", name, a[name], err)
		}
		return v
	}
	if s.Size = number("font-size"); err != nil {
		return err
	}
	if s.At.X = number("x"); err != nil {
		return err
	}
	s.At.Y = number("y")
	s.At = Point{s.At.X + r.shift.X, s.At.Y + r.shift.Y}
	if s.Fill == "" {
		s.Fill = "black"
	}
	r.text = &s
	return err
}

func (r *reader) figure(kind string, a attrs) error {
	s := Shape{Fill: a["fill"], Stroke: a["stroke"], Width: 1}
	var err error
	if w := a["stroke-width"]; w != "" {
		if s.Width, err = strconv.ParseFloat(w, 64); err != nil {
			return fmt.Errorf("stroke-width %q: %w", w, err)
		}
	}
	if d := a["stroke-dasharray"]; d != "" {
		if s.Dash, err = numbers(d); err != nil {
			return fmt.Errorf("stroke-dasharray %q: %w", d, err)
		}
	}
	if s.Path, err = path(kind, a); err != nil {
		return err
	}
	for _, seg := range s.Path {
		for i := range seg.Points {
			seg.Points[i].X += r.shift.X
			seg.Points[i].Y += r.shift.Y
		}
	}
	r.d.Shapes = append(r.d.Shapes, s)
	return nil
}

type attrs map[string]string

func attributes(e xml.StartElement) attrs {
	a := attrs{}
	for _, at := range e.Attr {
		a[at.Name.Local] = at.Value
	}
	return a
}

// numbers reads numbers apart by blanks or commas.
func numbers(s string) ([]float64, error) {
	var out []float64
	for _, f := range strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == ',' }) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%q is no number", f)
		}
		out = append(out, v)
	}
	return out, nil
}
