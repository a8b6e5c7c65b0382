package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
)

// tuned is the file that a new table goes into, and what it holds already.
func tuned(c *benchCommand) (path string, f *best.File, err error) {
	path = orWord(c.out.file, c.turns.tuning)
	switch path {
	case "-":
		return "", nil, usage("--out -: --tune keeps tables in a file; -o json shows the new one on standard output, too")
	case "":
		if path, err = best.DefaultPath(); err != nil {
			return "", nil, usage("%v", err)
		}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, &best.File{Schema: best.Schema, Name: path}, nil
	}
	if f, err = best.Open(path); err != nil {
		return "", nil, &codedError{exitUsage, err}
	}
	return path, f, nil
}

// keepable says why tables could not be kept, nor the folders made that their file
// needs.
func keepable(c *benchCommand) error {
	path, _, err := tuned(c)
	if err != nil {
		return err
	}
	at := path
	for dir := filepath.Dir(at); dir != at; dir = filepath.Dir(at) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		at = dir
	}
	var unwritable *outputError
	if err := writable(at); errors.As(err, &unwritable) {
		return usage("%w; name another file with --tuning", newOutputError(path, unwritable.err))
	}
	return nil
}

// keep puts a table into its file: beside what is there by now, for measuring took
// minutes, in which another machine may have put its own there.
func keep(c *benchCommand, t *best.Table) (path string, err error) {
	path, file, err := tuned(c)
	if err != nil {
		return path, err
	}
	file.Put(*t)
	return path, writeTables(path, file)
}

// writeTables replaces the file as a whole.
func writeTables(path string, f *best.File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return newOutputError(path, err)
	}
	return writeFile(path, func(w io.Writer) error { return encode(w, "json", f) })
}

// writeTuned shows a table with the runners-up of each size.
func writeTuned(w io.Writer, t *best.Table, path, format string) error {
	if format == "json" {
		f := &best.File{}
		f.Put(*t)
		return encode(w, "json", f)
	}
	fmt.Fprintf(w, "# %s\n# %s %s, medians of %d rounds in turn, calls by %s; within %.0f %% the choice of the size before stays\n",
		t.Class, t.Trial.DType, t.Trial.Op, t.Trial.Rounds, t.Trial.How, 100*tuneTie)
	out := newTable()
	out.AppendHeader(table.Row{"Bytes", "Choice", "us", "Others, us"})
	for _, s := range t.Trial.Sizes {
		out.AppendRow(tunedRow(t, s))
	}
	_, err := fmt.Fprintf(w, "%s\n# kept in %s: --algo best goes by it\n", out.Render(), path)
	return err
}

// shownOthers is how many runners-up a line has.
const shownOthers = 3

func tunedRow(t *best.Table, s best.Size) table.Row {
	choice := t.Choose(s.Bytes)
	var us float64
	var rest []string
	for _, c := range slices.SortedStableFunc(slices.Values(s.Candidates), func(a, b best.Candidate) int { return cmp.Compare(a.Median, b.Median) }) {
		if c.Choice == choice {
			us = c.Median
		} else if len(rest) < shownOthers {
			rest = append(rest, fmt.Sprintf("%s %.2f", c.Choice, c.Median))
		}
	}
	return table.Row{bench.FormatBytes(s.Bytes), choice.String(), fmt.Sprintf("%.2f", us), strings.Join(rest, "; ")}
}
