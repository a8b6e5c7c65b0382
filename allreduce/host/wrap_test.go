package host

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// startAt pretends that all connections have moved some steps.
func (e *engine) startAt(step uint64) {
	for i := range e.ctl.counters {
		e.ctl.counters[i].head.Store(step)
		e.ctl.counters[i].tail.Store(step)
	}
	for _, w := range e.workers {
		if w == nil {
			continue
		}
		for _, ends := range [][]*end{w.ring.recv, w.ring.send, w.up.recv, w.up.send, w.down.recv, w.down.send} {
			for _, n := range ends {
				n.step, n.seen = step, step
			}
		}
	}
}

func planFor(t testing.TB, c executortest.Config) (*allreduce.Plan, *allreduce.Layout) {
	t.Helper()
	launches, layout, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return launches[0].Plan, layout
}

// Long and short messages go on across the points where LL cleans, and where
// its flags begin again.
func TestFlagsWrap(t *testing.T) {
	for _, start := range []uint64{1<<31 - 20, 1<<32 - 20, 1<<40 - 20} {
		for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.Tree} {
			t.Run(fmt.Sprintf("%d/%v", start, a), func(t *testing.T) {
				c := executortest.Config{Layout: executortest.Four(), Algo: a, Proto: allreduce.LL, Tasks: []plan.Task{{Count: 9000, DType: allreduce.Float32}}}
				long, layout := planFor(t, c)
				x, err := New(layout, Options{Limit: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				x.engine.startAt(start)
				c.Tasks[0].Count = 100
				short, _ := planFor(t, c)
				short.Layout = layout
				for round := range 8 {
					p := long
					if round%2 == 1 {
						p = short
					}
					if err := executortest.RunPlan(x, p, verify.Options{Seed: uint64(round + 1)}, 1); err != nil {
						t.Fatalf("round %d: %v", round, err)
					}
				}
			})
		}
	}
}

// A cleaning step leaves its own flag in every line of its slot.
func TestCleaning(t *testing.T) {
	c := executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Proto: allreduce.LL, Tasks: []plan.Task{{Count: 4, DType: allreduce.Float32}}}
	p, layout := planFor(t, c)
	x, err := New(layout, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const start = 1<<31 - 8
	x.engine.startAt(start)
	if err := executortest.RunPlan(x, p, verify.Options{}, 2); err != nil { // 6 steps each
		t.Fatal(err)
	}
	channel := p.Channels()[0]
	fifo := x.engine.conns[x.engine.shape.conn(channel, ringConn, 0)].fifo[allreduce.LL]
	step := layout.StepBytes(allreduce.LL)
	for k := uint64(start); k < start+8; k++ {
		slot := words(fifo[int(k%depth)*step:][:step])
		if !llCleans(k) {
			t.Errorf("step %d does not clean", k)
		}
		if i := slices.IndexFunc(slot[2:], func(w uint64) bool { return uint32(w>>32) < uint32(k+1) }); i >= 0 {
			t.Errorf("step %d: word %d has flag %d", k, i+2, slot[i+2]>>32)
		}
	}
	if llCleans(start-1) || llCleans(start+8) {
		t.Error("cleans too often")
	}
}

// Simple begins at a whole chunk, whatever LL left behind, and the skipped
// steps come back as credit.
func TestSimpleAfterLL(t *testing.T) {
	c := executortest.Config{Layout: executortest.Four(), Algo: allreduce.Ring, Proto: allreduce.LL, Tasks: []plan.Task{{Count: 3000, DType: allreduce.Int32}}}
	ll, layout := planFor(t, c)
	c.Proto = allreduce.Simple
	simple, _ := planFor(t, c)
	simple.Layout = layout
	x, err := New(layout, Options{Limit: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range 5 {
		for _, p := range []*allreduce.Plan{ll, simple, simple, ll, ll} {
			if err := executortest.RunPlan(x, p, verify.Options{Seed: 9}, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, w := range x.engine.workers {
		if w == nil || w.role != first {
			continue
		}
		if s, r := w.ring.send[0], w.ring.recv[0]; s.step != r.step {
			t.Errorf("rank %d channel %d: sent %d steps, received %d", w.rank, w.channel, s.step, r.step)
		}
	}
}

// The places of LL128's data on the wire: every word but the flags once, and
// what the specification says of the first lanes.
func TestWirePlaces(t *testing.T) {
	seen := map[uint8]bool{}
	for i, p := range wirePlace {
		if p%lineWords == lineWords-1 || seen[p] {
			t.Errorf("data word %d lies at %d", i, p)
		}
		seen[p] = true
	}
	for data, wire := range map[int]uint8{0: 0, 1: 1, 13: 13, 14: 14, 16: 16, 64: 64, 15: 78, 120: 128} {
		if wirePlace[data] != wire {
			t.Errorf("data word %d lies at %d, want %d", data, wirePlace[data], wire)
		}
	}
}
