package best_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
)

// Whatever is measured can be kept: every candidate is a choice of a table, and
// none is there twice. NCCL takes part on GPUs, rings everywhere.
func TestCandidates(t *testing.T) {
	for _, c := range []best.Class{h200x2, {Engine: "host", Device: "a processor", Devices: 2, Ranks: 4, Link: best.Memory}} {
		for bytes := int64(1); bytes <= 1<<34; bytes *= 4 {
			seen := map[best.Choice]bool{}
			algos, engines := map[allreduce.Algo]bool{}, map[best.Engine]bool{}
			for _, x := range best.Candidates(c, bytes) {
				if seen[x] {
					t.Errorf("%s, %d bytes: %s twice", c.Engine, bytes, x)
				}
				seen[x], algos[x.Algo], engines[x.Engine] = true, true, true
				f := &best.File{}
				f.Put(best.Table{Class: c, Rows: []best.Row{{Choice: x}}})
				reread(t, f)
			}
			if !algos[allreduce.Ring] || !algos[allreduce.OneShot] && !algos[allreduce.TwoShot] || engines[best.NCCL] != (c.Engine == "gpu") {
				t.Errorf("%s, %d bytes: %v", c.Engine, bytes, seen)
			}
		}
	}
}

// A launch that the executor shapes itself comes before those of other shapes.
func TestDefaultsComeFirst(t *testing.T) {
	first := map[[2]int]best.Choice{}
	for _, x := range best.Candidates(h200x2, 1<<20) {
		key := [2]int{int(x.Algo), int(x.Proto)}
		if _, ok := first[key]; !ok && x.Engine == best.Ours {
			first[key] = x
		}
	}
	for _, x := range first {
		if x.Blocks != 0 || x.Threads != 0 || x.Pieces != 0 {
			t.Errorf("%s comes first", x)
		}
	}
}
