package chart

import (
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/ringtopo/ringtopo/allreduce/contest"
)

// Peer draws the time of a call over the size of the message, ours beside NCCL's,
// both axes logarithmic: a line for each of them, type, place and way of calling.
// Format is svg or png.
func Peer(w io.Writer, r *contest.Report, format string) error {
	lines := contestants(r)
	if len(lines) == 0 {
		return fmt.Errorf("%w: no size was measured", ErrNothing)
	}
	title := "AllReduce beside NCCL " + r.NCCL.Version + "\n" + r.Class.String()
	return curves(w, lines, title, "us per call", format)
}

// contestants makes the lines, each labelled with what tells it from others.
func contestants(r *contest.Report) (lines []series) {
	at := map[string]int{}
	for i := range r.Results {
		x := &r.Results[i]
		for j := range x.Series {
			s := &x.Series[j]
			us := s.Median()
			if us <= 0 {
				continue // no logarithm
			}
			name := whose(r, x, s.Name)
			k, ok := at[name]
			if !ok {
				k = len(lines)
				at[name], lines = k, append(lines, series{label: name})
			}
			lines[k].points = append(lines[k].points, plotter.XY{X: float64(x.Bytes), Y: us})
		}
	}
	return lines
}

// whose names a contestant, with the type, place and way of calling that are not
// the same in the whole report.
func whose(r *contest.Report, x *contest.Result, name string) string {
	first := &r.Results[0]
	parts := []string{map[string]string{contest.Ours: "ringtopo", contest.Plain: "NCCL", contest.Symmetric: "NCCL, symmetric windows"}[name]}
	var types, places, hows bool
	for i := range r.Results {
		o := &r.Results[i]
		types, places, hows = types || o.DType != first.DType, places || o.InPlace != first.InPlace, hows || o.How != first.How
	}
	if types {
		parts = append(parts, x.DType.String())
	}
	if places {
		parts = append(parts, map[bool]string{false: "out of place", true: "in place"}[x.InPlace])
	}
	if hows {
		parts = append(parts, string(x.How))
	}
	return strings.Join(parts, ", ")
}
