package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const archive = `a heading
-- symlinks --
sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:01.0/net/eth0
sys/devices/pci0000:00/0000:00:01.0/net/eth0/device -> ../..
sys/loop -> loop
sys/first -> /sys/second
sys/second -> class
sys/dead -> nowhere
-- sys/devices/pci0000:00/0000:00:01.0/class --
0x020000
-- sys/devices/pci0000:00/0000:00:01.0/net/eth0/speed --
10
-- sys/devices/pci0000:00/0000:00:01.0/empty --
`

// rooted writes the tree to a folder, so that the kernel's own links answer.
func rooted(t *testing.T, tree *Tree) Root {
	t.Helper()
	root := t.TempDir()
	for dir := range tree.dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range tree.files {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range tree.links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return Root(root)
}

func parse(t *testing.T, text string) *Tree {
	t.Helper()
	tree, err := ParseTree([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestRealPath(t *testing.T) {
	tree := parse(t, archive)
	const dev = "/sys/devices/pci0000:00/0000:00:01.0"
	for name, files := range map[string]Files{"memory": tree, "folder": rooted(t, tree), "recorded": newRecorder(tree)} {
		for path, want := range map[string]string{
			"/sys/class/net/eth0/device":       dev,
			"/sys/class/net/eth0/device/class": dev + "/class",
			"/sys/class/net/eth0/..":           dev + "/net", // of the link's target
			"/sys//class/./net/eth0/../../..":  "/sys/devices/pci0000:00",
			"/sys/first/net":                   "/sys/class/net",
			"/../sys":                          "/sys",
			"/":                                "/",
			"/sys/loop":                        "",
			"/sys/dead":                        "",
			"/sys/nothing/..":                  "",
			dev + "/class/..":                  "",
		} {
			got, err := realPath(files, path)
			if got != want || (err != nil) != (want == "") {
				t.Errorf("%s: %s is %q, %v; want %q", name, path, got, err, want)
			}
		}
		for path, want := range map[string]string{
			"/sys/class/net/eth0/device/class": "0x020000", "/sys/class/net/eth0/speed": "10", dev + "/empty": "", dev: "", "/none": "",
		} {
			if got := text(files, path); got != want {
				t.Errorf("%s: text of %s is %q, want %q", name, path, got, want)
			}
		}
	}
}

func TestReadDir(t *testing.T) {
	tree := parse(t, archive)
	for name, files := range map[string]Files{"memory": tree, "folder": rooted(t, tree)} {
		got, err := files.ReadDir("/sys/devices/pci0000:00/0000:00:01.0")
		if err != nil || len(got) != 3 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := files.ReadDir("/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := files.Readlink("/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestTreeIsWrittenAndRead(t *testing.T) {
	tree := parse(t, archive)
	tree.AddDir("/sys/hollow/inside")
	again := parse(t, string(tree.Format("heading")))
	if mode, err := again.Lstat("/sys/hollow/inside"); err != nil || !mode.IsDir() {
		t.Errorf("the empty folder is %v, %v", mode, err)
	}
	if diff := cmp.Diff(tree.files, withoutPlaceholders(again.files)); diff != "" {
		t.Errorf("files: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(tree.links, again.links); diff != "" {
		t.Errorf("links: -want +got:\n%s", diff)
	}
}

func withoutPlaceholders(files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, data := range files {
		if !strings.HasSuffix(name, "/"+placeholder) {
			out[name] = append([]byte{}, data...)
		}
	}
	return out
}

// TestRecorderKeepsTexts: an archive ends every file with a line feed; what NCCL
// takes of a file must stay the same.
func TestRecorderKeepsTexts(t *testing.T) {
	for _, data := range []string{"", "x", "x\n", "\n", "0x12", strings.Repeat("y", 254), strings.Repeat("y", 255), strings.Repeat("y", 400), "a\nb"} {
		tree := NewTree()
		tree.AddFile("/f", []byte(data))
		r := newRecorder(tree)
		want := text(r, "/f")
		if got := text(parse(t, string(r.seen.Format("x"))), "/f"); got != want {
			t.Errorf("%d bytes: %q, want %q", len(data), got, want)
		}
	}
}

func TestRecorderSeesDirectories(t *testing.T) {
	tree := parse(t, archive)
	r := newRecorder(tree)
	if _, err := r.ReadFile("/sys/devices/pci0000:00/0000:00:01.0/class"); err != nil {
		t.Fatal(err)
	}
	names, err := r.ReadDir("/sys/devices/pci0000:00/0000:00:01.0")
	if err != nil {
		t.Fatal(err)
	}
	seen, err := r.seen.ReadDir("/sys/devices/pci0000:00/0000:00:01.0")
	if err != nil || len(seen) != len(names) {
		t.Errorf("%q, %v; want %q", seen, err, names)
	}
	if got := text(r.seen, "/sys/devices/pci0000:00/0000:00:01.0/class"); got != "0x020000" {
		t.Errorf("what was read is forgotten: %q", got)
	}
}

// TestPathsThroughLinks: an archive may name a file by any of its paths.
func TestPathsThroughLinks(t *testing.T) {
	tree := parse(t, `
-- symlinks --
sys/class/net/eth0 -> ../../devices/a/net/eth0
sys/class/net/eth0/device -> ../..
sys/abs -> /sys/class/net
-- sys/abs/eth0/speed --
7
-- sys/class/net/eth0/device/class --
0x02
`)
	for name, want := range map[string]string{"/sys/devices/a/net/eth0/speed": "7", "/sys/class/net/eth0/speed": "7", "/sys/devices/a/class": "0x02"} {
		if got := text(tree, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestPathsThroughLoops(t *testing.T) {
	_, err := ParseTree([]byte("-- symlinks --\nsys/loop -> loop\n-- sys/loop/x --\ny\n"))
	if err == nil || !strings.Contains(err.Error(), "/sys/loop") {
		t.Errorf("error %v", err)
	}
}

func TestIsRecording(t *testing.T) {
	for dir, want := range map[string]bool{"testdata/machines/dgx1v": true, "testdata/machines/variants/dgx1v-sub": true, "testdata": false, "none": false} {
		if got := IsRecording(dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}
