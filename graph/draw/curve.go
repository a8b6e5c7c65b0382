package draw

import "math"

// toward gives the point at a distance from a on the way to b, at most half way.
func toward(a, b point, distance float64) point {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	if length == 0 {
		return a
	}
	t := min(distance/length, 0.5)
	return point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t}
}

// bezier gives a run of cubic curves along a polyline with rounded corners: a
// start, then two control points and an end each.
func bezier(pts []point, radius float64) []point {
	out := []point{pts[0]}
	straight := func(to point) {
		from := out[len(out)-1]
		out = append(out, between(from, to, 1./3), between(from, to, 2./3), to)
	}
	for i := 1; i < len(pts)-1; i++ {
		in := toward(pts[i], pts[i-1], radius)
		exit := toward(pts[i], pts[i+1], radius)
		straight(in)
		out = append(out, between(in, pts[i], 2./3), between(exit, pts[i], 2./3), exit)
	}
	straight(pts[len(pts)-1])
	return out
}

func between(a, b point, t float64) point {
	return point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t}
}
