package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// writeBenchTable writes a sweep as nccl-tests does, any other experiment with
// a line per setting and what differs from the baseline.
func writeBenchTable(w io.Writer, res *bench.Result, a *bench.Analysis) error {
	if res.Recipe.Name == "sweep" {
		return writeSweep(w, res, a)
	}
	if err := writeBenchHead(w, res); err != nil {
		return err
	}
	names := varied(res.Recipe)
	t := newTable()
	head := table.Row{}
	for _, n := range names {
		head = append(head, n)
	}
	t.AppendHeader(append(head, "us", "P95", "CV %", "busbw", "ratio", ""))
	for i := range a.Findings {
		f := &a.Findings[i]
		line := table.Row{}
		for _, n := range names {
			v, _ := f.Setting.Get(n) // the name is from the recipe
			line = append(line, v)
		}
		t.AppendRow(append(line, figures(f)...))
	}
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	return writeInteractions(w, a)
}

func varied(r *bench.Recipe) (names []string) {
	for _, n := range bench.AxisNames() {
		if len(r.Vary[n]) > 0 || len(r.Grid[n]) > 0 {
			names = append(names, n)
		}
	}
	return names
}

func figures(f *bench.Finding) []any {
	if f.Stats.N == 0 {
		why := f.Skipped
		if why == "" {
			why = "not measured"
		}
		return []any{"", "", "", "", "", why}
	}
	ratio := ""
	if f.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", f.Ratio)
	}
	return []any{
		fmt.Sprintf("%.1f", f.Stats.Median), fmt.Sprintf("%.1f", f.Stats.P95), fmt.Sprintf("%.1f", 100*f.Stats.CV),
		fmt.Sprintf("%.2f", f.BusBW), ratio, remark(f),
	}
}

// remark says what may be concluded.
func remark(f *bench.Finding) string {
	var notes []string
	switch {
	case len(f.Axes) == 0:
		notes = append(notes, "baseline")
	case !f.Usable:
		notes = append(notes, "too noisy to conclude from")
	case f.Tie:
		notes = append(notes, "tie with the baseline")
	}
	if f.Ran != nil && (f.Ran.Algo != f.Setting.Algo || f.Ran.Proto != f.Setting.Proto) {
		notes = append(notes, "ran as "+ranBy(f))
	}
	return strings.Join(notes, ", ")
}

func writeBenchHead(w io.Writer, res *bench.Result) error {
	r := res.Recipe
	state := ""
	if !res.Finished {
		state = " (not finished: incomplete)"
	}
	start, err := r.Start()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `# %s: %s%s
# ran on %s, rings of %s
# baseline %v
# %d passes of %d + %d runs; CV limit %.0f %%, ties within %.0f %%
`, r.Name, r.About, state, res.On(), strings.Join(res.Machine, " + "), start, r.Cycles, r.Warmup, r.Iterations, 100*r.CVLimit, 100*r.Tie)
	if err == nil && res.Engine == "host" {
		_, err = fmt.Fprintln(w, "# bandwidth is that of this host's memory, not of the machine's links")
	}
	return err
}

func writeInteractions(w io.Writer, a *bench.Analysis) error {
	if len(a.Interactions) == 0 {
		return nil
	}
	t := newTable()
	t.AppendHeader(table.Row{"Together", "Predicted us", "Measured us", "Residual %", ""})
	for _, x := range a.Interactions {
		note := ""
		if !x.Usable {
			note = "too noisy to conclude from"
		}
		t.AppendRow(table.Row{fmt.Sprintf("%s %s, %s %s", x.A, x.LevelA, x.B, x.LevelB),
			fmt.Sprintf("%.1f", x.Predicted), fmt.Sprintf("%.1f", x.Measured), fmt.Sprintf("%+.1f", x.Residual), note})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// writeSweep writes the table of nccl-tests: each size out of place and in.
func writeSweep(w io.Writer, res *bench.Result, a *bench.Analysis) error {
	if err := writeBenchHead(w, res); err != nil {
		return err
	}
	fmt.Fprintf(w, "#\n#%65s%44s\n", "out-of-place", "in-place")
	fmt.Fprintf(w, "#%11s %13s %9s %7s %6s %9s %7s %7s %7s %9s %7s %7s %7s   %s\n",
		"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong", "ran as")
	fmt.Fprintf(w, "#%11s %13s %9s %7s %6s %9s %7s %7s %7s %9s %7s %7s %7s\n",
		"(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "")
	var sum float64
	n := 0
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Setting.InPlace {
			continue
		}
		s := f.Setting
		fmt.Fprintf(w, "%12d %13d %9s %7s %6d", s.Bytes, s.Bytes/int64(s.DType.Size()), s.DType, s.Op, -1)
		for _, half := range []*bench.Finding{f, inPlace(a, s)} {
			if half == nil || half.Stats.N == 0 {
				fmt.Fprintf(w, " %9s %7s %7s %7s", "-", "-", "-", "-")
				continue
			}
			fmt.Fprintf(w, " %9.2f %7.2f %7.2f %7d", half.Stats.Median, half.AlgBW, half.BusBW, 0)
			sum += half.BusBW
			n++
		}
		fmt.Fprintf(w, "   %s\n", ranAs(f))
	}
	if n > 0 {
		fmt.Fprintf(w, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %.4f\n", sum/float64(n))
	}
	return nil
}

func ranAs(f *bench.Finding) string {
	if f.Ran == nil {
		return f.Skipped
	}
	noise := ""
	if !f.Usable {
		noise = fmt.Sprintf(" (CV %.0f %%)", 100*f.Stats.CV)
	}
	if f.Ran.By != "" {
		return ranBy(f) + noise
	}
	return fmt.Sprintf("%s x %d%s", ranBy(f), f.Ran.Channels, noise)
}

// ranBy says what ran, and where the choice comes from if the best was asked for.
func ranBy(f *bench.Finding) string {
	if f.Setting.Algo != bench.Best {
		return f.Ran.String()
	}
	return fmt.Sprintf("%s (%s)", f.Ran, f.Ran.From)
}

func inPlace(a *bench.Analysis, s bench.Setting) *bench.Finding {
	s.InPlace = true
	for i := range a.Findings {
		if a.Findings[i].Setting == s {
			return &a.Findings[i]
		}
	}
	return nil
}
