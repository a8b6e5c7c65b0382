package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// genValue draws any JSON value.
func genValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.String().Draw(t, "text")
	case 1:
		return float64(rapid.IntRange(-1e6, 1e6).Draw(t, "number"))
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 12).Draw(t, "items") {
			list = append(list, genValue(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 6).Draw(t, "keys") {
		object[rapid.String().Draw(t, "key")] = genValue(t, depth-1)
	}
	return object
}

func TestEncodeKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genValue(t, 4)
		var out bytes.Buffer
		if err := encode(&out, "json", want); err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s in\n%s", diff, out.String())
		}
	})
}

func TestEncodeLayout(t *testing.T) {
	value := map[string]any{
		"a": []string{"one, two", `three: "four"`},
		"b": []any{map[string]any{"long": strings.Repeat("x", 100)}, map[string]int{"short": 1}},
		"c": map[string]int{},
	}
	const want = `{
  "a": ["one, two", "three: \"four\""],
  "b": [
    {
      "long": "` + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + `"
    },
    {"short": 1}
  ],
  "c": {}
}
`
	var out bytes.Buffer
	if err := encode(&out, "json", value); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestYAMLHasTheSameNamesAndTypes(t *testing.T) {
	value := ringsJSON{Schema: "x/v1", Set: map[string]string{"NCCL_MIN_NCHANNELS": "12"}, RankToNode: []int{0, 1}}
	var out bytes.Buffer
	if err := encode(&out, "yaml", value); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema     string
		Set        map[string]string
		RankToNode []int `yaml:"rankToNode"`
	}
	if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != value.Schema || !cmp.Equal(got.Set, value.Set) || !cmp.Equal(got.RankToNode, value.RankToNode) {
		t.Errorf("got %+v from\n%s", got, out.String())
	}
	if !strings.Contains(out.String(), `NCCL_MIN_NCHANNELS: "12"`) {
		t.Errorf("a text became a number in\n%s", out.String())
	}
}

func TestWriteFileLeavesNothingHalf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := writeFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "before" {
		t.Errorf("the file now holds %q", text)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWriteFileKeepsLinksAndDevices(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	if err := writeFile(link, hello); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(target); string(text) != "hello" {
		t.Errorf("the link's target holds %q", text)
	}
	if err := writeFile(os.DevNull, hello); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s was replaced: %v", os.DevNull, err)
	}
}

func TestInterruptedCommandWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "rings.json")
	var out, notes bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &notes}
	if code := a.run(ctx, []string{"rings", "-m", "v100x4", "--out", path}); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, notes.String())
	}
	if _, err := os.Stat(path); err == nil || out.Len() > 0 {
		t.Errorf("a result was written: %v, %q", err, out.String())
	}
}
