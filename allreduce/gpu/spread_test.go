package gpu

import (
	"context"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// Idle blocks stand between those that work, but not in cooperative launches,
// whose blocks must all have a place at once.
func TestSpreadOfRings(t *testing.T) {
	alone := &allreduce.Layout{NRanks: 2, BuffSize: [3]int{65536, 614400, 65536}, Rings: [][]int{{0, 1}, {0, 1}, {0, 1}}}
	for _, c := range []struct {
		layout       *allreduce.Layout
		spread       int
		grid, spaced int
	}{
		{alone, 0, 3, 1}, {alone, 1, 3, 1}, {alone, 4, 12, 4}, {fourRanks(3), 4, 6, 1},
	} {
		m, drv := newMachine(t, 2)
		l, p := plans(t, c.layout, plan.Task{Count: 1 << 20, DType: allreduce.Float32})
		ex, err := New(l, Options{Driver: drv, Spread: c.spread})
		if err != nil {
			t.Fatal(err)
		}
		trial, err := verify.NewTrial(ex, p, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, r := range m.rings {
			if int(r.spread) != c.spaced {
				t.Errorf("spread %d of %d ranks: the kernel is told %d, want %d", c.spread, l.NRanks, r.spread, c.spaced)
			}
		}
		var grids []int
		for _, s := range m.seen {
			if s.Kernel == "ring_simple" {
				grids = append(grids, s.Grid)
			}
		}
		if want := slices.Repeat([]int{c.grid}, 2); !slices.Equal(grids, want) {
			t.Errorf("spread %d of %d ranks: grids %v, want %v", c.spread, l.NRanks, grids, want)
		}
		if err := trial.Close(); err != nil {
			t.Error(err)
		}
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
}
