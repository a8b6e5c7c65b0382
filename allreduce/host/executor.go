package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// DefaultLimit is how long a run may go without any progress.
const DefaultLimit = 10 * time.Second

// Options are the settings of an executor.
type Options struct {
	// Limit is how long nothing may move before a run counts as stuck; 0 means
	// DefaultLimit.
	Limit time.Duration
	// Fault is a defect to have; it strikes in every run.
	Fault allreduce.Fault
}

// Executor runs plans on the CPU. It implements allreduce.Executor.
type Executor struct {
	engine  *engine
	local   []int
	limit   time.Duration
	caller  caller
	buffers map[*buffer]struct{}
	broken  error // why only Close may follow
	closed  bool
}

// caller is how the process that calls Run waits for its end.
type caller interface {
	// wait returns when the last worker signed off, when ctx ends, or after d.
	wait(ctx context.Context, d time.Duration)
	// lost says that a process of the group is gone, nil while all live.
	lost() error
	// begin tells other processes to start the run at hand.
	begin(p *allreduce.Plan) error
	// elapsed is how long the run took that has just ended.
	elapsed() time.Duration
	close() error
}

// New sets up an executor whose ranks are goroutines of this process. Its
// errors are *allreduce.LayoutError, and those of an impossible fault.
func New(l *allreduce.Layout, o Options) (*Executor, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := checkFault(l, o.Fault, false); err != nil {
		return nil, err
	}
	s := shape{l.NRanks, l.Channels()}
	e := newEngine(l, newHeap(l, s))
	bells := newChanBells(e.ctl)
	e.bells = bells
	local := &goroutines{bell: bells.tokens[s.posts()], timer: time.NewTimer(time.Hour)}
	x := newExecutor(e, o, local)
	e.employ(x.local, o.Fault)
	return x, nil
}

func newExecutor(e *engine, o Options, c caller) *Executor {
	x := &Executor{engine: e, limit: o.Limit, caller: c, buffers: map[*buffer]struct{}{}}
	for rank := range e.shape.ranks {
		x.local = append(x.local, rank)
	}
	if x.limit <= 0 {
		x.limit = DefaultLimit
	}
	return x
}

// Name is "host".
func (e *Executor) Name() string { return "host" }

// Layout is what it was set up for.
func (e *Executor) Layout() *allreduce.Layout { return e.engine.layout }

// Local lists all ranks: this process holds the memory of every one.
func (e *Executor) Local() []int { return slices.Clone(e.local) }

// Alloc gives memory of a rank.
func (e *Executor) Alloc(rank int, size int64) (allreduce.Buffer, error) {
	switch {
	case e.closed:
		return nil, errClosed
	case rank < 0 || rank >= e.engine.layout.NRanks:
		return nil, fmt.Errorf("allocate: rank %d, want 0 to %d", rank, e.engine.layout.NRanks-1)
	case size < 0:
		return nil, fmt.Errorf("allocate: %d bytes", size)
	}
	bytes, err := e.engine.mem.alloc(size)
	if err != nil {
		return nil, fmt.Errorf("allocate for rank %d: %w", rank, err)
	}
	b := &buffer{owner: e, rank: rank, bytes: bytes}
	e.buffers[b] = struct{}{}
	return b, nil
}

var errClosed = errors.New("host executor is closed")

// Run executes a plan once.
func (e *Executor) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	if e.broken != nil {
		return allreduce.Timing{}, e.broken
	}
	if err := e.check(p); err != nil {
		return allreduce.Timing{}, fmt.Errorf("host executor: %w", err)
	}
	if err := p.Check(args, e.local); err != nil {
		return allreduce.Timing{}, fmt.Errorf("host executor: %w", err)
	}
	if err := e.engine.spans.bind(e, p, args); err != nil {
		return allreduce.Timing{}, fmt.Errorf("host executor: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return allreduce.Timing{}, err
	}
	e.engine.plan = p
	if err := e.engine.prepare(p); err != nil {
		return allreduce.Timing{}, fmt.Errorf("host executor: %w", err)
	}
	e.engine.ctl.pending.Store(int32(e.engine.active(p)))
	err := e.caller.begin(p)
	if err == nil {
		e.engine.begin(p)
		err = e.await(ctx)
	}
	if err != nil {
		e.broken = fmt.Errorf("host executor: after %w: only Close may follow", err)
		return allreduce.Timing{}, err
	}
	return allreduce.Timing{Elapsed: e.caller.elapsed()}, nil
}

// Close ends all threads and processes and frees all memory. A second call does
// nothing.
func (e *Executor) Close() error {
	if e.closed {
		return nil
	}
	e.closed, e.broken = true, errClosed
	e.engine.dismiss()
	for b := range e.buffers {
		_ = b.Free()
	}
	err := e.caller.close()
	return errors.Join(err, e.engine.mem.close())
}

// goroutines is a caller whose workers live in its own process.
type goroutines struct {
	bell  chan struct{}
	timer *time.Timer
	since time.Time
}

func (g *goroutines) wait(ctx context.Context, d time.Duration) {
	g.timer.Reset(d)
	select {
	case <-g.bell:
	case <-g.timer.C:
	case <-ctx.Done():
	}
	g.timer.Stop()
}

func (g *goroutines) begin(*allreduce.Plan) error {
	g.since = time.Now()
	return nil
}

func (g *goroutines) elapsed() time.Duration { return time.Since(g.since) }
func (g *goroutines) lost() error            { return nil }
func (g *goroutines) close() error           { return nil }
