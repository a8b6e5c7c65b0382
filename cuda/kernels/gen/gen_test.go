package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `.visible .entry ring_ll(
	.param .align 8 .b8 ring_ll_param_0[560]
)
.maxntid 640, 1, 1
{
}
.visible .entry bounce(
	.param .u64 bounce_param_0,
	.param .u32 bounce_param_1
)
{
}
`

func TestParseEntries(t *testing.T) {
	list, err := parseEntries([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{{"ring_ll", []string{"[560]byte"}, 640}, {"bounce", []string{"uint64", "uint32"}, 0}}
	if len(list) != 2 || !list[0].equal(want[0]) || !list[1].equal(want[1]) {
		t.Errorf("got %+v", list)
	}
	for name, ptx := range map[string]string{"nothing": "", "an unknown type": ".visible .entry f(\n.param .b64 f_param_0\n)\n{}", "an array of words": ".visible .entry f(\n.param .u64 f_param_0[4]\n)\n{}"} {
		if list, err := parseEntries([]byte(ptx)); err == nil {
			t.Errorf("%s: got %+v", name, list)
		}
	}
}

func TestWriteGo(t *testing.T) {
	list, err := parseEntries([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	code, err := writeGo(list, "abc")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"func RingLL(f *cuda.Function, s *cuda.Stream, g cuda.Grid, p0 *[560]byte) error",
		"const RingLLThreads = 640", "func Bounce(f *cuda.Function, s *cuda.Stream, g cuda.Grid, p0 uint64, p1 uint32) error", `SourceSHA256 = "abc"`} {
		if !strings.Contains(string(code), want) {
			t.Errorf("lacks %s in\n%s", want, code)
		}
	}
}

func TestStrip(t *testing.T) {
	got := strip([]byte("//\n// made by\n\n.version 6.0\n\tadd.f32 \t%f1, %f2;   // here\n"))
	if string(got) != ".version 6.0\n\tadd.f32 \t%f1, %f2;\n" {
		t.Errorf("got %q", got)
	}
}

// A check must see a file that differs, lacks or is left over.
func TestCheckSeesStaleFiles(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{"ptx/a.ptx": []byte("new"), "generated.go": []byte("package kernels")}
	if err := finish(dir, files, true); err == nil {
		t.Error("missing files pass")
	}
	if err := finish(dir, files, false); err != nil {
		t.Fatal(err)
	}
	if err := finish(dir, files, true); err != nil {
		t.Errorf("fresh files: %v", err)
	}
	path := filepath.Join(dir, "ptx", "a.ptx")
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, files["ptx/a.ptx"]) {
		t.Errorf("%q, %v", b, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ptx", "old.ptx"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := finish(dir, files, true); err == nil || !strings.Contains(err.Error(), "not generated any more") {
		t.Errorf("a file that is left over: %v", err)
	}
}
