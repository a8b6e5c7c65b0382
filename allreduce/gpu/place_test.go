package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
	"pgregory.net/rapid"
)

func TestPlacement(t *testing.T) {
	_, drv := newMachine(t, 2)
	for name, c := range map[string]struct {
		ranks int
		o     Options
		want  string
	}{
		"too few named":  {3, Options{Devices: []int{0}}, "1 GPUs named for 3 ranks"},
		"too many ranks": {17, Options{Devices: make([]int, 17)}, "more than 16 ranks"},
		"too few each":   {8, Options{RanksPerGPU: 2}, "8 ranks at 2 per GPU need 4 GPUs, this machine has 2: put 4 on each"},
		"less than none": {8, Options{RanksPerGPU: -1}, "want at least 1"},
		"far too many":   {33, Options{}, "more than 16 ranks"},
	} {
		_, err := place(drv, c.ranks, &c.o)
		var misplaced *PlacementError
		if !errors.As(err, &misplaced) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := place(drv, 2, &Options{Devices: []int{0, 2}}); !errors.Is(err, cuda.ErrNoDevice) || !strings.Contains(err.Error(), "GPU 2") {
		t.Errorf("a GPU too many: %v", err)
	}
	for name, c := range map[string]struct {
		ranks int
		o     Options
		want  []int
	}{
		"as many as it takes": {5, Options{}, []int{0, 0, 0, 1, 1}}, "one each": {2, Options{RanksPerGPU: 1}, []int{0, 1}},
		"all on the first": {4, Options{RanksPerGPU: 4}, []int{0, 0, 0, 0}}, "named": {3, Options{Devices: []int{1, 0, 1}, RanksPerGPU: 7}, []int{1, 0, 1}},
	} {
		list, err := place(drv, c.ranks, &c.o)
		var got []int
		for _, d := range list {
			got = append(got, d.Ordinal)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestOldGPU(t *testing.T) {
	m := cudafake.New(1)
	m.Major = 6
	drv, err := cuda.New(m.API())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place(drv, 1, &Options{}); err == nil || !strings.Contains(err.Error(), "compute capability 6.0, the kernels need 7.0") {
		t.Errorf("got %v", err)
	}
}

// Ranks take GPUs in order, none too many, and no GPU between is left empty.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, gpus, per := rapid.IntRange(1, 40).Draw(rt, "ranks"), rapid.IntRange(1, 9).Draw(rt, "GPUs"), rapid.IntRange(0, 41).Draw(rt, "per GPU")
		list, err := spread(n, per, gpus)
		if fits := per == 0 || per*gpus >= n; fits != (err == nil) {
			rt.Fatalf("%v", err)
		} else if !fits {
			return
		}
		count := map[int]int{}
		for r, d := range list {
			count[d]++
			if d < 0 || d >= gpus || r > 0 && d != list[r-1] && d != list[r-1]+1 || per > 0 && count[d] > per {
				rt.Fatalf("ranks on %v", list)
			}
		}
	})
}
