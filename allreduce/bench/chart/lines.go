package chart

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// ErrNothing is returned where a result holds nothing that can be drawn.
var ErrNothing = errors.New("there is nothing to draw")

// palette is safe for colour-blind readers; lines differ in dashes and marks as
// well, for grey print.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0x00, 0x00, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x80, 0x80, 0x80, 0xff},
}

var dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 2, 2, 2}}

var marks = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}

// series is one line: the settings that differ in size alone.
type series struct {
	label  string
	points plotter.XYs
	hollow plotter.XYs // of these, the ones too noisy to conclude from
}

// Lines draws bus bandwidth over message size, one line per setting. Format is
// svg or png.
func Lines(w io.Writer, r *bench.Result, a *bench.Analysis, format string) error {
	lines := group(a)
	if len(lines) == 0 {
		return fmt.Errorf("%w: no setting was measured", ErrNothing)
	}
	p := plot.New()
	p.Title.Text = r.Recipe.Name + ": " + r.Recipe.About + " (" + r.Engine + ")"
	p.X.Label.Text = "message size"
	p.Y.Label.Text = "bus bandwidth, GB/s"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, sizeTicks{}
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, s := range lines {
		if err := s.add(p, i); err != nil {
			return err
		}
	}
	return write(w, p, format, 9*vg.Inch, 6*vg.Inch)
}

func (s series) add(p *plot.Plot, i int) error {
	line, points, err := plotter.NewLinePoints(s.points)
	if err != nil {
		return err
	}
	line.Color, points.Color = palette[i%len(palette)], palette[i%len(palette)]
	line.Dashes = dashes[i/len(palette)%len(dashes)]
	line.Width = 1.5
	points.Shape, points.Radius = marks[i%len(marks)], 3
	p.Add(line, points)
	p.Legend.Add(s.label, line, points)
	if len(s.hollow) == 0 {
		return nil
	}
	noisy, err := plotter.NewScatter(s.hollow)
	if err != nil {
		return err
	}
	noisy.Shape, noisy.Radius, noisy.Color = draw.RingGlyph{}, 6, color.Black
	p.Add(noisy)
	return nil
}

// group makes the lines and labels them with the properties in which they
// differ.
func group(a *bench.Analysis) []series {
	var keys [][]string
	byKey := map[string]*series{}
	var order []string
	for _, f := range a.Findings {
		if f.Stats.N == 0 {
			continue
		}
		key := values(f.Setting)
		id := strings.Join(key, "|")
		s := byKey[id]
		if s == nil {
			s = &series{}
			byKey[id] = s
			keys, order = append(keys, key), append(order, id)
		}
		at := plotter.XY{X: float64(f.Setting.Bytes), Y: f.BusBW}
		s.points = append(s.points, at)
		if !f.Usable {
			s.hollow = append(s.hollow, at)
		}
	}
	var lines []series
	for i, id := range order {
		s := byKey[id]
		s.label = label(keys, i)
		slices.SortFunc(s.points, func(a, b plotter.XY) int { return int(math.Copysign(1, a.X-b.X)) })
		lines = append(lines, *s)
	}
	return lines
}

// values are all properties but the size.
func values(s bench.Setting) []string {
	var vs []string
	for _, name := range bench.AxisNames() {
		if name == "bytes" {
			continue
		}
		v, _ := s.Get(name) // the name is from the list
		vs = append(vs, v)
	}
	return vs
}

func label(keys [][]string, i int) string {
	var parts []string
	for j, name := range bench.AxisNames()[:len(keys[i])] {
		for _, other := range keys {
			if other[j] != keys[i][j] {
				parts = append(parts, name+" "+keys[i][j])
				break
			}
		}
	}
	if len(parts) == 0 {
		return "baseline"
	}
	return strings.Join(parts, ", ")
}

// sizeTicks marks every fourth power of two with its size.
type sizeTicks struct{}

func (sizeTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := 0; e < 50; e++ {
		v := float64(int64(1) << e)
		if v < lo || v > hi {
			continue
		}
		t := plot.Tick{Value: v}
		if e%2 == 0 {
			t.Label = bench.FormatBytes(int64(v))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

func write(w io.Writer, p *plot.Plot, format string, width, height vg.Length) error {
	c, err := p.WriterTo(width, height, format)
	if err != nil {
		return err
	}
	_, err = c.WriteTo(w)
	return err
}
