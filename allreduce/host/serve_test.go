package host

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// smallSegment is shared memory of a layout of four ranks.
func smallSegment(t *testing.T) (*segment, *allreduce.Layout) {
	t.Helper()
	l := executortest.Four()
	g, err := newSegment(l, shape{l.NRanks, l.Channels()}, launch.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.close() })
	return g, l
}

// A process that has been told nonsense says so, and does not touch the memory.
func TestServeRefusesNonsense(t *testing.T) {
	l := executortest.Four()
	file, err := launch.Memory(100)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	layout := `{"Layout":{"NRanks":1,"Rings":[[0]],"BuffSize":[16384,16384,16384]}}`
	for name, c := range map[string]struct {
		rank *launch.Rank
		want string
	}{
		"no set-up":     {&launch.Rank{Size: 4}, "set-up"},
		"broken set-up": {&launch.Rank{Size: 4, Setup: []byte("{")}, "set-up"},
		"no layout":     {&launch.Rank{Size: 4, Setup: []byte("{}"), Files: []*os.File{file}}, "1 files for 4 ranks"},
		"no memory":     {&launch.Rank{Size: 1, Setup: []byte(layout)}, "0 files for 1 ranks"},
		"other world":   {&launch.Rank{Size: l.NRanks, Setup: []byte(layout), Files: []*os.File{file}}, "1 files for 4 ranks"},
	} {
		if err := Serve(c.rank); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Buffers are mapped ahead of a run that has new ones, and left alone in the
// next one with the same; what they hold stays.
func TestPopulateNewBuffers(t *testing.T) {
	g, l := smallSegment(t)
	e := newEngine(l, g)
	e.bells = &futexBells{ctl: e.ctl, shape: e.shape}
	w := newWorker(e, 0, 0, first)
	tenant := &tenant{engine: e, segment: g}
	buffers := make([][]byte, 4)
	for i := range buffers {
		b, err := g.alloc(int64(3*pageBytes + i))
		if err != nil {
			t.Fatal(err)
		}
		for j := range b {
			b[j] = byte(i + j)
		}
		buffers[i] = b
	}
	before := slices.Clone(g.bytes[g.places.arena:][:16*pageBytes])
	run := func(list ...span) uint64 {
		moved := w.progress
		e.spans.list = list
		tenant.populate(w)
		return w.progress - moved
	}
	one, other := span{buffers[0][256:], buffers[1]}, span{buffers[2], buffers[3][:1]}
	for i, c := range []struct {
		list []span
		want uint64 // pieces
	}{{[]span{one}, 2}, {[]span{one}, 0}, {[]span{one, other}, 2}, {[]span{other, one}, 4}, {nil, 0}, {[]span{one}, 2}, {[]span{{one.in[:0], one.out}}, 1}} {
		if got := run(c.list...); got != c.want {
			t.Errorf("run %d: %d pieces were mapped, want %d", i, got, c.want)
		}
	}
	if !bytes.Equal(before, g.bytes[g.places.arena:][:16*pageBytes]) {
		t.Error("mapping changed what buffers hold")
	}
}

func TestSameStretch(t *testing.T) {
	b := make([]byte, 10)
	if !same(b[2:5], b[2:5]) || same(b[2:5], b[2:6]) || same(b[2:5], b[3:6]) {
		t.Error("stretches are confused")
	}
}

// Where ranks have processors to themselves they may wait awake for the next
// run; where they share them they make room.
func TestPatience(t *testing.T) {
	few, many := shape{ranks: 1}, shape{ranks: runtime.NumCPU()}
	if n := many.patience(); n != crowdedYields {
		t.Errorf("%d yields with a rank per processor", n)
	}
	if n := few.patience(); runtime.NumCPU() > 1 && n != remoteYields {
		t.Errorf("%d yields with one rank", n)
	}
}

// Processes that have gone to sleep between runs wake up for the next, whatever
// it is: other algorithms, other buffers, other channels.
func TestRunsAfterRests(t *testing.T) {
	l := executortest.Four()
	x, err := openProcs(l)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i, c := range []executortest.Config{
		{Algo: allreduce.Ring, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 100_001, DType: allreduce.Float32}}},
		{Algo: allreduce.TwoShot, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 7, DType: allreduce.Int8}}},
		{Algo: allreduce.Tree, Proto: allreduce.LL, Tasks: []plan.Task{{Count: 3000, DType: allreduce.BFloat16}}},
		{Algo: allreduce.OneShot, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: 50_000, DType: allreduce.Float64, Op: allreduce.Avg}}},
	} {
		c.Layout = l
		pl, _ := planFor(t, c)
		pl.Layout = x.Layout()
		for _, inPlace := range []bool{false, true} {
			trial, err := verify.NewTrial(x, pl, verify.Options{InPlace: inPlace})
			if err == nil {
				err = trial.Fill()
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Millisecond) // more than their patience
			if _, err := trial.Run(context.Background()); err != nil {
				t.Fatalf("plan %d: %v", i, err)
			}
			if found, err := trial.Check(); err != nil || !found.OK() {
				t.Errorf("plan %d, in place %v: %+v, error %v", i, inPlace, found, err)
			}
			trial.Close()
		}
	}
}
