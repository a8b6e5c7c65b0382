package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// Heat draws the interactions of an experiment: for each pair of settings how
// much slower (orange) or faster (blue) they are together than each alone
// predicts, in percent. A pair that is too noisy has its figure in brackets.
func Heat(w io.Writer, r *bench.Result, a *bench.Analysis, format string) error {
	g := newResiduals(a.Interactions)
	if len(g.names) == 0 {
		return fmt.Errorf("%w: the experiment has no interactions", ErrNothing)
	}
	p := plot.New()
	p.Title.Text = r.Recipe.Name + ": joint time against prediction, percent, below 0 is faster\n" + r.On()
	heat := plotter.NewHeatMap(g, diverging{})
	heat.Min, heat.Max = -g.limit(), g.limit()
	heat.NaN = color.White
	p.Add(heat)
	labels, err := plotter.NewLabels(g.labels())
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
	}
	p.Add(labels)
	p.NominalX(g.names...)
	p.NominalY(g.names...)
	side := vg.Length(4+len(g.names)) * vg.Inch
	return page(w, format, side, side*3/4, p.Draw)
}

// residuals is a square table of interactions, NaN where there is none.
type residuals struct {
	names  []string // axis and level
	values [][]float64
	texts  [][]string
}

func newResiduals(list []bench.Interaction) *residuals {
	g := &residuals{}
	at := func(axis, level string) int {
		name := axis + " " + level
		i := slices.Index(g.names, name)
		if i < 0 {
			i = len(g.names)
			g.names = append(g.names, name)
		}
		return i
	}
	for _, x := range list {
		at(x.A, x.LevelA)
		at(x.B, x.LevelB)
	}
	g.values, g.texts = make([][]float64, len(g.names)), make([][]string, len(g.names))
	for i := range g.values {
		g.values[i], g.texts[i] = slices.Repeat([]float64{math.NaN()}, len(g.names)), make([]string, len(g.names))
	}
	for _, x := range list {
		i, j := at(x.A, x.LevelA), at(x.B, x.LevelB)
		text := fmt.Sprintf("%+.0f", x.Residual)
		if !x.Usable {
			text = "(" + text + ")"
		}
		g.values[i][j], g.values[j][i] = x.Residual, x.Residual
		g.texts[i][j], g.texts[j][i] = text, text
	}
	return g
}

// limit is the colour scale's end: the largest residual, at least 10 percent.
func (g *residuals) limit() float64 {
	most := 10.0
	for _, row := range g.values {
		for _, v := range row {
			if !math.IsNaN(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return most
}

func (g *residuals) labels() plotter.XYLabels {
	var l plotter.XYLabels
	for i, row := range g.texts {
		for j, text := range row {
			if text != "" {
				l.XYs = append(l.XYs, plotter.XY{X: float64(j), Y: float64(i)})
				l.Labels = append(l.Labels, text)
			}
		}
	}
	return l
}

// Dims, X, Y and Z are what a heat map asks of its data.
func (g *residuals) Dims() (c, r int)   { return len(g.names), len(g.names) }
func (g *residuals) X(c int) float64    { return float64(c) }
func (g *residuals) Y(r int) float64    { return float64(r) }
func (g *residuals) Z(c, r int) float64 { return g.values[r][c] }

// diverging runs from blue over white to orange.
type diverging struct{}

// Colors gives the scale in steps.
func (diverging) Colors() []color.Color {
	const steps = 101
	blue, orange := palette[0], palette[1]
	mix := func(c color.RGBA, t float64) color.Color {
		f := func(v uint8) uint8 { return uint8(255 - t*(255-float64(v))) }
		return color.RGBA{f(c.R), f(c.G), f(c.B), 255}
	}
	cs := make([]color.Color, steps)
	for i := range cs {
		t := 2*float64(i)/(steps-1) - 1
		if t < 0 {
			cs[i] = mix(blue, -t)
		} else {
			cs[i] = mix(orange, t)
		}
	}
	return cs
}
