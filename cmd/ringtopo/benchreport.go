package main

import (
	"context"
	"errors"
	"io"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/bench/chart"
)

// measure runs the experiment and shows what came of it, also of one that an
// interrupt or an error ended.
func (a *app) measure(c *benchCommand, m *benchMachine, res, old *bench.Result, format string) error {
	bar := a.newProgress()
	runErr := bench.Run(a.ctx, m, res, bar.show)
	bar.end()
	switch {
	case runErr == nil:
		return a.report(c, res, old, format)
	case !res.Begun():
		return failedRun(runErr)
	case errors.Is(runErr, context.Canceled):
		a.note("interrupted: what was measured is kept; go on with --resume")
		a.ctx = context.WithoutCancel(a.ctx)
	default:
		a.note("ended by an error: what was measured before it is kept; go on with --resume")
	}
	return errors.Join(failedRun(runErr), a.report(c, res, old, format))
}

// report shows what was measured, and sets it against an older result where it
// is whole.
func (a *app) report(c *benchCommand, res, old *bench.Result, format string) error {
	analysis, err := bench.Analyse(res)
	if err != nil {
		return err
	}
	err = a.emit(c.out, func(w io.Writer) error { return writeBench(w, res, analysis, format, c.view) })
	switch {
	case errors.Is(err, chart.ErrNothing): // what was measured shall not be lost
		table := func(w io.Writer) error { return writeBench(w, res, analysis, "table", c.view) }
		return errors.Join(&codedError{exitUsage, err}, a.print(table))
	case err != nil:
		return err
	case res.Finished && !res.Begun():
		return usage("nothing was measured: %s", firstSkipped(res))
	case !res.Finished || old == nil:
		return nil
	}
	show := a.print
	if format != "table" && c.out.file == "" { // the result is there, for programs
		show = func(write func(io.Writer) error) error { return write(a.err) }
	}
	return compareBench(bench.Compare(old, res, c.tie), show)
}

func writeBench(w io.Writer, res *bench.Result, analysis *bench.Analysis, format, view string) error {
	switch format {
	case "csv":
		return bench.WriteCSV(w, analysis)
	case "json":
		return encode(w, "json", res)
	case "svg", "png":
		if view == "heat" {
			return chart.Heat(w, res, analysis, format)
		}
		return chart.Lines(w, res, analysis, format)
	}
	return writeBenchTable(w, res, analysis)
}

// firstSkipped is why the first setting was left out.
func firstSkipped(res *bench.Result) string {
	for _, m := range res.Points {
		if m.Skipped != "" {
			return m.Skipped
		}
	}
	return "the recipe has no settings"
}
