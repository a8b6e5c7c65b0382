package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// screenRow is what a terminal of one row shows after a text of returns and letters;
// wrapped says whether a line went on in the next row.
func screenRow(text string, columns int) (shown string, wrapped bool) {
	cells, at := []byte(strings.Repeat(" ", columns)), 0
	for _, c := range []byte(text) {
		switch {
		case c == '\r':
			at = 0
		case at == columns:
			return string(cells), true
		default:
			cells[at] = c
			at++
		}
	}
	return strings.TrimRight(string(cells), " "), false
}

// However wide the terminal is, the line stays in its row, shows the last setting
// from its beginning, and is gone at the end.
func TestProgressStaysInItsRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w bytes.Buffer
		columns := rapid.IntRange(1, 200).Draw(t, "columns")
		p := &progress{w: &w, columns: func() int { return columns }}
		for i := range rapid.IntRange(1, 5).Draw(t, "settings") {
			s := bench.Setting{Algo: rapid.StringMatching("[a-z]{0,40}").Draw(t, "algo"), World: 4}
			p.show(i, 5, s)
			shown, wrapped := screenRow(w.String(), columns)
			if wrapped {
				t.Fatalf("%q goes on in the next row of %d columns", w.String(), columns)
			}
			whole := string(rune(0x31+i)) + " of 5  " + s.String()
			if want := whole[:min(len(whole), columns-1)]; shown != strings.TrimRight(want, " ") {
				t.Errorf("%q is shown, want %q", shown, want)
			}
		}
		p.end()
		if shown, wrapped := screenRow(w.String(), columns); shown != "" || wrapped {
			t.Errorf("%q is left", shown)
		}
	})
}

// A terminal that does not tell its width gets whole lines; what is no terminal
// gets none.
func TestProgressWithoutTerminal(t *testing.T) {
	var w bytes.Buffer
	p := &progress{w: &w, columns: func() int { return 0 }}
	s := bench.Setting{Algo: strings.Repeat("long", 100)}
	p.show(0, 1, s)
	if !strings.Contains(w.String(), s.String()) {
		t.Errorf("%q is cut", w.String())
	}
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	a := &app{err: f}
	p = a.newProgress()
	p.show(0, 1, s)
	p.end()
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("a file has %v, %v", info, err)
	}
}
