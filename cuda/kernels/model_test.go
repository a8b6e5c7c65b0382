package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build compiles a model of the kernels for this processor.
func build(t *testing.T, name string, dtype int) string {
	t.Helper()
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("no clang-19 here")
	}
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command(clang, "-x", "c++", "-std=c++17", "-O1", "-DRT_MODEL", fmt.Sprintf("-DRT_TYPE=%d", dtype),
		"-I.", "-fwrapv", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused-function", name+".cc", "-o", bin, "-lstdc++", "-lm")
	cmd.Dir = "model"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// some gives the first only, unless the long tests are wanted.
func some(types ...int) []int {
	if os.Getenv("RINGTOPO_TEST_FULL") == "" {
		return types[:1]
	}
	return types
}

// seeds is how many schedules are tried.
func seeds() int {
	if os.Getenv("RINGTOPO_TEST_FULL") == "" {
		return 1
	}
	return 6
}

func run(bin string, args ...any) (string, int) {
	var words []string
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	out, err := exec.Command(bin, words...).CombinedOutput()
	if e, ok := err.(*exec.ExitError); ok {
		return string(out), e.ExitCode()
	}
	return string(out), 0
}

// Small elements share words, and are combined there.
func TestModelOfElements(t *testing.T) {
	for _, dtype := range []int{0, 1, 6, 9} {
		bin := build(t, "element", dtype)
		for seed := range seeds() {
			if out, code := run(bin, seed); code != 0 {
				t.Errorf("type %d, seed %d: exit %d\n%s", dtype, seed, code, out)
			}
		}
	}
}

// Random rings, protocols, parts, sizes, alignments and schedules of threads;
// two groups of works on the same connections in each run.
func TestModelOfRing(t *testing.T) {
	for _, dtype := range some(7, 0, 6) {
		bin := build(t, "ring", dtype)
		for seed := range seeds() {
			for ranks := 1; ranks <= 4; ranks++ {
				rounds := 2 + 54/(ranks*ranks) // so many that threads which sat out one work take part in the next
				if out, code := run(bin, ranks, 3, rounds, seed); code != 0 {
					t.Errorf("type %d, %d ranks, seed %d: exit %d\n%s", dtype, ranks, seed, code, out)
				}
			}
		}
	}
}

// Planned defects must show as wrong data (exit 1) or a stall (exit 2).
func TestModelOfFaults(t *testing.T) {
	const dropped, stale, stopped = 1, 3, 4
	bin := build(t, "ring", 7)
	for _, c := range []struct{ kind, rank, channel, step, exit int }{
		{dropped, 0, 0, 0, 1}, {dropped, 1, 1, 2, 1}, {stale, 0, 1, 1, 1}, {stopped, 0, 0, 2, 2}, {stopped, 2, 1, 0, 2},
	} {
		out, code := run(bin, 3, 2, 30, 5, c.kind, c.rank, c.channel, c.step)
		if code != c.exit {
			t.Errorf("%+v: exit %d\n%s", c, code, out)
		}
		if c.kind == stopped && !strings.Contains(out, fmt.Sprintf("waits for data of %d", c.rank)) {
			t.Errorf("%+v: nobody waits for the stopped rank\n%s", c, out)
		}
	}
}

// Half of the runs start just before the flags' values return.
func TestModelOfDirect(t *testing.T) {
	for _, dtype := range some(7, 2) {
		bin := build(t, "direct", dtype)
		for seed := range seeds() {
			for _, ranks := range []int{2, 3, 5} {
				if out, code := run(bin, ranks, 12, seed); code != 0 {
					t.Errorf("type %d, %d ranks, seed %d: exit %d\n%s", dtype, ranks, seed, code, out)
				}
			}
		}
	}
}
