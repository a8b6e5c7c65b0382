package graphviz

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	upstream "github.com/goccy/go-graphviz"

	"github.com/ringtopo/ringtopo/graph/draw/internal/graphviz/privatetmp"
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(privatetmp.Dir)
	os.Exit(code)
}

// TestModuleIsUpstreams fails when go.mod has moved on and go generate was not run.
func TestModuleIsUpstreams(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/goccy/go-graphviz").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	theirs, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "internal", "wasm", "graphviz.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(wasm, theirs) {
		t.Error("graphviz.wasm is not go-graphviz's: run go generate ./graph/draw/...")
	}
}

func TestPicturesAreUpstreams(t *testing.T) {
	if cached, _ := filepath.Glob(filepath.Join(privatetmp.Dir, "go-graphviz", "*", "*")); len(cached) == 0 {
		t.Error("go-graphviz did not use the private temporary folder")
	}
	for layout, text := range map[string]string{
		"nop2": sample,
		"dot":  `digraph { a -> b [label="x & y"]; b -> c; a -> c [style=dashed]; c [label=<<B>bold</B><BR/>small>] }`,
	} {
		ours, err := Render(t.Context(), []byte(text), layout, "svg")
		if err != nil {
			t.Fatal(err)
		}
		if theirs := upstreamSVG(t, text, layout); !bytes.Equal(ours, theirs) {
			t.Errorf("%s: ours\n%s\ntheirs\n%s", layout, ours, theirs)
		}
	}
}

func upstreamSVG(t *testing.T, text, layout string) []byte {
	t.Helper()
	g, err := upstream.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := upstream.ParseBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := g.SetLayout(upstream.Layout(layout)).Render(t.Context(), parsed, upstream.SVG, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
