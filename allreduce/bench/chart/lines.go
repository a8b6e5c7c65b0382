package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// ErrNothing is returned where a result holds nothing that can be drawn.
var ErrNothing = errors.New("there is nothing to draw")

// Lines draws bus bandwidth over message size, one line per setting. Format is
// svg or png.
func Lines(w io.Writer, r *bench.Result, a *bench.Analysis, format string) error {
	lines := group(a)
	if len(lines) == 0 {
		return fmt.Errorf("%w: no setting was measured", ErrNothing)
	}
	title := r.Recipe.Name + ": " + r.Recipe.About + "\n" + r.On()
	return curves(w, lines, title, "bus bandwidth, GB/s", format)
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
	for _, i := range inOrder(keys) {
		id := order[i]
		s := byKey[id]
		s.label = label(keys, i)
		slices.SortFunc(s.points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		lines = append(lines, *s)
	}
	return lines
}

// inOrder gives the places of keys in the order of their values, so that a
// legend counts up however the experiment went about it.
func inOrder(keys [][]string) []int {
	places := make([]int, len(keys))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return slices.CompareFunc(keys[a], keys[b], byValue) })
	return places
}

// byValue compares sizes and counts as numbers, anything else as text.
func byValue(a, b string) int {
	x, errX := bench.ParseBytes(a)
	y, errY := bench.ParseBytes(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
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
