package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ringtopo/ringtopo"

// layers is the order of the house: a package may import its own layer and
// those before it. A sub-package belongs to the layer of its first folder.
var layers = []string{"topo", "graph", "rings", "connect", "allreduce", "cmd"}

// leaves are the layers beside the order, with the only folders that may
// import them; nil means everybody. A leaf imports no layer.
var leaves = map[string][]string{
	"cuda":             {"allreduce/gpu", "allreduce/nccl"},
	"internal/ncclenv": nil,
}

// reserved are modules and packages with the only folders that may import them.
// Test helpers and generators may import anything.
var reserved = map[string][]string{
	"github.com/spf13/cobra":          {"cmd"},
	"github.com/spf13/pflag":          {"cmd"},
	"github.com/jedib0t/go-pretty":    {"cmd"},
	"github.com/vbauerster/mpb":       {"cmd"},
	"github.com/goccy/go-graphviz":    {"graph/draw"},
	"github.com/tetratelabs/wazero":   {"graph/draw"},
	"github.com/fogleman/gg":          {"graph/draw"},
	"github.com/NVIDIA/go-nvml":       {"topo/probe"},
	"github.com/ebitengine/purego":    {"cuda", "allreduce/nccl"},
	"gonum.org/v1/plot":               {"allreduce/bench", "cmd"},
	"flag":                            {"cmd"},
	"log":                             {},
	"testing":                         {},
	"github.com/google/go-cmp":        {},
	"github.com/rogpeppe/go-internal": {},
	"pgregory.net/rapid":              {},
}

// pkg is what go list says of one package; Imports leaves out its tests.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
}

func (p pkg) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	return pkgs
}

func TestImportOrder(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, fault := range faults(p) {
			t.Error(fault)
		}
	}
}

// faults says which imports of p break the order.
func faults(p pkg) []string {
	var out []string
	for _, path := range p.Imports {
		if target, ours := strings.CutPrefix(path, module+"/"); ours {
			if why := orderFault(p.folder(), target); why != "" {
				out = append(out, p.folder()+" imports "+target+": "+why)
			}
			continue
		}
		if reservedFor, ok := reservation(path); ok && !anyWithin(p.folder(), reservedFor) && !isTool(p.folder()) {
			out = append(out, fmt.Sprintf("%s imports %s: reserved for %q", p.folder(), path, reservedFor))
		}
	}
	return out
}

// isTool says whether a folder is no part of the program: it helps tests or
// generates code.
func isTool(folder string) bool {
	return strings.HasSuffix(folder, "test") || strings.HasSuffix(folder, "/gen") || folder == "internal/vectors"
}

// reservation gives the folders that an imported package is reserved for.
func reservation(path string) ([]string, bool) {
	for name, folders := range reserved {
		if within(path, name) {
			return folders, true
		}
	}
	return nil, false
}

// orderFault says why folder from may not import folder to; "" if it may.
func orderFault(from, to string) string {
	for leaf, allowed := range leaves {
		switch {
		case within(to, leaf) && within(from, leaf):
			return ""
		case within(to, leaf) && allowed != nil && !anyWithin(from, allowed):
			return "only " + strings.Join(allowed, ", ") + " may"
		case within(from, leaf) && layer(to) >= 0:
			return "a leaf imports no layer"
		}
	}
	if f, t := layer(from), layer(to); f >= 0 && t >= 0 && f < t {
		return layers[f] + " stands before " + layers[t]
	}
	return ""
}

// layer is the place of a folder in the order, -1 if it stands beside it.
func layer(folder string) int {
	first, _, _ := strings.Cut(folder, "/")
	return slices.Index(layers, first)
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func anyWithin(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(path, f) })
}

func TestOrderFaultsAreSeen(t *testing.T) {
	bad := []struct {
		from    string
		imports string
	}{
		{"topo", module + "/graph"},
		{"graph", module + "/rings/graphxml"},
		{"rings", module + "/connect"},
		{"connect/nccllog", module + "/allreduce/plan"},
		{"allreduce/host", module + "/cmd/ringtopo"},
		{"allreduce/host", module + "/cuda"},
		{"topo/probe", module + "/cuda"},
		{"cuda/kernels", module + "/topo"},
		{"internal/ncclenv", module + "/graph"},
		{"rings", "github.com/spf13/cobra"},
		{"connect", "github.com/goccy/go-graphviz/cgraph"},
		{"cmd/ringtopo", "github.com/goccy/go-graphviz"},
		{"graph", "testing"},
	}
	for _, b := range bad {
		if len(faults(pkg{ImportPath: module + "/" + b.from, Imports: []string{b.imports}})) == 0 {
			t.Errorf("%s may import %s", b.from, b.imports)
		}
	}
	good := pkg{ImportPath: module + "/allreduce/gpu", Imports: []string{
		module + "/cuda/kernels", module + "/allreduce/plan", module + "/topo", "fmt",
	}}
	if f := faults(good); len(f) > 0 {
		t.Errorf("a good package has faults: %v", f)
	}
}
