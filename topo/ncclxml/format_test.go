package ncclxml

import (
	"errors"
	"strings"
	"testing"
)

func TestOtherFilesAreToldApart(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"graphs", `<graphs version="1"/>`, "this is a graph file"},
		{"RCCL", `<system version="2"><cpu/></system>`, "RCCL"},
		{"RCCL by its links", `<system version="1"><cpu><pci><gpu><xgmi target="0000:1:0"/></gpu></pci></cpu></system>`, "RCCL"},
		{"xgmi without version", `<system><cpu><pci><gpu><xgmi/></gpu></pci></cpu></system>`, "xgmi"},
		{"mapping", `<system version="2"><group name="a"><cpu/></group></system>`, "mapping file"},
		{"version 3", `<system version="3"/>`, `version "3" of <system>, only 1 is known`},
		{"version of no number", `<system version="x"/>`, `version "x"`},
		{"fragment", `<pci busid="0000:10:00.0"/>`, "its root <system> is missing"},
		{"graph without root", `<graph id="0"/>`, "<graph> without its root"},
		{"hwloc", `<topology version="2.0"/>`, "hwloc"},
		{"nvidia-smi", `<nvidia_smi_log/>`, "nvidia-smi"},
		{"page", `<html/>`, "web page"},
		{"anything", `<svg/>`, "<svg>"},
	} {
		_, err := Decode(strings.NewReader(test.text), "m.xml")
		if !errors.Is(err, ErrOtherFormat) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestVersionOneInAnySpelling(t *testing.T) {
	for _, version := range []string{"1", "0x1", " 1", "01", "1.0"} {
		if _, err := Decode(strings.NewReader(`<system version="`+version+`"/>`), "m.xml"); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestGraphsAreExpected(t *testing.T) {
	for text, want := range map[string]string{
		`<graphs version="1"/>`: "", `<system version="1"/>`: "this is a topology file", `<graphs version="2"/>`: "version",
		`<html/>`: "web page",
	} {
		d, err := Parse(strings.NewReader(text), "g.xml")
		if err != nil {
			t.Fatal(err)
		}
		err = d.Expect(Graphs)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
