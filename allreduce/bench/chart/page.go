package chart

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// margin is the empty edge around a picture.
const margin = vg.Inch / 8

// write puts a plot on a page with its legend to the right. The page grows with
// the legend.
func write(w io.Writer, p *plot.Plot, legend *plot.Legend, format string) error {
	legend.Top, legend.Left, legend.Padding = true, true, 3
	need := legend.Rectangle(draw.Canvas{}).Size()
	title := p.Title.TextStyle.Height(p.Title.Text) + p.Title.TextStyle.FontExtents().Height
	width, height := 7*vg.Inch+need.X+4*margin, max(5*vg.Inch, need.Y+title+2*margin)
	return page(w, format, width, height, func(c draw.Canvas) {
		p.Draw(draw.Crop(c, 0, -need.X-2*margin, 0, 0))
		legend.Draw(draw.Crop(c, c.Size().X-need.X-margin, 0, 0, -title))
	})
}

// page makes a white page with a margin and has it drawn on. Format is svg or png.
func page(w io.Writer, format string, width, height vg.Length, paint func(draw.Canvas)) error {
	sheet, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return err
	}
	c := draw.New(sheet)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	paint(draw.Crop(c, margin, -margin, margin, -margin))
	_, err = sheet.WriteTo(w)
	return err
}
