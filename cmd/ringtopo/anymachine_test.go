package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/internal/topotest"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/machinejson"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// given is what a call gives back.
type given struct {
	code       int
	out, notes string
}

// onStdin runs a command line on a machine that standard input holds.
func onStdin(machine string, args ...string) given {
	var out, notes bytes.Buffer
	a := &app{in: strings.NewReader(machine), out: &out, err: &notes}
	code := a.run(context.Background(), append(args, "-m", "-"))
	return given{code, out.String(), notes.String()}
}

// forms writes a machine in all forms that it can be read from.
func forms(t *rapid.T, sys *topo.System) map[string]string {
	var xml strings.Builder
	if err := ncclxml.Encode(&xml, ncclxml.FromSystem(sys, "drawn")); err != nil {
		t.Fatal(err)
	}
	described, err := json.Marshal(machinejson.New(sys, "drawn"))
	if err != nil {
		t.Fatal(err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(described, &node); err != nil {
		t.Fatal(err)
	}
	blockStyle(&node)
	text, err := yaml.Marshal(&node)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"XML": xml.String(), "JSON": string(described), "YAML": string(text)}
}

// viewings are commands that look at a machine.
var viewings = [][]string{
	{"topo", "-q"}, {"topo", "--view", "tree"}, {"topo", "--view", "paths"}, {"topo", "-o", "json"},
	{"rings", "-v", "--full"}, {"rings", "-o", "table"}, {"rings", "-o", "json"}, {"rings", "-o", "graph-xml"},
	{"plan", "--bytes", "1MiB"}, {"plan", "--bytes", "1KiB:4MiB:16", "-o", "csv"},
	{"schedule", "--bytes", "4KiB", "-o", "csv"}, {"render", "-o", "dot"}, {"render", "--channels", "all", "-o", "dot"},
	{"probe"}, {"probe", "-o", "json"},
}

// TestAnyMachineInAnyForm: whatever a machine is, a command says the same of it
// as XML, as JSON and as YAML, or refuses it.
func TestAnyMachineInAnyForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		texts := forms(t, topotest.Random(pick))
		args := rapid.SampledFrom(viewings).Draw(t, "command")
		want := onStdin(texts["XML"], args...)
		checkGiven(t, args, want)
		for form, text := range texts {
			if got := onStdin(text, args...); got.code != want.code || unassumed(got.out) != unassumed(want.out) {
				t.Fatalf("%q of %s gives\n%+v\nbut of XML\n%+v", args, form, got, want)
			}
		}
	})
}

// TestWildMachines have any numbers anywhere: each form is taken or refused, with
// a result or a message that says where it came from.
func TestWildMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		args := rapid.SampledFrom(viewings).Draw(t, "command")
		for form, text := range forms(t, topotest.Wild(pick)) {
			got := onStdin(text, args...)
			checkGiven(t, append(slices.Clone(args), "of", form), got)
			if got.code == exitTopology && !strings.Contains(got.notes, "standard input") {
				t.Errorf("%q of %s: the message does not say where: %s", args, form, got.notes)
			}
		}
	})
}

// unassumed leaves out of JSON what was assumed: XML leaves more to that.
func unassumed(out string) string {
	var v map[string]any
	if json.Unmarshal([]byte(out), &v) != nil {
		return out
	}
	delete(v, "assumed")
	text, _ := json.Marshal(v)
	return string(text)
}

func checkGiven(t *rapid.T, args []string, g given) {
	t.Helper()
	switch {
	case g.code == exitGood && g.out == "":
		t.Errorf("%q gives nothing", args)
	case g.code == exitGood:
	case !slices.Contains([]int{exitUsage, exitTopology}, g.code):
		t.Errorf("%q: exit code %d: %s", args, g.code, g.notes)
	case !strings.Contains(g.notes, "ringtopo: ") || g.out != "":
		t.Errorf("%q: exit code %d with %q on stdout and %q", args, g.code, g.out, g.notes)
	}
	if strings.ContainsFunc(g.notes, func(r rune) bool { return r < ' ' && r != '\n' }) {
		t.Errorf("%q: control characters in %q", args, g.notes)
	}
}

// domainsRepeat says whether two CPUs claim the same NUMA domain.
func domainsRepeat(sys *topo.System) bool {
	seen := map[int]bool{}
	for i := range sys.CPUs {
		if seen[sys.CPUs[i].NUMA] {
			return true
		}
		seen[sys.CPUs[i].NUMA] = true
	}
	return false
}

// TestAnyPartOfAnyMachine: a job on some of a machine's GPUs, in any order, has
// a rank for each, on the GPU that was asked for.
func TestAnyPartOfAnyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		sys := topotest.Random(pick)
		if domainsRepeat(sys) {
			t.Skip("ranks find each other's CPUs by NUMA domain, so which are one hangs on who comes first")
		}
		text := forms(t, sys)["XML"]
		whole := onStdin(text, "topo", "-o", "json")
		if whole.code != exitGood {
			t.Skip(whole.notes)
		}
		var all topoJSON
		if err := json.Unmarshal([]byte(whole.out), &all); err != nil {
			t.Fatal(err)
		}
		order := rapid.Permutation(all.GPUs).Draw(t, "order")
		order = order[:1+pick(len(order))]
		var devs []string
		for _, g := range order {
			devs = append(devs, strconv.Itoa(g.Dev))
		}
		part := onStdin(text, "topo", "-o", "json", "--gpus", strings.Join(devs, ","))
		if strings.Contains(part.notes, "makes no sense") {
			t.Skip("parts that nothing joins")
		}
		if part.code != exitGood {
			t.Fatalf("GPUs %v of %d: %s", devs, len(all.GPUs), part.notes)
		}
		var some topoJSON
		if err := json.Unmarshal([]byte(part.out), &some); err != nil {
			t.Fatal(err)
		}
		if len(some.GPUs) != len(order) {
			t.Fatalf("%d GPUs, want %d", len(some.GPUs), len(order))
		}
		for i, g := range some.GPUs {
			if g.Rank != i || g.Dev != order[i].Dev || g.BusID != order[i].BusID || g.SM != order[i].SM {
				t.Errorf("rank %d is %+v, want %+v", i, g, order[i])
			}
			for j := range some.GPUs {
				if a, b := some.SMI.GPU[i][j], all.SMI.GPU[order[i].Rank][order[j].Rank]; a != b {
					t.Errorf("%s to %s is %s, with all GPUs %s", g.BusID, some.GPUs[j].BusID, a, b)
				}
			}
		}
	})
}

// TestMatricesComeBack: what topo shows in nvidia-smi's words is read as a
// machine that looks the same in them, whatever the machine was.
func TestMatricesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := onStdin(forms(t, topotest.Random(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }))["XML"], "topo", "-q", "--view", "smi")
		if text.code != exitGood {
			t.Skip(text.notes)
		}
		again := onStdin(text.out, "topo", "-q", "--view", "smi")
		if again.code != exitGood {
			t.Fatalf("%s\n%s", again.notes, text.out)
		}
		if want, got := rowsOf(text.out), rowsOf(again.out); !slices.Equal(got, want) {
			t.Errorf("%q became %q in\n%s", want, got, text.out)
		}
	})
}

// rowsOf are the rows of a matrix, without spaces that only align.
func rowsOf(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "GPU") {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return out
}
