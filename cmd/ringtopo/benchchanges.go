package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// compareBench shows what changed since an older result; slower settings make
// it fail.
func compareBench(c *bench.Comparison, show func(func(io.Writer) error) error) error {
	if err := show(func(w io.Writer) error { return writeChanges(w, c) }); err != nil {
		return err
	}
	if c.Slower() {
		return &codedError{exitFailed, fmt.Errorf("settings got slower")}
	}
	return nil
}

// writeChanges has a column for each property in which settings differ; what they
// share stands above.
func writeChanges(w io.Writer, c *bench.Comparison) error {
	varied, shared := properties(c.Changes)
	if len(shared) > 0 {
		fmt.Fprintf(w, "# all with %s\n", strings.Join(shared, " "))
	}
	t := newTable()
	head := table.Row{}
	for _, name := range varied {
		head = append(head, name)
	}
	t.AppendHeader(append(head, "Then us", "Now us", "Ratio", "Verdict"))
	for _, ch := range c.Changes {
		line := table.Row{}
		for _, name := range varied {
			line = append(line, property(ch.Setting, name))
		}
		t.AppendRow(append(line, orNone("%.1f", ch.Old.Median, ch.Old.N > 0), orNone("%.1f", ch.New.Median, ch.New.N > 0),
			orNone("%.2f", ch.Ratio, ch.Ratio > 0), ch.Verdict))
	}
	_, err := fmt.Fprintln(w, t.Render())
	for _, u := range c.Unlike {
		fmt.Fprintf(w, "# not alike: %s\n", u)
	}
	return err
}

// properties names those in which settings differ, and writes out the others.
func properties(changes []bench.Change) (varied, shared []string) {
	for _, name := range bench.AxisNames() {
		values := map[string]bool{}
		for _, ch := range changes {
			values[property(ch.Setting, name)] = true
		}
		switch len(values) {
		case 0:
		case 1:
			shared = append(shared, name+"="+property(changes[0].Setting, name))
		default:
			varied = append(varied, name)
		}
	}
	return varied, shared
}

// property writes one of a setting; the name is one of bench.AxisNames.
func property(s bench.Setting, name string) string {
	v, _ := s.Get(name)
	return v
}

// orNone writes a figure, or nothing where there is none.
func orNone(format string, v float64, is bool) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, v)
}
