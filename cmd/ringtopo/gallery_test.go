package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo/machines"
)

// quickPictures are those that are compared in every run: one of each kind.
var quickPictures = []string{"v100x4.svg", "v100x4-circles.svg", "dgx-h100-rings.svg"}

// TestGallery makes the pictures of docs/gallery.md anew with the commands that
// stand there, and compares: all of them in a full run. With -update it writes
// them.
func TestGallery(t *testing.T) {
	text, err := os.ReadFile("../../docs/gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("`ringtopo (render [^`]*)`").FindAllStringSubmatch(string(text), -1)
	shown := map[string]bool{}
	for _, c := range commands {
		args := strings.Fields(c[1])
		file := args[len(args)-1]
		shown[filepath.Base(file)] = true
		if os.Getenv("RINGTOPO_TEST_FULL") == "" && !*update && !slices.Contains(quickPictures, filepath.Base(file)) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			checkPicture(t, args[:len(args)-2], filepath.Join("../..", file))
		})
	}
	for _, name := range machines.Names() {
		if !shown[name+".svg"] {
			t.Errorf("docs/gallery.md does not show %s", name)
		}
	}
}

func checkPicture(t *testing.T, args []string, file string) {
	t.Helper()
	raster := strings.TrimSuffix(file, ".svg") + ".png"
	svg := pictureOf(t, append(args, "-o", "svg"))
	if *update {
		write(t, file, svg)
		write(t, raster, pictureOf(t, append(args, "-o", "png")))
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(svg, want) {
		t.Errorf("%s is out of date: run go test ./cmd/ringtopo -run Gallery -update", file)
	}
	// The dots of a PNG may differ in the last bit between processors.
	f, err := os.Open(raster)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Errorf("%s: %v", raster, err)
	}
}

func pictureOf(t *testing.T, args []string) []byte {
	t.Helper()
	var out, notes bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &notes}
	if code := a.run(t.Context(), args); code != exitGood {
		t.Fatalf("%q: exit %d\n%s", args, code, notes.String())
	}
	return out.Bytes()
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
