package ncclxml

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// Whatever comes in, it is refused with a typed error or comes back without
// loss when it is written, and so does the machine that it describes.
func FuzzDecode(f *testing.F) {
	for i, file := range vectorFiles(f) {
		if text, err := os.ReadFile(file); err == nil && i%40 == 0 && len(text) < 6000 {
			f.Add(text)
		}
	}
	for _, text := range []string{everything, small,
		`<?xml version="1.0"?><!-- a=b --><system version='1'><cpu/><!--x--></system><!--y-->`,
		`<graphs version="1"/>`, `<system version="2"><group/></system>`, `<system version="1"><cpu><pci><gpu><xgmi/></gpu></pci></cpu></system>`,
		`<system a="&lt;&#10;&quot;"/>`, machine(gpuAt("10", ` dev="0"`), `<nic><net/></nic>`, `<nic></nic>`), "<system", "\xef\xbb\xbf<system/>",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(bytes.NewReader(text), "fuzz.xml")
		if err != nil {
			checkTyped(t, err)
			return
		}
		out := written(t, d)
		again, err := Parse(strings.NewReader(out), "fuzz.xml")
		if err != nil {
			t.Fatalf("written, it is refused: %v\n%q", err, out)
		}
		if !same(d.Root, again.Root) {
			t.Fatalf("it changed: %q to %q", text, out)
		}
		if second := written(t, again); second != out {
			t.Fatalf("written twice it differs: %q and %q", out, second)
		}
		checkMachine(t, d)
	})
}

// checkMachine follows a document as far as it leads.
func checkMachine(t *testing.T, d *Document) {
	checkTyped(t, d.Expect(Graphs))
	if _, err := d.System(); err != nil {
		checkTyped(t, err)
	}
	job, err := d.Select(nil)
	if err != nil {
		checkTyped(t, err)
		return
	}
	sys, err := job.System()
	if err != nil {
		checkTyped(t, err)
		return
	}
	again, err := FromSystem(sys, "again").System()
	if err != nil {
		t.Fatalf("the machine is refused when it is written: %v", err)
	}
	if a, b := len(gpusOf(sys)), len(gpusOf(again)); a != b || a == 0 {
		t.Fatalf("%d GPUs came back as %d", a, b)
	}
	for i, rank := range ranksIn(job.Root) {
		if got := gpusOf(again)[i].Rank; got != rank {
			t.Fatalf("GPU %d has rank %d, not %d", i, got, rank)
		}
	}
}

func checkTyped(t *testing.T, err error) {
	t.Helper()
	var typed *Error
	if err != nil && (!errors.As(err, &typed) || typed.Msg == "" || typed.Err == nil || typed.File == "" || len(err.Error()) > 8192) {
		t.Fatalf("error %#v is not as promised", err)
	}
}
