package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
)

const (
	readyTime = 60 * time.Second // how long processes get to start and to connect
	leaveTime = 5 * time.Second  // and to free what they have
)

// Procs runs plans with one process for each rank, on a GPU of its own. It
// implements allreduce.Executor for all ranks.
type Procs struct {
	layout  *allreduce.Layout
	opts    Options
	job     *launch.Job
	ranks   []*client
	refused map[way2]string
	notes   []string
	mu      sync.Mutex
	next    int // number of the next buffer
	broken  error
	closed  bool
}

// NewProcs starts a process for each rank and connects them; rank r has GPU
// Options.Devices[r], or r. The processes are this very program, which must call
// launch.Child with Serve. What they have to say goes to said.
func NewProcs(l *allreduce.Layout, o Options, said io.Writer) (*Procs, error) {
	if err := checkProcs(l, &o); err != nil {
		return nil, err
	}
	drv, err := o.openDriver()
	if err != nil {
		return nil, err
	}
	if gpus := len(drv.Devices()); l.NRanks > gpus {
		return nil, misplaced("%d ranks as processes need a GPU each, this machine has %d: kernels of processes that share a GPU would wait for each other for ever; run all ranks in one process (without --procs)", l.NRanks, gpus)
	}
	return newProcs(l, o, Worker, said)
}

// checkProcs says what is impossible before anything is started.
func checkProcs(l *allreduce.Layout, o *Options) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if o.NoP2P {
		return errNoP2P
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	return checkFault(l, o.Fault, true)
}

func newProcs(l *allreduce.Layout, o Options, worker string, said io.Writer) (_ *Procs, err error) {
	text, err := json.Marshal(setup{l, o})
	if err != nil {
		return nil, fmt.Errorf("GPU processes: %w", err)
	}
	p := &Procs{layout: l, opts: o}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the processes have them
		}
	}()
	for rank := range l.NRanks {
		ours, other, err := line()
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.ranks, theirs = append(p.ranks, &client{procs: p, rank: rank, talk: ours}), append(theirs, other)
	}
	if p.job, err = launch.Start(launch.Options{N: l.NRanks, Worker: worker, Setup: text, Own: theirs, Stderr: said}); err != nil {
		return nil, errors.Join(fmt.Errorf("GPU processes: %w", err), p.Close())
	}
	if err := p.welcome(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// welcome waits until all processes are connected.
func (p *Procs) welcome() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), readyTime, fmt.Errorf("the GPU processes have not started after %v", readyTime))
	defer cancel()
	answers, err := p.all(ctx, func(c *client) (a answer, err error) {
		err = c.talk.dec.Decode(&a)
		return a, err
	})
	if err != nil {
		p.broken = err
		return err
	}
	p.refused = map[way2]string{}
	for _, a := range answers {
		if a.Welcome == nil {
			return errors.New("a GPU process began with something else than a welcome")
		}
		for w, why := range a.Welcome.Refused {
			p.refused[w] = why
		}
		p.notes = append(p.notes, a.Welcome.Notes...)
	}
	return nil
}

// all asks every process at once. It gives the first failure, the stalls of all
// ranks as one; a process that died is the reason of whatever else went wrong.
func (p *Procs) all(ctx context.Context, ask func(*client) (answer, error)) ([]answer, error) {
	answers, errs := make([]answer, len(p.ranks)), make([]error, len(p.ranks))
	done := make(chan struct{})
	var asked sync.WaitGroup
	for i, c := range p.ranks {
		asked.Go(func() { answers[i], errs[i] = ask(c) })
	}
	go func() {
		asked.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-p.job.Done():
		return nil, p.job.Lost()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, p.reason(err)
	}
	return answers, joined(answers)
}

// reason waits a moment for the news that a process has died: its line may break
// before that.
func (p *Procs) reason(err error) error {
	select {
	case <-p.job.Done():
		return p.job.Lost()
	case <-time.After(2 * time.Second):
		return fmt.Errorf("GPU processes: %w", err)
	}
}

// joined is what went wrong in all processes: the first failure, one that has a
// kind before those that only tell of it. Where there is none but blocks that
// waited too long, and might have waited for one that failed, all that are stuck.
func joined(answers []answer) error {
	var stuck *allreduce.StuckError
	var first error
	for _, a := range answers {
		err := a.Failure.err()
		var s *allreduce.StuckError
		switch {
		case errors.As(err, &s) && stuck == nil:
			stuck = s
		case errors.As(err, &s):
			stuck.Stalls = append(stuck.Stalls, s.Stalls...)
		case err != nil && (first == nil || a.Failure.NoDevice || a.Failure.NoMemory):
			first = err
		}
	}
	if first == nil && stuck != nil {
		return stuck
	}
	return first
}

// Name is "gpu".
func (p *Procs) Name() string { return "gpu" }

// Layout is what it was set up for.
func (p *Procs) Layout() *allreduce.Layout { return p.layout }

// Local lists all ranks: this process speaks for them.
func (p *Procs) Local() []int {
	list := make([]int, len(p.ranks))
	for i := range list {
		list[i] = i
	}
	return list
}

// Pid is the process of a rank.
func (p *Procs) Pid(rank int) int { return p.job.Pid(rank) }

// Notes say what differs from plain peer access.
func (p *Procs) Notes() []string { return slices.Clone(p.notes) }

// Can says why an algorithm does not run with a protocol, in any process.
func (p *Procs) Can(a allreduce.Algo, proto allreduce.Proto) error {
	why, refused := p.refused[way2{a, proto}]
	if int(proto) >= allreduce.NumProtos {
		why, refused = "unknown protocol", true
	}
	if !refused {
		return nil
	}
	return &allreduce.UnsupportedError{Executor: p.Name(), Algo: a, Proto: proto, Reason: why}
}

// Run executes a plan once and returns when all ranks are done.
func (p *Procs) Run(ctx context.Context, plan *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	switch {
	case p.closed:
		return allreduce.Timing{}, errClosed
	case p.broken != nil:
		return allreduce.Timing{}, fmt.Errorf("GPU processes: after %w: only Close may follow", p.broken)
	case plan.Layout != p.layout:
		return allreduce.Timing{}, errors.New("GPU processes: the plan is for another layout than the executor")
	}
	if err := plan.Check(args, p.Local()); err != nil {
		return allreduce.Timing{}, fmt.Errorf("GPU processes: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return allreduce.Timing{}, err
	}
	places := make([][]placeOf, len(p.ranks))
	for i, c := range p.ranks { // before any of them waits for the others
		var err error
		if places[i], err = c.places(args); err != nil {
			return allreduce.Timing{}, fmt.Errorf("GPU processes: %w", err)
		}
	}
	bare := *plan
	bare.Layout = nil // each has its own
	answers, err := p.all(ctx, func(c *client) (answer, error) {
		return c.ask(order{Do: doRun, Plan: &bare, Args: places[c.rank]}, nil, nil)
	})
	if err != nil {
		if slices.ContainsFunc(answers, func(a answer) bool { return !a.Usable }) || answers == nil {
			p.broken = err
		}
		return allreduce.Timing{}, err
	}
	var t allreduce.Timing
	for _, a := range answers {
		t.Elapsed = max(t.Elapsed, a.Elapsed)
	}
	return t, nil
}

// Close has all processes free their memory and end. A second call does nothing.
func (p *Procs) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	var err error
	if p.job != nil {
		err = errors.Join(p.leave(), p.job.Close())
	}
	for _, c := range p.ranks {
		err = errors.Join(err, c.talk.conn.Close())
	}
	return err
}

// leave has all processes free what they have together, since one must not free
// what another one still uses. Where a process is lost there is nothing to say.
func (p *Procs) leave() error {
	if p.broken != nil || p.job.Lost() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	_, err := p.all(ctx, func(c *client) (answer, error) { return c.ask(order{Do: doLeave}, nil, nil) })
	if p.job.Lost() != nil {
		return nil
	}
	return err
}
