package paint

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// path gives the outline of a figure.
func path(kind string, a attrs) ([]Segment, error) {
	switch kind {
	case "path":
		return pathData(a["d"])
	case "ellipse":
		return ellipse(a)
	}
	v, err := numbers(a["points"])
	if err != nil || len(v) < 4 || len(v)%2 != 0 {
		return nil, fmt.Errorf("%s points %q", kind, a["points"])
	}
	out := []Segment{{'M', points(v[:2])}}
	for i := 2; i < len(v); i += 2 {
		out = append(out, Segment{'L', points(v[i : i+2])})
	}
	if kind == "polygon" {
		out = append(out, Segment{Kind: 'Z'})
	}
	return out, nil
}

// pathData reads the commands M, L, C and Z with absolute places.
func pathData(d string) ([]Segment, error) {
	per := map[byte]int{'M': 2, 'L': 2, 'C': 6, 'Z': 0}
	var out []Segment
	for rest := strings.TrimSpace(d); rest != ""; {
		kind := rest[0]
		n, ok := per[kind]
		if !ok {
			return nil, fmt.Errorf("path %q: unknown command %q", d, kind)
		}
		end := strings.IndexAny(rest[1:], "MLCZ") + 1
		if end == 0 {
			end = len(rest)
		}
		v, err := numbers(rest[1:end])
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", d, err)
		}
		if n == 0 && len(v) > 0 || n > 0 && (len(v) == 0 || len(v)%n != 0) {
			return nil, fmt.Errorf("path %q: %d numbers after %c", d, len(v), kind)
		}
		if n == 0 {
			out = append(out, Segment{Kind: kind})
		}
		for ; len(v) > 0; v = v[n:] {
			out = append(out, Segment{kind, points(v[:n])})
		}
		rest = strings.TrimSpace(rest[end:])
	}
	if len(out) == 0 || out[0].Kind != 'M' {
		return nil, fmt.Errorf("path %q does not begin with M", d)
	}
	return out, nil
}

func ellipse(a attrs) ([]Segment, error) {
	var v [4]float64
	for i, name := range []string{"cx", "cy", "rx", "ry"} {
		var err error
		if v[i], err = strconv.ParseFloat(a[name], 64); err != nil {
			return nil, fmt.Errorf("ellipse %s=%q: %w", name, a[name], err)
		}
	}
	// Four cubic curves come within 0.03 % of an ellipse.
	const k = 4 * (math.Sqrt2 - 1) / 3
	cx, cy, rx, ry := v[0], v[1], v[2], v[3]
	at := func(x, y float64) Point { return Point{cx + x*rx, cy + y*ry} }
	return []Segment{
		{'M', []Point{at(1, 0)}},
		{'C', []Point{at(1, k), at(k, 1), at(0, 1)}},
		{'C', []Point{at(-k, 1), at(-1, k), at(-1, 0)}},
		{'C', []Point{at(-1, -k), at(-k, -1), at(0, -1)}},
		{'C', []Point{at(k, -1), at(1, -k), at(1, 0)}},
		{Kind: 'Z'},
	}, nil
}

func points(v []float64) []Point {
	out := make([]Point, len(v)/2)
	for i := range out {
		out[i] = Point{v[2*i], v[2*i+1]}
	}
	return out
}
