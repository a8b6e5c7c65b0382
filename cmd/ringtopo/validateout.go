package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/allreduce"
)

// writeValidation writes the rings with their hops, then a row per run, then
// the verdict.
func writeValidation(w io.Writer, v *validator, format string) error {
	if format == "table" {
		if _, err := fmt.Fprintf(w, "Engine: %s\n\n%s\n\n", v.report.Engine, ringTable(v).Render()); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w, render(runTable(v), format)); err != nil || format != "table" {
		return err
	}
	for _, n := range v.report.Notes {
		if _, err := fmt.Fprintf(w, "\n* %s", n); err != nil {
			return err
		}
	}
	verdict := "PASSED"
	if !v.report.OK {
		verdict = "FAILED"
	}
	_, err := fmt.Fprintf(w, "\n\n%s: %s\n", verdict, v.verdict())
	return err
}

func ringTable(v *validator) table.Writer {
	t := newTable()
	t.AppendHeader(table.Row{"Channels", "Ring", "Hops: type GB/s", "Slowest hop", "Predicted busbw GB/s"})
	for i := range v.rings {
		r := &v.rings[i]
		var hops []string
		for _, h := range r.hops {
			hops = append(hops, fmt.Sprintf("%s %.1f", h.Type, h.BW))
		}
		t.AppendRow(table.Row{lines(ints(r.channels), 6), lines(ints(r.order), 8), lines(hops, 4), hopText(r.slowest()), bandwidthText(r.predicted)})
	}
	alignRight(t, "Predicted busbw GB/s")
	return t
}

func runTable(v *validator) table.Writer {
	t := newTable()
	t.AppendHeader(table.Row{"Channels", "Ring", "Algo", "Proto", "Type", "Op", "Size", "In place", "Time us", "algbw GB/s", "busbw GB/s", "Predicted", "Slowest hop", "Wrong"})
	for i := range v.report.Runs {
		r := &v.report.Runs[i]
		wrong := fmt.Sprint(r.Wrong)
		if r.TimeUs == 0 {
			wrong = "did not end"
		}
		t.AppendRow(table.Row{channelRange(r.Channels), strings.Join(ints(r.Ring), " "), r.Algo.String(), r.Proto.String(), r.DType.String(), r.Op.String(),
			sizeText(r.Bytes), yesNo(r.InPlace), figure(r.TimeUs), figure(r.AlgBW), figure(r.BusBW), bandwidthText(r.PredictedBusBW), hopText(r.SlowestHop), wrong})
	}
	alignRight(t, "Size", "Time us", "algbw GB/s", "busbw GB/s", "Predicted", "Wrong")
	return t
}

// verdict is the result in one line.
func (v *validator) verdict() string {
	if len(v.failures) == 0 {
		if k := v.options.fault.Kind; k != allreduce.NoFault {
			return fmt.Sprintf("the injected %s went unnoticed in %s", k, count(len(v.report.Runs), "run"))
		}
		return fmt.Sprintf("%s, every bit as it must be", count(len(v.report.Runs), "run"))
	}
	s := fmt.Sprintf("%d of %s: %s", len(v.failures), count(len(v.report.Runs), "run"), v.failures[0])
	if k := v.options.fault.Kind; k != allreduce.NoFault {
		s = fmt.Sprintf("the injected %s was caught: %s", k, v.failures[0])
	}
	return s
}

// runText names a run in a sentence.
func runText(r *allreduce.Run) string {
	where := "all channels"
	if r.Ring != nil {
		where = fmt.Sprintf("channel %d (ring %s)", r.Channels[0], strings.Join(ints(r.Ring), " "))
	}
	return fmt.Sprintf("%s, %s/%s %s %s of %s", where, r.Algo, r.Proto, r.DType, r.Op, sizeText(r.Bytes))
}

func hopText(h *allreduce.Hop) string {
	if h == nil {
		return ""
	}
	return fmt.Sprintf("%d > %d  %s %.1f", h.From, h.To, h.Type, h.BW)
}

func bandwidthText(bw float64) string {
	if bw == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", bw)
}

// figure writes a measured figure; 0 was not measured.
func figure(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// channelRange writes channels shortly: 0-11, or 0 2 5.
func channelRange(list []int) string {
	if n := len(list); n > 2 && list[n-1]-list[0] == n-1 {
		return fmt.Sprintf("%d-%d", list[0], list[n-1])
	}
	return strings.Join(ints(list), " ")
}
