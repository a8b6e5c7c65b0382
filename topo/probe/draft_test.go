package probe

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// node writes an element with its children as text: name, the attribute id, and
// what is below in parentheses.
func node(e *ncclxml.Element) string {
	id, _ := e.Get("busid")
	s := e.Name + id
	if len(e.Children) == 0 {
		return s
	}
	var below []string
	for _, c := range e.Children {
		below = append(below, node(c))
	}
	return s + "(" + strings.Join(below, " ") + ")"
}

// Devices hang in the order of their bus ids as texts, behind what has none.
func TestHangSortsByBusID(t *testing.T) {
	d := newDraft(nil)
	cpu := d.add(d.root, "cpu")
	d.add(cpu, "nic")
	for _, id := range []string{"b", "a", "c", "B", "a1"} {
		d.hang(d.pci(id), cpu)
	}
	if got := node(d.root); got != "system(cpu(nic pciB pcia pcia1 pcib pcic))" {
		t.Errorf("tree %s", got)
	}
	if d.pci("a") != d.find("pci", "busid", "a") || len(d.all) != 8 {
		t.Errorf("a device is made twice: %d elements", len(d.all))
	}
}

// What a file may hold counts where NCCL looks for it, and only there.
func TestAdoptKeepsWhatCounts(t *testing.T) {
	file := fileOf(t, `<system version="1"><cpu numaid="0"><pci busid="1"><gpu dev="0"><nvlink target="2"/><odd/></gpu><cpu/></pci><gpu/><nic><net/><pci/></nic></cpu><pci/></system>`)
	before := node(file.Root)
	d := newDraft(file)
	if got := node(d.root); got != "system(cpu(pci1(gpu(nvlink)) nic(net)))" {
		t.Errorf("tree %s", got)
	}
	d.add(d.root.Children[0], "pci")
	if after := node(file.Root); after != before {
		t.Errorf("the file itself became %s", after)
	}
}

// Sockets and devices that lead to nothing marked go; marks go, too.
func TestTrim(t *testing.T) {
	d := newDraft(nil)
	used, unused := d.add(d.root, "cpu"), d.add(d.root, "cpu")
	d.add(unused, "pci")
	pci := d.add(used, "pci")
	gpu := d.add(pci, "gpu", ncclxml.Attr{Key: "keep", Value: "1"})
	d.add(used, "pci")
	d.add(pci, "pcilink")
	if !trim(d.root) {
		t.Error("nothing is kept")
	}
	if got := node(d.root); got != "system(cpu(pci(gpu pcilink)))" {
		t.Errorf("tree %s", got)
	}
	if _, ok := gpu.Get("keep"); ok {
		t.Error("the mark is left")
	}
	if empty := newDraft(nil); trim(empty.root) {
		t.Error("an empty machine is kept")
	}
}

// Equal elements fuse, whatever the order of their attributes; others are added
// in order.
func TestFuse(t *testing.T) {
	a := fileOf(t, `<system version="1"><cpu numaid="0" arch="x"><pci busid="1"/></cpu></system>`).Root
	b := fileOf(t, `<system version="1"><cpu arch="x" numaid="0"><pci busid="2"/><pci busid="1"/></cpu><cpu numaid="1"/></system>`).Root
	fuse(a, b)
	if got := node(a); got != "system(cpu(pci1 pci2) cpu)" {
		t.Errorf("tree %s", got)
	}
	once := node(a)
	fuse(a, b)
	if got := node(a); got != once {
		t.Errorf("fused again: %s", got)
	}
}

// Small files are read as NCCL reads them: 255 bytes, the last one dropped, cut
// at a zero.
func TestTextIsCut(t *testing.T) {
	for data, want := range map[string]string{
		"0x10de\n": "0x10de", "0x10de": "0x10d", "\n": "", "": "", "ab\x00cd\n": "ab",
		strings.Repeat("x", 300): strings.Repeat("x", 254), strings.Repeat("x", 254) + "\n": strings.Repeat("x", 254),
	} {
		files := NewTree()
		files.AddFile("/f", []byte(data))
		if got := text(files, "/f"); got != want {
			t.Errorf("%q is read as %q", data, got)
		}
		// A recording reads the same.
		files.AddFile("/f", lined([]byte(data)))
		if got := text(files, "/f"); got != want && !strings.HasSuffix(data, "x") {
			t.Errorf("%q, recorded, is read as %q", data, got)
		}
	}
	if got := text(NewTree(), "/f"); got != "" {
		t.Errorf("a missing file is %q", got)
	}
}

// The path of a card: function 0, and device 00 where virtual functions count
// as their card.
func TestCardPath(t *testing.T) {
	for dir, want := range map[string][2]string{
		"/x/0000:0a:01.3": {"/x/0000:0a:00.0", "/x/0000:0a:01.0"},
		"/x/0000:0a:1f.7": {"/x/0000:0a:00.0", "/x/0000:0a:1f.0"},
		"/x/0000:0a:00.0": {"/x/0000:0a:00.0", "/x/0000:0a:00.0"},
		"7":               {"0", "0"},
		"":                {"", ""},
	} {
		if got := [2]string{cardPath(dir, true), cardPath(dir, false)}; got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// GUIDs are texts in JSON, with or without digits to spare.
func TestGUIDJSON(t *testing.T) {
	for _, g := range []GUID{0, 1, 0x0200000000000001, 1<<64 - 1} {
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		var back GUID
		if err := json.Unmarshal(b, &back); err != nil || back != g {
			t.Errorf("%s comes back as %s, %v", g, back, err)
		}
	}
	for _, bad := range []string{`"0xzz"`, `""`, `true`, `"0x10000000000000000"`} {
		var g GUID
		if err := json.Unmarshal([]byte(bad), &g); err == nil {
			t.Errorf("%s is read as %s", bad, g)
		}
	}
}

// Names are those of the machine: with colons or without.
func TestParseGUID(t *testing.T) {
	for s, want := range map[string]GUID{"0123:4567:89ab:cdef": 0x0123456789abcdef, " ff\n": 0xff, "0": 0} {
		if got, ok := parseGUID(s); !ok || got != want {
			t.Errorf("%q: %s, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "xyz", "1123:4567:89ab:cdef:0"} {
		if g, ok := parseGUID(s); ok {
			t.Errorf("%q is read as %s", s, g)
		}
	}
}

// What is not in a tree is fs.ErrNotExist, with its path.
func TestTreeTellsWhatIsMissing(t *testing.T) {
	tree := NewTree()
	tree.AddLink("/a/l", "b")
	for name, err := range map[string]error{
		"lstat": second(tree.Lstat("/none")), "readlink": second(tree.Readlink("/none")),
		"file": second(tree.ReadFile("/a")), "dir": second(tree.ReadDir("/a/l")),
	} {
		var path *fs.PathError
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) || path.Path == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
