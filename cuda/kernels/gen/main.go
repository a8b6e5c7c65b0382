// Command gen compiles the kernels in src to PTX, one small module per source
// and element type, and writes the Go file that embeds them and gives every
// kernel a typed launch. It is run by go generate and needs clang 19.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ringtopo/ringtopo/cuda/kernels/internal/source"
)

// sources are the modules; typed ones are compiled for every element type.
var sources = []struct {
	name  string
	typed bool
}{{"ring_ll", true}, {"ring_ll128", true}, {"ring_simple", true}, {"oneshot", true}, {"oneshot_ll128", true},
	{"twoshot", true}, {"twoshot_loads", true}, {"twoshot_ll128", true}, {"p2p", false}}

// types by the planner's numbers, which the sources know as RT_TYPE, and what the
// modules of each are compiled for. Older GPUs take many instructions to round to
// bfloat16.
var types = []struct {
	name  string
	archs []string
}{{"int8", oldest}, {"uint8", oldest}, {"int32", oldest}, {"uint32", oldest}, {"int64", oldest}, {"uint64", oldest},
	{"float16", oldest}, {"float32", oldest}, {"float64", oldest}, {"bfloat16", []string{"sm_70", "sm_80"}}}

var oldest = []string{"sm_70"}

// arguments of the compiler. They keep paths and versions out of the PTX, and
// forbid what would change bits: contraction to fused operations, and undefined
// overflow.
var arguments = []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
	"-std=c++17", "-O3", "-ffp-contract=off", "-fwrapv", "-Wall", "-Werror", "-Wno-unused-function", "-S", "-o", "-"}

func main() {
	clang := flag.String("clang", "clang-19", "compiler")
	dir := flag.String("dir", ".", "folder of package kernels")
	check := flag.Bool("check", false, "compare with the committed files instead of writing")
	only := flag.String("only", "", "with -check: this module alone, such as ring_float32")
	flag.Parse()
	if *only != "" && !*check {
		fmt.Fprintln(os.Stderr, "gen: -only goes with -check")
		os.Exit(2)
	}
	files, err := build(*clang, *dir, *only)
	if err == nil {
		err = finish(*dir, files, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// build makes all generated files, by path inside the package, or the PTX of one
// module alone.
func build(clang, dir, only string) (map[string][]byte, error) {
	files := map[string][]byte{}
	entries, err := buildModules(clang, dir, only, files)
	if err != nil {
		return nil, err
	}
	if only != "" {
		if len(files) == 0 {
			return nil, fmt.Errorf("no module %s", only)
		}
		return files, nil
	}
	hash, err := source.Hash(filepath.Join(dir, "src"))
	if err != nil {
		return nil, err
	}
	files["generated.go"], err = writeGo(entries, hash)
	return files, err
}

// module is a source for one element type, and its PTX.
type module struct {
	source, name, arch string
	dtype              int
	ptx                []byte
}

// list names the modules, or the one that is wanted.
func list(only string) (list []module) {
	add := func(m module) {
		if m.arch != oldest[0] {
			m.name += "_" + strings.ReplaceAll(m.arch, "_", "")
		}
		if only == "" || only == m.name {
			list = append(list, m)
		}
	}
	for _, s := range sources {
		if !s.typed {
			add(module{source: s.name, name: s.name, arch: oldest[0]})
			continue
		}
		for i, t := range types {
			for _, arch := range t.archs {
				add(module{source: s.name, name: s.name + "_" + t.name, arch: arch, dtype: i})
			}
		}
	}
	return list
}

// buildModules adds the PTX of modules to files and lists their kernels, which
// must have the same parameters for every type. Modules are compiled side by side.
func buildModules(clang, dir, only string, files map[string][]byte) (entries []entry, err error) {
	modules := list(only)
	var work errgroup.Group
	work.SetLimit(runtime.NumCPU())
	for i := range modules {
		work.Go(func() (err error) {
			m := &modules[i]
			if m.ptx, err = compile(clang, filepath.Join(dir, "src", m.source+".cu"), m.arch, m.dtype); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i, m := range modules {
		found, err := parseEntries(m.ptx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if i == 0 || modules[i-1].source != m.source {
			entries = append(entries, found...)
		} else if !slices.EqualFunc(entries[len(entries)-len(found):], found, entry.equal) {
			return nil, fmt.Errorf("%s: its parameters differ from those of %s", m.name, modules[i-1].name)
		}
		files["ptx/"+m.name+".ptx"] = m.ptx
	}
	return entries, nil
}

func compile(clang, source, arch string, dtype int) ([]byte, error) {
	cmd := exec.Command(clang, append(slices.Clone(arguments), "--cuda-gpu-arch="+arch, fmt.Sprintf("-DRT_TYPE=%d", dtype), filepath.Base(source))...)
	cmd.Dir = filepath.Dir(source)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, msg.Bytes())
	}
	return strip(out.Bytes()), nil
}

// strip removes comments and blank lines: they are a third of the text.
func strip(ptx []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(ptx) {
		line, _, _ = bytes.Cut(line, []byte("//"))
		line = bytes.TrimRight(line, " \t\n")
		if len(bytes.TrimSpace(line)) > 0 {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// finish writes the files, or says which differ from the committed ones.
func finish(dir string, files map[string][]byte, check bool) error {
	old, err := filepath.Glob(filepath.Join(dir, "ptx", "*.ptx"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := files["ptx/"+filepath.Base(path)]; !ok && check && files["generated.go"] != nil {
			return fmt.Errorf("%s is not generated any more", path)
		}
	}
	for name, want := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if check {
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
				return fmt.Errorf("%s is stale: run go generate ./cuda/kernels", path)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			return err
		}
	}
	return nil
}
