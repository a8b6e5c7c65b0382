package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/allreduce/fifo"
)

// modelJSON is ringtopo model -o json, schema ringtopo.model/v1.
type modelJSON struct {
	Schema string          `json:"schema"`
	OK     bool            `json:"ok"`
	States int             `json:"states"` // of all cases together
	Cases  []modelCaseJSON `json:"cases"`
}

type modelCaseJSON struct {
	Name   string         `json:"name"`
	OK     bool           `json:"ok"`
	Fault  string         `json:"fault"` // in words
	Want   []fifo.EndKind `json:"want"`
	Case   fifo.Case      `json:"case"`
	States int            `json:"states"`
	Ends   []fifo.End     `json:"ends"`
}

func newModelJSON(cases []explored) modelJSON {
	out := modelJSON{Schema: "ringtopo.model/v1", OK: true}
	for _, c := range cases {
		out.OK = out.OK && c.err == nil
		out.States += c.result.States
		out.Cases = append(out.Cases, modelCaseJSON{c.entry.Name(), c.err == nil, c.entry.Case.Fault.Text(), c.entry.Want,
			c.entry.Case, c.result.States, c.result.Ends})
	}
	return out
}

// writeModel writes the matrix, and the traces if asked for.
func writeModel(w io.Writer, cases []explored, format string, traces bool) error {
	t := newTable()
	t.AppendHeader(table.Row{"Protocol", "Slots", "Case", "States", "Ends", "Sender stops after", "Shortest trace", "As it must"})
	total := 0
	for i, c := range cases {
		if i > 0 && c.entry.Case.Proto != cases[i-1].entry.Case.Proto {
			t.AppendSeparator()
		}
		t.AppendRow(modelRow(c))
		total += c.result.States
	}
	alignRight(t, "States", "Sender stops after", "Shortest trace")
	if _, err := fmt.Fprintln(w, render(t, format)); err != nil || format != "table" {
		return err
	}
	if _, err := fmt.Fprintf(w, "\n%s, %d states, every interleaving of each\n", count(len(cases), "case"), total); err != nil || !traces {
		return err
	}
	return writeTraces(w, cases)
}

func modelRow(c explored) table.Row {
	var ends []string
	stops, trace := "", ""
	for _, e := range c.result.Ends {
		ends = append(ends, string(e.Kind))
		if e.Kind == fifo.Stuck {
			stops = stepRange(e.Sender)
		}
		if e.Kind != fifo.Finished || len(c.result.Ends) == 1 {
			trace = fmt.Sprint(len(e.Trace))
		}
	}
	verdict := "yes"
	if c.err != nil {
		verdict = "NO: " + c.err.Error()
	}
	return table.Row{c.entry.Case.Proto.String(), c.entry.Case.Slots, modelText(c.entry.Case), c.result.States, strings.Join(ends, ", "), stops, trace, verdict}
}

// modelText says what a case is about, in words.
func modelText(c fifo.Case) string {
	s := c.Fault.Text()
	if c.Fault == fifo.None {
		s = "whole"
	}
	if c.StepsPerPost > 1 {
		s += fmt.Sprintf(", slices of %d steps", c.StepsPerPost)
	}
	if c.FlagBits > 0 {
		s += fmt.Sprintf(", flags of %d bits", c.FlagBits)
	}
	if c.Start > 0 {
		s += fmt.Sprintf(", from step %d", c.Start)
	}
	if c.Short() {
		s += ", no more steps than slots"
	}
	return s
}

func stepRange(r [2]int) string {
	if r[0] == r[1] {
		return count(r[0], "step")
	}
	return fmt.Sprintf("%d to %d steps", r[0], r[1])
}

// writeTraces tells the shortest way to each end that is not a good one; to the
// good one where there is no other.
func writeTraces(w io.Writer, cases []explored) error {
	for _, c := range cases {
		for _, e := range c.result.Ends {
			if e.Kind == fifo.Finished && len(c.result.Ends) > 1 {
				continue
			}
			if _, err := fmt.Fprintf(w, "\n%v, %s, %s: %s\n  %s\n", c.entry.Case.Proto, count(c.entry.Case.Slots, "slot"), modelText(c.entry.Case), e.Kind, e.Why); err != nil {
				return err
			}
			for i, ev := range e.Trace {
				if _, err := fmt.Fprintf(w, "  %3d  %-8s  %s\n", i+1, ev.Who, ev.Does); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
