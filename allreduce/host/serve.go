package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
)

// Worker is the name under which a program must offer Serve to launch.Child, so
// that NewProcs can start its ranks.
const Worker = "host"

// Serve runs one rank in a process of its own until the job ends.
func Serve(r *launch.Rank) error {
	var s setup
	if err := json.Unmarshal(r.Setup, &s); err != nil {
		return fmt.Errorf("set-up: %w", err)
	}
	if len(r.Files) != 1 || s.Layout == nil || s.Layout.Validate() != nil || s.Layout.NRanks != r.Size {
		return fmt.Errorf("set-up: %d files for %d ranks", len(r.Files), r.Size)
	}
	runtime.GOMAXPROCS(max(1, runtime.NumCPU()/r.Size))
	sh := shape{s.Layout.NRanks, s.Layout.Channels()}
	g, err := mapSegment(r.Files[0], placesOf(s.Layout, sh))
	if err != nil {
		return err
	}
	e := newEngine(s.Layout, g)
	t := &tenant{engine: e, segment: g, rank: r.Number, bells: newFutexBells(e.ctl, e.shape)}
	e.bells = t.bells
	e.kill = func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	e.employ([]int{r.Number}, s.Fault)
	leave := context.AfterFunc(r.Context(), func() {
		e.ctl.abort.Store(1)
		e.wakeAll()
		futexWake(&e.ctl.board.run)
	})
	defer leave()
	return t.serve(r.Context())
}

// tenant is one rank's process.
type tenant struct {
	engine  *engine
	segment *segment
	bells   *futexBells
	rank    int
	mapped  []span // buffers of the last run
}

// populate maps buffers that the last run did not use, piece by piece, so that
// it is seen to move.
func (t *tenant) populate(w *worker) {
	list := t.engine.spans.list
	for i, s := range list {
		if i < len(t.mapped) && same(s.in, t.mapped[i].in) && same(s.out, t.mapped[i].out) {
			continue
		}
		for _, b := range [][]byte{s.in, s.out} {
			for piece := range slices.Chunk(b, populatePiece) {
				t.segment.populate(piece)
				w.moved()
			}
		}
	}
	t.mapped = append(t.mapped[:0], list...)
}

const populatePiece = 64 << 20

// same reports whether two stretches of a segment are one.
func same(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// serve takes part in run after run.
func (t *tenant) serve(ctx context.Context) error {
	board := t.engine.ctl.board
	plan := &allreduce.Plan{Layout: t.engine.layout}
	seen := board.run.Load()
	board.ready.Add(1)
	for t.await(ctx, seen) {
		seen++
		s := scribe{words: t.segment.command()}
		s.hear(plan, &t.engine.spans, t.engine.shape.ranks, t.segment.bytes)
		if err := t.perform(plan); err != nil {
			return err
		}
	}
	return nil
}

// await waits for the next run. It says false when the job ends first.
func (t *tenant) await(ctx context.Context, seen uint32) bool {
	board := t.engine.ctl.board
	for n := 0; board.run.Load() == seen; n++ {
		if ctx.Err() != nil {
			return false
		}
		if n < t.engine.shape.patience() || t.bells.busy() {
			t.bells.yield()
			continue
		}
		board.resting.Add(1)
		futexWait(&board.run, seen, nap)
		board.resting.Add(-1)
	}
	return true
}

// perform does the rank's share of a run.
func (t *tenant) perform(plan *allreduce.Plan) error {
	e := t.engine
	e.plan = plan
	if err := e.prepare(plan); err != nil {
		return err
	}
	e.serial = e.inTurn(plan)
	workers := 1
	if !e.serial {
		workers = e.active(plan) / e.shape.ranks
	}
	e.yields = remoteYields * workers
	leader := e.leader(plan, t.rank)
	if leader == nil {
		return nil
	}
	t.bells.gather(1)
	t.populate(leader)
	leader.muster() // an abort is seen by all workers
	t.bells.gather(workers)
	e.follow(plan, leader)
	leader.run()
	return nil
}

// muster waits for the other ranks, so that a run's time is that of the work:
// not of waking processes up, which takes longer than a small message.
func (w *worker) muster() bool {
	w.work, w.metBase = &w.plan.Works[0], w.met
	w.ctl.board.came(now())
	return w.meet()
}

// patience is how often a process yields between runs before it sleeps. Where
// processors are scarce, others need them now.
func (s shape) patience() int {
	if s.ranks >= runtime.NumCPU() {
		return crowdedYields
	}
	return remoteYields
}

const crowdedYields = 4
