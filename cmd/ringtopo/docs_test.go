package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// measuring commands print what depends on the moment and the hardware.
var measuring = []string{"validate", "bench", "p2p", "probe", "version"}

// TestDocumentsAreTrue runs every "$ ringtopo ..." that stands in a code block
// of the README or of docs/ with a machine named, and compares its output. A
// line of three dots stands for any lines.
func TestDocumentsAreTrue(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 {
				continue
			}
			_, block, _ = strings.Cut(block, "\n")
			for _, session := range strings.Split("\n"+block, "\n$ ")[1:] {
				command, want, _ := strings.Cut(session, "\n")
				args := strings.Fields(command)
				if args[0] != "ringtopo" || slices.Contains(measuring, args[1]) || !slices.Contains(args, "-m") {
					continue
				}
				ran++
				t.Run(filepath.Base(file)+" "+command, func(t *testing.T) {
					checkSession(t, args[1:], strings.TrimRight(want, "\n"))
				})
			}
		}
	}
	if ran == 0 {
		t.Error("no document shows a command")
	}
}

func checkSession(t *testing.T, args []string, want string) {
	var notes, out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &notes}
	a.run(t.Context(), args)
	got := strings.Split(strings.TrimRight(notes.String()+out.String(), "\n"), "\n")
	if !matches(strings.Split(want, "\n"), got) {
		t.Errorf("the document has\n%s\nbut the output is\n%s", want, strings.Join(got, "\n"))
	}
}

// matches compares lines, where "..." stands for any number of lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] != "..." {
		return len(got) > 0 && strings.TrimRight(want[0], " ") == strings.TrimRight(got[0], " ") && matches(want[1:], got[1:])
	}
	for i := range len(got) + 1 {
		if matches(want[1:], got[i:]) {
			return true
		}
	}
	return false
}

func TestMatches(t *testing.T) {
	got := []string{"a", "b", "c"}
	for want, ok := range map[string]bool{
		"a b c": true, "...": true, "a ... c": true, "a ... b c": true, "... b ...": true,
		"a b": false, "a ... d": false, "b c": false, "": false,
	} {
		if matches(strings.Fields(want), got) != ok {
			t.Errorf("%q matches: %v", want, !ok)
		}
	}
}
