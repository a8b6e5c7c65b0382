package chart

import (
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// curves draws lines over message sizes, both axes logarithmic: a small message
// moves a thousandth of a large one's bandwidth, and both are of interest. The
// legend stands beside them, where it hides none.
func curves(w io.Writer, lines []series, title, y, format string) error {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "message size", y
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	noisy := false
	for i, s := range lines {
		if err := s.add(p, &legend, i); err != nil {
			return err
		}
		noisy = noisy || len(s.hollow) > 0
	}
	if noisy {
		legend.Add("too noisy to conclude from", &plotter.Scatter{GlyphStyle: noisyStyle})
	}
	span(p, lines)
	return write(w, p, &legend, format)
}

// span sets the axes to what the lines need, with room for the marks. A single
// rank has no bus bandwidth, and nothing has no logarithm: then the values stand
// on a plain axis.
func span(p *plot.Plot, lines []series) {
	x, y := limits{math.Inf(1), math.Inf(-1)}, limits{math.Inf(1), math.Inf(-1)}
	for _, s := range lines {
		for _, at := range s.points {
			x, y = x.with(at.X), y.with(at.Y)
		}
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, sizeTicks{}
	p.X.Min, p.X.Max = x.around()
	if y.lo > 0 {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, valueTicks{}
		p.Y.Min, p.Y.Max = y.around()
	}
}

// limits are the least and the greatest of some values.
type limits struct{ lo, hi float64 }

func (l limits) with(v float64) limits { return limits{min(l.lo, v), max(l.hi, v)} }

// around is a little more than the limits, by factors.
func (l limits) around() (lo, hi float64) {
	if l.lo == l.hi {
		return l.lo / 2, l.hi * 2
	}
	return l.lo / 1.15, l.hi * 1.15
}

// noisyStyle is the circle around a point that is too noisy.
var noisyStyle = draw.GlyphStyle{Shape: draw.RingGlyph{}, Radius: 6, Color: color.Black}

func (s series) add(p *plot.Plot, legend *plot.Legend, i int) error {
	line, points, err := plotter.NewLinePoints(s.points)
	if err != nil {
		return err
	}
	line.Color, points.Color = palette[i%len(palette)], palette[i%len(palette)]
	line.Dashes = dashes[i/len(palette)%len(dashes)]
	line.Width = 1.5
	points.Shape, points.Radius = marks[(i+3*(i/len(palette)))%len(marks)], 3 // a colour's second line has another mark
	p.Add(line, points)
	legend.Add(s.label, line, points)
	if len(s.hollow) == 0 {
		return nil
	}
	noisy, err := plotter.NewScatter(s.hollow)
	if err != nil {
		return err
	}
	noisy.GlyphStyle = noisyStyle
	p.Add(noisy)
	return nil
}
