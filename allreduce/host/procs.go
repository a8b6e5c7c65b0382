package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
)

// Worker is the name under which a program must offer Serve to launch.Child, so
// that NewProcs can start its ranks.
const Worker = "host"

// readyTime is how long processes get to start.
const readyTime = 30 * time.Second

// setup is what the processes of a group are told.
type setup struct {
	Layout *allreduce.Layout
	Fault  allreduce.Fault
}

// NewProcs sets up an executor with one process per rank, over shared memory
// that is gone with the last of them. The processes are this very program,
// which must call launch.Child with Serve. What they have to say goes to said.
func NewProcs(l *allreduce.Layout, o Options, said io.Writer) (*Executor, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := checkFault(l, o.Fault, true); err != nil {
		return nil, err
	}
	s := shape{l.NRanks, l.Channels()}
	g, err := newSegment(l, s, launch.Memory)
	if err != nil {
		return nil, fmt.Errorf("host executor: %w", err)
	}
	b, err := json.Marshal(setup{l, o.Fault})
	if err != nil {
		return nil, fmt.Errorf("host executor: %w", err)
	}
	job, err := launch.Start(launch.Options{N: l.NRanks, Worker: Worker, Setup: b, Files: []*os.File{g.file}, Stderr: said})
	if err != nil {
		g.close()
		return nil, fmt.Errorf("host executor: %w", err)
	}
	e := newEngine(l, g, nil)
	e.bells = &futexBells{e.ctl}
	p := &parent{engine: e, segment: g, job: job, stop: make(chan struct{})}
	x := newExecutor(e, o, p)
	p.watching.Go(p.watch)
	if err := p.ready(); err != nil {
		return nil, errors.Join(fmt.Errorf("host executor: %w", err), x.Close())
	}
	return x, nil
}

// futexBells wake workers of any process.
type futexBells struct{ ctl control }

// nap is how long a sleeper sleeps at most: a belt for the braces.
const nap = 100 * time.Millisecond

func (b *futexBells) word(post int) *atomic.Uint32 {
	if post == len(b.ctl.posts) {
		return &b.ctl.board.asleep
	}
	return &b.ctl.posts[post].asleep
}

// yield lets other processes run, and this one's other workers.
func (b *futexBells) yield() {
	runtime.Gosched()
	yieldCPU()
}

func (b *futexBells) sleep(post int) { futexWait(b.word(post), 1, nap) }

func (b *futexBells) wake(post int) { futexWake(b.word(post)) }

// parent is a caller whose workers live in other processes.
type parent struct {
	engine   *engine
	segment  *segment
	job      *launch.Job
	watching sync.WaitGroup
	stop     chan struct{}
}

// ready waits until all processes have mapped the memory.
func (p *parent) ready() error {
	b := p.engine.ctl.board
	for deadline := time.Now().Add(readyTime); int(b.ready.Load()) < p.job.Size(); time.Sleep(time.Millisecond) {
		if err := p.job.Lost(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d processes have not started after %v", p.job.Size()-int(b.ready.Load()), p.job.Size(), readyTime)
		}
	}
	return nil
}

// watch rouses the caller when a process is lost.
func (p *parent) watch() {
	select {
	case <-p.job.Done():
	case <-p.stop:
		return
	}
	p.engine.ctl.abort.Store(1)
	p.engine.wakeAll()
	p.engine.ctl.board.asleep.Store(0)
	p.engine.bells.wake(p.engine.shape.posts())
}

func (p *parent) begin(plan *allreduce.Plan) error {
	if err := p.job.Lost(); err != nil {
		return err
	}
	s := scribe{words: p.segment.command()}
	if err := s.tell(plan, &p.engine.spans, p.segment.offset); err != nil {
		return err
	}
	b := p.engine.ctl.board
	b.run.Add(1)
	if b.resting.Load() > 0 {
		futexWake(&b.run)
	}
	return nil
}

func (p *parent) wait(ctx context.Context, d time.Duration) {
	if ctx.Done() != nil {
		d = min(d, 10*time.Millisecond) // a futex does not hear of it
	}
	b := p.engine.ctl.board
	for range remoteYields {
		if b.asleep.Load() == 0 {
			return
		}
		yieldCPU()
	}
	futexWait(&b.asleep, 1, d)
}

func (p *parent) lost() error { return p.job.Lost() }

func (p *parent) close() error {
	close(p.stop)
	p.watching.Wait() // it touches memory that goes next
	return p.job.Close()
}

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
	e := newEngine(s.Layout, g, nil)
	e.bells, e.yields = &futexBells{e.ctl}, remoteYields
	e.kill = func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	e.employ([]int{r.Number}, s.Fault)
	leave := context.AfterFunc(r.Context(), func() {
		e.ctl.abort.Store(1)
		e.wakeAll()
		futexWake(&e.ctl.board.run)
	})
	defer leave()
	return e.serve(r)
}

// serve takes part in run after run.
func (e *engine) serve(r *launch.Rank) error {
	board, g := e.ctl.board, e.mem.(*segment)
	plan := &allreduce.Plan{Layout: e.layout}
	seen := board.run.Load()
	board.ready.Add(1)
	for {
		for n := 0; board.run.Load() == seen; n++ {
			if r.Context().Err() != nil {
				return nil
			}
			if n < remoteYields {
				e.bells.yield()
				continue
			}
			board.resting.Add(1)
			futexWait(&board.run, seen, nap)
			board.resting.Add(-1)
		}
		seen++
		s := scribe{words: g.command()}
		s.hear(plan, &e.spans, e.shape.ranks, g.bytes)
		e.plan = plan
		if err := e.prepare(plan); err != nil {
			return err
		}
		e.serial = e.inTurn(plan)
		if leader := e.lead(plan, r.Number); leader != nil {
			leader.run()
		}
	}
}
