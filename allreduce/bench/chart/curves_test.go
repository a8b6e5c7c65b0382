package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/bench/chart"
)

// word is a piece of text in an SVG picture and where it begins.
type word struct {
	X    string `xml:"x,attr"`
	Y    string `xml:"y,attr"`
	Text string `xml:",chardata"`
}

// words gives the texts of an SVG picture in the order of drawing.
func words(t interface{ Fatalf(string, ...any) }, svg []byte) (all []word) {
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var w word
			if err := dec.DecodeElement(&w, &start); err != nil {
				t.Fatalf("text: %v", err)
			}
			all = append(all, w)
		}
	}
}

// legend gives the texts to the right of the plot: they begin at the same place.
func legend(t interface{ Fatalf(string, ...any) }, svg []byte) (entries []string) {
	all := words(t, svg)
	right := 0.0
	for _, w := range all {
		x, err := strconv.ParseFloat(w.X, 64)
		if err != nil {
			t.Fatalf("place of %q: %v", w.Text, err)
		}
		if x > right {
			right, entries = x, nil
		}
		if x == right {
			entries = append(entries, w.Text)
		}
	}
	return entries
}

// The legend counts up whatever came first in the experiment, and says what a
// circle is where there is one.
func TestLegendCountsUp(t *testing.T) {
	res, a := result(t)
	slices.Reverse(a.Findings)
	var svg bytes.Buffer
	if err := chart.Lines(&svg, res, a, "svg"); err != nil {
		t.Fatal(err)
	}
	const noisy = "too noisy to conclude from"
	got := legend(t, svg.Bytes())
	var channels []string
	for _, entry := range got {
		if _, n, ok := strings.Cut(entry, "proto Simple, channels "); ok {
			channels = append(channels, n)
		}
	}
	if want := []string{"1", "4", "8"}; !slices.Equal(channels, want) {
		t.Errorf("channels %q in legend %q, want %q", channels, got, want)
	}
	if got[len(got)-1] != noisy {
		t.Errorf("legend %q does not explain circles", got)
	}
	for i := range a.Findings {
		a.Findings[i].Usable = true
	}
	svg.Reset()
	if err := chart.Lines(&svg, res, a, "svg"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(svg.String(), noisy) {
		t.Error("explains circles that are not there")
	}
}

// made is an experiment of one line per channel count and a point per size.
func made(bandwidths map[int64][]float64) (*bench.Result, *bench.Analysis) {
	a := &bench.Analysis{}
	for bytes, list := range bandwidths {
		for i, bw := range list {
			f := bench.Finding{BusBW: bw, Usable: true}
			f.Stats.N = 1
			f.Setting.Bytes, f.Setting.Channels = bytes, i+1
			a.Findings = append(a.Findings, f)
		}
	}
	return &bench.Result{Engine: "host", Recipe: &bench.Recipe{Name: "made up", About: "a test"}}, a
}

// sizesNamed gives the texts of the axis of sizes: the row that is drawn after
// what the axis is called.
func sizesNamed(all []word) (row []word) {
	at := slices.IndexFunc(all, func(w word) bool { return w.Text == "message size" })
	for _, w := range all[at+1:] {
		if _, err := bench.ParseBytes(w.Text); err != nil || len(row) > 0 && row[0].Y != w.Y {
			break
		}
		row = append(row, w)
	}
	return row
}

// Whatever was measured, the picture is whole: an empty edge around it, sizes and
// bandwidths named on the axes, every line in the legend.
func TestAnythingCanBeDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.IntRange(1, 30).Draw(t, "lines")
		least := rapid.SampledFrom([]float64{0, 1e-6, 1, 300}).Draw(t, "least")
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<40), 1, 6, rapid.ID).Draw(t, "sizes")
		data := map[int64][]float64{}
		for _, size := range sizes {
			data[size] = rapid.SliceOfN(rapid.Float64Range(least, 400), lines, lines).Draw(t, fmt.Sprint(size))
		}
		res, a := made(data)
		var svg, raster bytes.Buffer
		for format, w := range map[string]io.Writer{"svg": &svg, "png": &raster} {
			if err := chart.Lines(w, res, a, format); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
		if n := len(sizesNamed(words(t, svg.Bytes()))); n < 1 || n > 16 {
			t.Errorf("%d sizes are named", n)
		}
		if got := legend(t, svg.Bytes()); lines > 1 && len(got) != lines {
			t.Errorf("%d lines, legend %q", lines, got)
		}
		hasEmptyEdge(t, raster.Bytes())
	})
}

func hasEmptyEdge(t interface{ Fatalf(string, ...any) }, raster []byte) {
	img, err := png.Decode(bytes.NewReader(raster))
	if err != nil {
		t.Fatalf("no PNG: %v", err)
	}
	b := img.Bounds()
	white := func(x, y int) {
		if r, g, b, _ := img.At(x, y).RGBA(); r+g+b != 3*0xffff {
			t.Fatalf("something is cut off at %d,%d: %v", x, y, color.RGBAModel.Convert(img.At(x, y)))
		}
	}
	for x := b.Min.X; x < b.Max.X; x++ {
		white(x, b.Min.Y)
		white(x, b.Max.Y-1)
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		white(b.Min.X, y)
		white(b.Max.X-1, y)
	}
}

// The edges of heat maps and of comparisons are empty, too.
func TestNothingIsCutOff(t *testing.T) {
	res, a := result(t)
	var heat, peer bytes.Buffer
	if err := chart.Heat(&heat, res, a, "png"); err != nil {
		t.Fatal(err)
	}
	hasEmptyEdge(t, heat.Bytes())
	if err := chart.Peer(&peer, compared("graph", "stream"), "png"); err != nil {
		t.Fatal(err)
	}
	hasEmptyEdge(t, peer.Bytes())
}
