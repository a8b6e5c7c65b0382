package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the top of the project as seen from this package.
const root = "../.."

// The longest files that still count as readable.
const (
	maxLines     = 400
	maxTestLines = 500
)

// screen names what only cmd may use: the process's own streams, arguments
// and end.
var screen = map[string][]string{
	"os":  {"Stdout", "Stderr", "Stdin", "Args", "Exit"},
	"fmt": {"Print", "Printf", "Println"},
}

// goFiles gives the project's Go files, tests too, without generated ones.
func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(src, []byte("DO NOT EDIT.")) {
			rel, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(rel)] = src
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d Go files found", len(files))
	}
	return files
}

func TestFilesAreShort(t *testing.T) {
	for path, src := range goFiles(t) {
		most := maxLines
		if strings.HasSuffix(path, "_test.go") {
			most = maxTestLines
		}
		if n := bytes.Count(src, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, more than %d: split it", path, n, most)
		}
	}
}

func TestOnlyCmdTouchesTheScreen(t *testing.T) {
	for path, src := range goFiles(t) {
		if strings.HasPrefix(path, "cmd/") || strings.HasSuffix(path, "_test.go") || isTool(filepath.ToSlash(filepath.Dir(path))) {
			continue
		}
		for _, use := range screenUses(t, path, src) {
			t.Errorf("%s: only cmd may use it", use)
		}
	}
}

// screenUses lists where a file uses the screen, as file:line: name.
func screenUses(t *testing.T, path string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var uses []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(screen[x.Name], sel.Sel.Name) {
			uses = append(uses, fmt.Sprintf("%s: %s.%s", fset.Position(sel.Pos()), x.Name, sel.Sel.Name))
		}
		return true
	})
	return uses
}

func TestScreenUsesAreSeen(t *testing.T) {
	src := []byte("package p\nimport \"os\"\nfunc f() { os.Exit(1) }\n")
	if got := screenUses(t, "p.go", src); len(got) != 1 || got[0] != "p.go:3:12: os.Exit" {
		t.Errorf("got %q", got)
	}
}

// TestEveryPackageIsOnTheMap makes sure that docs/architecture.md names every
// package.
func TestEveryPackageIsOnTheMap(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range listPackages(t) {
		name := "`" + p.folder() + "`"
		if strings.HasSuffix(p.folder(), "/gen") || strings.Contains(p.folder(), "/internal/") {
			continue
		}
		if !bytes.Contains(page, []byte(name)) {
			t.Errorf("docs/architecture.md does not name %s", name)
		}
	}
}
