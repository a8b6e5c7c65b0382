package machinejson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/ringtopo/ringtopo/topo/machines"
)

// asYAML writes JSON as YAML, in blocks or as it is.
func asYAML(t testing.TB, text string, flow bool) string {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	var clear func(*yaml.Node)
	clear = func(n *yaml.Node) {
		n.Style = 0
		for _, c := range n.Content {
			clear(c)
		}
	}
	if !flow {
		clear(&n)
	}
	out, err := yaml.Marshal(&n)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A machine is the same from JSON and from YAML, in blocks and in braces.
func TestYAMLIsTheSameMachine(t *testing.T) {
	for _, name := range machines.Names() {
		in := text(t, system(t, name))
		want, err := Decode(strings.NewReader(in), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, flow := range []bool{false, true} {
			got, err := DecodeYAML(strings.NewReader(asYAML(t, in, flow)), name)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// What people write by hand: comments, quotes of all kinds, numbers in other
// bases, texts that look like dates.
func TestYAMLByHand(t *testing.T) {
	const in = `# my box
---
schema: 'ringtopo.machine/v1'
name: 2026-11-30
cpus:
- numa: 0x0
  arch: x86_64 # the usual
  vendor: "GenuineIntel"
  devices:
  - {busId: 0000:3b:00.0, class: gpu, laneMbps: 1_2000, lanes: 0o20,
     gpu: {rank: 0, dev: 0, sm: 70, gdr: true}}
`
	sys, err := DecodeYAML(strings.NewReader(in), "box")
	if err != nil {
		t.Fatal(err)
	}
	d := sys.CPUs[0].Devices[0]
	if d.BusID.String() != "0000:3b:00.0" || d.Speed != 120 || d.Width != 16 || !d.GPU.GDR || d.GPU.SM != 70 {
		t.Errorf("got %+v", d)
	}
}

func TestYAMLRefuses(t *testing.T) {
	const head = "schema: ringtopo.machine/v1\n"
	for in, want := range map[string]string{
		"":                              "box holds no machine",
		"# nothing\n":                   "box holds no machine",
		"schema: [":                     "box: yaml: ",
		"schema: a\n b: c\n":            "box: yaml: ",
		"schema: ringtopo.rings/v1":     `the schema is "ringtopo.rings/v1"`,
		"- schema":                      "box:1: ",
		head + "\n\ncpus:\n- numa: x\n": "box:5: ",
		head + "cpus:\n- numa: 1\n  arch: x86_64\n  nuna: 2\n":  `unknown field "nuna"`,
		head + "cpus:\n- numa: 1\n  arch: riscv\n":              `cpu 0 (NUMA 1): arch "riscv" is not one of`,
		head + "name: &n box\ncpus:\n- arch: *n\n":              "box:4: *n stands for another value; write it out",
		head + "? [a]\n: b\n":                                   "box:2: a name must be a word",
		head + "cpus:\n- numa: .inf\n":                          "box:3: \".inf\" is no number",
		head + "cpus:\n- numa: !!int x\n":                       "box:3: ",
		head + "cpus: []\n---\nschema: ringtopo.machine/v1\n":   "more than one document",
		head + "cpus:\n- arch: x86_64\n  devices: [{busId: 7}]": "box:4: ",
	} {
		if _, err := DecodeYAML(strings.NewReader(in), "box"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %s", in, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := DecodeYAML(iotest.ErrReader(broken), "box"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := DecodeYAML(endless{}, "box"); err == nil || !strings.Contains(err.Error(), "not a machine") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeYAML(f *testing.F) {
	for _, name := range []string{"v100x4", "h200x2"} {
		f.Add(asYAML(f, text(f, system(f, name)), false))
	}
	f.Add("schema: ringtopo.machine/v1\ncpus: [{numa: 0, arch: arm64}]\n")
	f.Add("a: &x [*x, *x]\n<<: *x\n? {b: c}\n: !!binary aGk=\n")
	f.Fuzz(func(t *testing.T, in string) {
		sys, err := DecodeYAML(strings.NewReader(in), "box")
		if err != nil {
			return
		}
		again, err := json.Marshal(New(sys, "box"))
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeYAML(strings.NewReader(asYAML(t, string(again), false)), "box")
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if diff := cmp.Diff(sys.CPUs, back.CPUs, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	})
}
