package kernels

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/cuda/kernels/internal/source"
)

var types = []string{"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16"}

// kernelNames are the kernels that exist for each type, with the size of their
// parameter.
var kernelNames = map[string]int{"ring_ll": 560, "ring_ll128": 560, "ring_simple": 560,
	"oneshot": 1024, "oneshot_ll128": 1024, "twoshot": 1024, "twoshot_loads": 1024, "twoshot_ll128": 1024}

// Even without a compiler, PTX that is older than its sources shows.
func TestPTXIsOfTheseSources(t *testing.T) {
	hash, err := source.Hash("src")
	if err != nil {
		t.Fatal(err)
	}
	if hash != SourceSHA256 {
		t.Errorf("the PTX was made of other sources: run go generate ./cuda/kernels")
	}
}

// With the compiler at hand, its output must be what is committed, byte by byte.
// The whole takes minutes on a slow machine, one module seconds.
func TestPTXIsReproducible(t *testing.T) {
	if _, err := exec.LookPath("clang-19"); err != nil {
		t.Skip("no clang-19 here; the hash of the sources is checked all the same")
	}
	args := []string{"run", "./gen", "-check"}
	if os.Getenv("RINGTOPO_TEST_FULL") == "" {
		args = append(args, "-only", "ring_ll128_float64")
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestModules(t *testing.T) {
	files, err := fs.Glob(modules, "ptx/*.ptx")
	if err != nil || len(files) != len(kernelNames)*(len(types)+1)+1 {
		t.Errorf("%d modules, %v; want one for each kernel and type, two for bfloat16, and one for all", len(files), err)
	}
	for _, ty := range types {
		for kernel, bytes := range kernelNames {
			ptx, err := PTX(kernel, ty, 9)
			if err != nil {
				t.Fatal(err)
			}
			old, err := PTX(kernel, ty, 7)
			if err != nil || !strings.Contains(string(old), ".target sm_70") {
				t.Errorf("%s of %s: %v, or not for old GPUs", kernel, ty, err)
			}
			if newer := strings.Contains(string(ptx), ".target sm_80"); newer != (ty == "bfloat16") {
				t.Errorf("%s of %s: for compute capability 8.0 only: %v", kernel, ty, newer)
			}
			flat := strings.ReplaceAll(string(ptx), "\n", "")
			want := fmt.Sprintf(".visible .entry %s(\t.param .align 8 .b8 %s_param_0[%d])", kernel, kernel, bytes)
			if !strings.Contains(flat, want) || strings.Count(flat, ".entry") != 1 {
				t.Errorf("%s of %s: want one entry, %s", kernel, ty, want)
			}
		}
	}
	if _, err := PTX("ring_ll", "float8", 9); err == nil {
		t.Error("a module of an unknown type")
	}
}

var fusedRE = regexp.MustCompile(`\bfma\.|\bmad\.[a-z]+\.f|\.ftz|\.approx|\.local\b`)

// What would change bits, or put a kernel's parameter into local memory.
func TestNoFusedOrLocal(t *testing.T) {
	files, err := fs.Glob(modules, "ptx/*.ptx")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		ptx, err := modules.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		target, version := ".target sm_70\n", ".version 6.0\n"
		if strings.HasSuffix(name, "_sm80.ptx") {
			target, version = ".target sm_80\n", ".version 7.0\n"
		}
		if !bytes.Contains(ptx, []byte(target)) || !bytes.Contains(ptx, []byte(version)) {
			t.Errorf("%s is not for %s%s", name, target, version)
		}
		if m := fusedRE.Find(ptx); m != nil {
			t.Errorf("%s contains %s", name, m)
		}
	}
}

var lineRE = regexp.MustCompile(`bar\.warp\.sync|st\.volatile\.global\.v4|\bbra\b|\$L__|\.entry \w+`)

// A line of 128 bytes is whole only if the warp is as one from before its first
// store to after its last: in a straight line between two barriers.
func TestLinesAreWrittenAsOne(t *testing.T) {
	for _, module := range []string{"ring_ll128", "oneshot_ll128", "twoshot_ll128"} {
		for _, ty := range append(types, "bfloat16_sm80") {
			ptx, err := PTX(module, ty, 7)
			if err != nil {
				t.Fatal(err)
			}
			kernel, stores, open := "", 0, 0
			for _, m := range lineRE.FindAllString(string(ptx), -1) {
				switch {
				case strings.HasPrefix(m, ".entry"):
					kernel, open = m, -1
				case m == "bar.warp.sync":
					if open != 4 {
						open = 0 // the first of a pair
						continue
					}
					open, stores = -1, stores+1
				case strings.HasPrefix(m, "st.") && open >= 0:
					open++
				case strings.HasPrefix(m, "st."):
					t.Fatalf("%s of %s %s: a line is stored outside of barriers", module, ty, kernel)
				case open >= 0:
					t.Fatalf("%s of %s %s: a branch while a line is stored", module, ty, kernel)
				}
			}
			if stores == 0 || open >= 0 {
				t.Errorf("%s of %s: %d lines are written between barriers, one left open: %v", module, ty, stores, open >= 0)
			}
		}
	}
}
