package probe

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// fault is what can be wrong with one path of sysfs.
type fault struct {
	name string
	gone bool   // it is not there
	loop bool   // it is a link to itself
	err  error  // of reading it
	text string // what the file holds, where there is no error
}

var pathFaults = []fault{
	{name: "gone", gone: true}, {name: "loop", loop: true},
	{name: "unreadable", err: syscall.EACCES}, {name: "dying", err: syscall.EIO},
	{name: "empty"}, {name: "binary", text: "\xff\x00\x01\x02"}, {name: "markup", text: "<a>&\"'\n"},
	{name: "unnumbered", text: "-1\n"}, {name: "huge", text: "99999999999999999999\n"}, {name: "long", text: strings.Repeat("f", 70000)},
}

// broken is a file system with a fault at one path.
type broken struct {
	Files
	path  string
	fault fault
}

func (b broken) Lstat(name string) (fs.FileMode, error) {
	switch {
	case name == b.path && b.fault.gone:
		return 0, fs.ErrNotExist
	case name == b.path && b.fault.loop:
		return fs.ModeSymlink, nil
	}
	return b.Files.Lstat(name)
}

func (b broken) Readlink(name string) (string, error) {
	switch {
	case name == b.path && b.fault.loop:
		return name, nil
	case name == b.path && b.fault.err != nil:
		return "", b.fault.err
	}
	return b.Files.Readlink(name)
}

func (b broken) ReadFile(name string) ([]byte, error) {
	if name == b.path {
		return []byte(b.fault.text), b.fault.err
	}
	return b.Files.ReadFile(name)
}

func (b broken) ReadDir(name string) ([]string, error) {
	if name == b.path && b.fault.err != nil {
		return nil, b.fault.err
	}
	return b.Files.ReadDir(name)
}

// TestAnyPathOfSysfsCanBeWrong breaks, one after the other, every path that a
// probe looks at. There is a topology all the same, with all ranks; it can be
// written and read; and a link of a GPU that is no longer known is told.
func TestAnyPathOfSysfsCanBeWrong(t *testing.T) {
	for _, machine := range []string{"gh200", "container", "flat-vm-ib", "lo-only"} {
		p, ranks, err := Load("testdata/machines/"+machine, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Network.Properties = nil // the network is asked again
		record := newRecorder(p.Files)
		p.Files = record
		if _, err := p.Probe(ranks); err != nil {
			t.Fatal(err)
		}
		seen := slices.Concat(sortedKeys(record.seen.files), sortedKeys(record.seen.links), sortedKeys(record.seen.dirs))
		if len(seen) < 40 {
			t.Errorf("%s: only %d paths", machine, len(seen))
		}
		for _, path := range seen {
			for _, f := range pathFaults {
				q := *p
				q.Files = broken{record.files, path, f}
				checkBroken(t, machine+": "+path+" is "+f.name, &q, ranks)
			}
		}
	}
}

func checkBroken(t *testing.T, what string, p *Prober, ranks []Rank) {
	t.Helper()
	r, err := p.result(ranks, nil)
	if err != nil {
		if network := (*NetworkError)(nil); !errors.As(err, &network) {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	text := string(xmlOf(t, r.Document))
	again, err := ncclxml.Decode(strings.NewReader(text), "again")
	if err != nil {
		t.Errorf("%s: what was written cannot be read: %v\n%s", what, err, text)
		return
	}
	if written := string(xmlOf(t, again)); written != text {
		t.Errorf("%s: written\n%s\nread\n%s", what, text, written)
	}
	if n := strings.Count(text, " rank="); n != len(ranks) {
		t.Errorf("%s: %d ranks of %d", what, n, len(ranks))
	}
	sys, err := again.System()
	var refused *ncclxml.Error
	switch {
	case err != nil && !errors.As(err, &refused):
		t.Errorf("%s: %v", what, err)
	case err == nil && len(sys.Assumed) == 0 && strings.Contains(text, `link_width=""`):
		t.Errorf("%s: the width of a link is assumed without a word", what)
	}
}

// What is no text ends a text: no topology file could hold it.
func TestBinaryEndsAText(t *testing.T) {
	for data, want := range map[string]string{
		"0x03\n": "0x03", "0x\xff03\n": "0x", "\x01\n": "", "a\tb\n": "a\tb", "8.0 GT/s\x7f\n": "8.0 GT/s", "\xc3\xa9\n": "",
	} {
		tree := NewTree()
		tree.AddFile("/f", []byte(data))
		if got := text(tree, "/f"); got != want {
			t.Errorf("%q is read as %q, want %q", data, got, want)
		}
	}
}
