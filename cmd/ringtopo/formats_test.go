package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/topo/machines"
)

// ask runs a command line that must succeed and gives what it writes.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	var out, notes bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &notes}
	if code := a.run(t.Context(), append(args, "-q")); code != exitGood {
		t.Fatalf("%q: exit code %d\n%s", args, code, notes.String())
	}
	return out.String()
}

// read decodes what a command writes as JSON.
func read[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	text := ask(t, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v in\n%.500s", args, err, text)
	}
	return v
}

// calls are commands with several formats, small ones of each kind.
var calls = [][]string{
	{"machines"},
	{"machines", "show", "dgx-h100"},
	{"probe", "-m", "power9x4", "--gpus", "3,0"},
	{"topo", "-m", "dgx-1v"},
	{"topo", "-m", "gh200x4"},
	{"rings", "-m", "v100x4"},
	{"rings", "-m", "dgx-h100", "--nodes", "2"},
	{"schedule", "-m", "v100x4", "--bytes", "1KiB"},
	{"schedule", "--ring", "2 0 1"},
	{"plan", "-m", "dgx-h100", "--bytes", "64MiB"},
	{"plan", "-m", "dgx-a100", "--nodes", "2", "--bytes", "1KiB:1MiB:32"},
	{"model", "--slots", "2", "--proto", "LL"},
}

// TestYAMLSaysWhatJSONSays, name by name and value by value.
func TestYAMLSaysWhatJSONSays(t *testing.T) {
	for _, call := range calls {
		want := read[any](t, call...)
		var node any
		if err := yaml.Unmarshal([]byte(ask(t, append(call, "-o", "yaml")...)), &node); err != nil {
			t.Fatalf("%q: %v", call, err)
		}
		text, err := json.Marshal(node)
		if err != nil {
			t.Fatalf("%q: %v", call, err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -json +yaml:\n%s", call, diff)
		}
	}
}

// TestSchemas keeps the names and kinds of all values that programs read: a name
// that goes or changes its kind breaks them. A new one is added with -update.
func TestSchemas(t *testing.T) {
	fields := map[string]map[string]bool{}
	for _, call := range calls {
		addSchema(t, fields, strings.Join(call, " "), read[map[string]any](t, call...))
	}
	checkSchemas(t, fields)
}

// TestSchemasOfMeasurements does the same with commands that measure.
func TestSchemasOfMeasurements(t *testing.T) {
	fields := map[string]map[string]bool{}
	for _, line := range []string{
		"validate -m v100x4 --bytes 1KiB --rounds 1 --stress=false",
		"bench -m v100x4 --bytes 1KiB --cycles 1 --iters 1 --warmup 0",
		"bench -m v100x4 --bytes 3:4:+1 --cycles 1 --iters 1 --warmup 0",
	} {
		addSchema(t, fields, line, read[map[string]any](t, strings.Fields(line)...))
	}
	m := newFakeMachine(t, 2)
	peer, _, err := m.bench("--peer", "nccl", "-m", "h200x2", "--bytes", "4KiB", "--tuning", tablesOf(t, best.Choice{Engine: best.NCCL, Symmetric: true}),
		"--how", "stream", "--rounds", "1", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	addSchema(t, fields, "bench --peer", decoded(t, peer))
	p2p, err := p2pWith(t, apart(2, 0), "--bytes", "4KiB", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	addSchema(t, fields, "p2p", decoded(t, p2p))
	ours := best.Choice{Engine: best.Ours, Algo: allreduce.TwoShot, Proto: allreduce.Simple, Blocks: 64, Threads: 512, Pieces: 2}
	theirs := best.Choice{Engine: best.NCCL, Symmetric: true}
	var tuned bytes.Buffer
	if err := writeTuned(&tuned, &best.Table{Class: h200x2, Rows: []best.Row{{Choice: ours, UpTo: 1024}, {Choice: theirs}}, Trial: best.Trial{
		Software: map[string]string{"nccl": "2.28.9"}, Sizes: []best.Size{{Bytes: 1024, Candidates: []best.Candidate{{Choice: ours, Median: 2}, {Choice: theirs, Median: 3}}}}}}, "", "json"); err != nil {
		t.Fatal(err)
	}
	addSchema(t, fields, "bench --tune", decoded(t, tuned.String()))
	checkSchemas(t, fields)
}

func decoded(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%.500s", err, text)
	}
	return v
}

// addSchema adds what stands where in a value to the fields of its schema.
func addSchema(t *testing.T, fields map[string]map[string]bool, call string, v map[string]any) {
	t.Helper()
	schema, _ := v["schema"].(string)
	if !regexp.MustCompile(`^ringtopo\.[a-z0-9]+/v\d+$`).MatchString(schema) {
		t.Errorf("%s: schema %q", call, schema)
	}
	if fields[schema] == nil {
		fields[schema] = map[string]bool{}
	}
	kinds(v, "", fields[schema])
}

func checkSchemas(t *testing.T, fields map[string]map[string]bool) {
	t.Helper()
	for schema, found := range fields {
		name := strings.ReplaceAll(strings.TrimPrefix(schema, "ringtopo."), "/", "-")
		file := filepath.Join("testdata/schema", name+".txt")
		got := strings.Join(slices.Sorted(keysOf(found)), "\n") + "\n"
		if *update {
			write(t, file, []byte(got))
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: (run with -update if that is right)\n%s", file, diff)
		}
	}
}

func keysOf(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// kinds notes where in a value which kind of thing stands. Names that are data,
// such as those of variables, count as one.
func kinds(v any, at string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if !regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`).MatchString(name) {
				name = "NAME"
			}
			kinds(below, strings.TrimPrefix(at+"."+name, "."), into)
		}
	case []any:
		if len(v) == 0 {
			into[at+"[]"] = true
		}
		for _, below := range v {
			kinds(below, at+"[]", into)
		}
	case nil:
		into[at+" null"] = true
	default:
		into[at+" "+map[string]string{"string": "text", "float64": "number", "bool": "bool"}[fmt.Sprintf("%T", v)]] = true
	}
}

// TestRingsAgree: text, table, JSON and the graph file tell the same rings.
func TestRingsAgree(t *testing.T) {
	for _, name := range machines.Names() {
		j := read[ringsJSON](t, "rings", "-m", name)
		var want []string
		for _, c := range j.Channels {
			line := fmt.Sprintf("Channel %02d/%02d : ", c.ID, j.NChannels)
			for _, r := range c.Ring {
				line += fmt.Sprintf(" %3d", r)
			}
			want = append(want, line)
		}
		text := ask(t, "rings", "-m", name, "--full")
		got := strings.Split(strings.TrimSpace(text), "\n")
		for i := range got {
			got[i] = strings.TrimRight(got[i], " ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -json +text:\n%s", name, diff)
		}
		checkTable(t, name, &j)
		if j.Nodes > 1 { // a graph file is of one node
			continue
		}
		graph := filepath.Join(t.TempDir(), "graph.xml")
		ask(t, "rings", "-m", name, "--out", graph)
		if again := ask(t, "rings", "-m", name, "--full", "--set", "NCCL_GRAPH_FILE="+graph); again != text {
			t.Errorf("%s: with its own graph file\n%s\nbut without\n%s", name, again, text)
		}
	}
}

// checkTable looks for each ring of a table among those of JSON, by channel.
func checkTable(t *testing.T, name string, j *ringsJSON) {
	t.Helper()
	table, _, _ := strings.Cut(ask(t, "rings", "-m", name, "-o", "table"), "\n\n")
	rank := regexp.MustCompile(`(\d+) \([0-9a-f.:]+\)`)
	var channels []int
	order := ""
	shown := 0
	check := func() {
		for _, id := range channels {
			want := ""
			for _, r := range j.Channels[id].Ring {
				want += fmt.Sprint(r, " ")
			}
			if order != want {
				t.Errorf("%s: channel %d is %s in the table, %s in JSON", name, id, order, want)
			}
			shown++
		}
		channels, order = nil, ""
	}
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(line, "│")
		if len(cells) < 4 { // between two rings
			check()
			continue
		}
		for _, f := range strings.Fields(cells[0]) {
			id, err := strconv.Atoi(f)
			if err != nil {
				t.Fatalf("%s: channel %q", name, f)
			}
			channels = append(channels, id)
		}
		for _, m := range rank.FindAllStringSubmatch(cells[1], -1) {
			order += m[1] + " "
		}
	}
	check()
	if shown != len(j.Channels) {
		t.Errorf("%s: the table shows %d channels of %d", name, shown, len(j.Channels))
	}
}

// TestTopoAgrees: the matrices of the text are those of JSON.
func TestTopoAgrees(t *testing.T) {
	for _, name := range machines.Names() {
		j := read[topoJSON](t, "topo", "-m", name)
		smi := ask(t, "topo", "-m", name, "--view", "smi")
		nccl := ask(t, "topo", "-m", name, "--view", "nccl")
		for i := range j.GPUs {
			want := append(slices.Clone(j.SMI.GPU[i]), j.SMI.NIC[i]...)
			if got := row(smi, i); !slices.Equal(got, want) {
				t.Errorf("%s: row %d is %q, in JSON %q", name, i, got, want)
			}
			var paths []string
			for _, p := range append(slices.Clone(j.Paths.GPU[i]), j.Paths.NIC[i]...) {
				paths = append(paths, p.Type.String())
				if p.Hops > 0 {
					paths = append(paths, fmt.Sprintf("%.1f", p.BW))
				}
			}
			if got := row(nccl, i); !slices.Equal(got, paths) {
				t.Errorf("%s: row %d is %q, in JSON %q", name, i, got, paths)
			}
		}
	}
}

// row gives the words of a GPU's row in a matrix.
func row(text string, gpu int) []string {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == fmt.Sprintf("GPU%d", gpu) && len(f) > 1 && !strings.HasPrefix(f[1], "GPU") {
			return f[1:]
		}
	}
	return nil
}

// TestSchedulesAgree: CSV and JSON have the same rows, and every element of the
// message comes to every rank.
func TestSchedulesAgree(t *testing.T) {
	for _, args := range [][]string{
		{"schedule", "--ring", "0 2 3 1", "--bytes", "1000"},
		{"schedule", "-m", "v100x4", "--bytes", "1MiB", "--channel", "5"},
		{"schedule", "-m", "dgx-1v", "--bytes", "3MiB", "--proto", "Simple", "--buffsize", "64KiB"},
	} {
		j := read[struct {
			Ring  []int
			Count int64
			Rows  []struct {
				Rank  int
				Phase string
				Count int64
			}
		}](t, args...)
		records, err := csv.NewReader(strings.NewReader(ask(t, append(args, "-o", "csv")...))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != len(j.Rows)+1 {
			t.Errorf("%q: %d rows of CSV, %d of JSON", args, len(records)-1, len(j.Rows))
		}
		covered := map[int]int64{}
		for _, r := range j.Rows {
			if r.Phase != "reduce-scatter" {
				covered[r.Rank] += r.Count
			}
		}
		for _, rank := range j.Ring {
			// Each rank finishes its own chunk and receives all others.
			if covered[rank] != j.Count {
				t.Errorf("%q: rank %d gets %d elements of %d", args, rank, covered[rank], j.Count)
			}
		}
	}
}

// TestPlansAgree: the lines of CSV tell what JSON tells.
func TestPlansAgree(t *testing.T) {
	args := []string{"plan", "-m", "dgx-a100", "--nodes", "2", "--bytes", "1KiB:64MiB:8"}
	j := read[planJSON](t, args...)
	records, err := csv.NewReader(strings.NewReader(ask(t, append(args, "-o", "csv")...))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(j.Ops)+1 {
		t.Fatalf("%d lines of %d operations", len(records)-1, len(j.Ops))
	}
	for i, op := range j.Ops {
		r := records[i+1]
		if r[0] != fmt.Sprint(op.Bytes) || r[1] != op.Algo.String() || r[2] != op.Proto.String() {
			t.Errorf("line %q, in JSON %d %v %v", r, op.Bytes, op.Algo, op.Proto)
		}
		if us, err := strconv.ParseFloat(r[3], 64); err != nil || us < float64(*op.Time)*0.99-0.1 || us > float64(*op.Time)*1.01+0.1 {
			t.Errorf("line %q, in JSON %v us", r, *op.Time)
		}
	}
}
