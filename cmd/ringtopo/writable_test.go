package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A place where no file can be made is refused while flags are read, before
// anything is measured; looking leaves nothing behind and harms nothing.
func TestPlacesAreTriedEarly(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("old.json"), []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"to-new.json": path("new.json"), "to-nowhere.json": path("none/x.json"), "round.json": path("round.json")}
	for from, to := range links {
		if err := os.Symlink(to, path(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file string
		want error
	}{
		{"", nil},
		{"-", nil},
		{os.DevNull, nil},
		{path("old.json"), nil},
		{path("new.json"), nil},
		{path("to-new.json"), nil},
		{path("none/x.json"), fs.ErrNotExist},
		{path("to-nowhere.json"), fs.ErrNotExist},
		{path("old.json/x.json"), syscall.ENOTDIR},
		{dir, syscall.EISDIR},
	} {
		o := &output{format: "json", file: c.file, formats: []string{"text", "json"}}
		if _, err := o.resolve(); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.file, err, c.want)
		} else if err != nil && (exitCode(err, true) != exitUsage || !strings.HasPrefix(err.Error(), "writing "+c.file+": ")) {
			t.Errorf("%q: exit code %d, %v", c.file, exitCode(err, true), err)
		}
	}
	o := &output{format: "json", file: path("round.json"), formats: []string{"json"}}
	if _, err := o.resolve(); err == nil {
		t.Error("a link to itself is taken for a place")
	}
	if text, err := os.ReadFile(path("old.json")); err != nil || string(text) != "old" {
		t.Errorf("the file that was there is %q, %v", text, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1+len(links) {
		t.Errorf("%v lie there, %v", entries, err)
	}
}

// Tables that have no place are refused with a word on what to do; folders are
// made only when there is something to keep.
func TestTablesHaveAPlaceBeforeTheyAreMeasured(t *testing.T) {
	dir := t.TempDir()
	c := &benchCommand{out: &output{}}
	c.turns.tuning = filepath.Join(dir, "a", "b", "tuning.json")
	if err := keepable(c); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v lie there, %v", entries, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.turns.tuning = filepath.Join(dir, "file", "deep", "tuning.json")
	if err := keepable(c); err == nil || exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), "--tuning") {
		t.Errorf("a file passes for a folder: %v", err)
	}
}
