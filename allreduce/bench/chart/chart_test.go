package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/bench/chart"
)

func result(t *testing.T) (*bench.Result, *bench.Analysis) {
	t.Helper()
	r, err := bench.ReadRecipe(strings.NewReader(`
name: made up
about: a test
baseline: {channels: "1", bytes: 1KiB}
vary: {channels: ["4"], proto: [LL], bytes: [64KiB, 4MiB]}
grid: {channels: ["1", "4", "8"], bytes: [1KiB, 64KiB, 4MiB]}
interact: true
`), "r")
	if err != nil {
		t.Fatal(err)
	}
	points, err := r.Points()
	if err != nil {
		t.Fatal(err)
	}
	res := &bench.Result{Schema: bench.Schema, Engine: "host", Recipe: r}
	add := func(p bench.Point) {
		us := 20 + float64(p.Setting.Bytes)/float64(1000*max(1, p.Setting.Channels))
		if p.Setting.Proto == "LL" {
			us /= 2
		}
		noise := us / 100
		if p.Setting.Channels == 8 {
			noise = us / 2
		}
		res.Points = append(res.Points, bench.Measurement{Point: p, Passes: [][]float64{{us - noise, us}, {us, us + noise}}})
	}
	for _, p := range points {
		add(p)
	}
	joint, err := bench.Joint(res)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range joint {
		add(p)
	}
	a, err := bench.Analyse(res)
	if err != nil {
		t.Fatal(err)
	}
	return res, a
}

type drawing func(io.Writer, *bench.Result, *bench.Analysis, string) error

func TestPictures(t *testing.T) {
	res, a := result(t)
	for name, draw := range map[string]drawing{"lines": chart.Lines, "heat": chart.Heat} {
		var svg, again, raster bytes.Buffer
		for _, w := range []*bytes.Buffer{&svg, &again} {
			if err := draw(w, res, a, "svg"); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !bytes.Equal(svg.Bytes(), again.Bytes()) {
			t.Errorf("%s: two drawings differ", name)
		}
		if err := xml.Unmarshal(svg.Bytes(), new(struct{})); err != nil {
			t.Errorf("%s: not XML: %v", name, err)
		}
		if err := draw(&raster, res, a, "png"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := png.Decode(bytes.NewReader(raster.Bytes())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if dir := os.Getenv("RINGTOPO_KEEP_PICTURES"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".png"), raster.Bytes(), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLegendNamesWhatDiffers(t *testing.T) {
	res, a := result(t)
	var svg bytes.Buffer
	if err := chart.Lines(&svg, res, a, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"channels 4", "channels 8", "proto LL", "64KiB", "GB/s"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if strings.Contains(svg.String(), "world 4") {
		t.Error("the legend names a property that is the same everywhere")
	}
}

func TestNothingToDraw(t *testing.T) {
	res, _ := result(t)
	for _, draw := range []drawing{chart.Lines, chart.Heat} {
		if err := draw(io.Discard, res, &bench.Analysis{}, "svg"); !errors.Is(err, chart.ErrNothing) {
			t.Errorf("error %v, want that there is nothing", err)
		}
	}
}
