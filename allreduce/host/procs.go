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
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
)

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
	b, err := json.Marshal(setup{l, o.Fault})
	if err != nil {
		return nil, fmt.Errorf("host executor: %w", err)
	}
	g, err := newSegment(l, shape{l.NRanks, l.Channels()}, launch.Memory)
	if err != nil {
		return nil, fmt.Errorf("host executor: %w", err)
	}
	job, err := launch.Start(launch.Options{N: l.NRanks, Worker: Worker, Setup: b, Files: []*os.File{g.file}, Stderr: said})
	if err != nil {
		g.close()
		return nil, fmt.Errorf("host executor: %w", err)
	}
	e := newEngine(l, g)
	e.bells = newFutexBells(e.ctl, e.shape)
	p := &parent{engine: e, segment: g, job: job, stop: make(chan struct{})}
	x := newExecutor(e, o, p)
	p.watching.Go(p.watch)
	if err := p.ready(); err != nil {
		return nil, errors.Join(fmt.Errorf("host executor: %w", err), x.Close())
	}
	return x, nil
}

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
	p.engine.ctl.board.asleep.Store(1)
	p.engine.bells.finish()
}

func (p *parent) begin(plan *allreduce.Plan) error {
	if err := p.job.Lost(); err != nil {
		return err
	}
	b := p.engine.ctl.board
	b.began.Store(0)
	b.ended.Store(0)
	if plan.Mask == 0 { // nobody would sign off, nor have read it before the next plan is told
		return nil
	}
	s := scribe{words: p.segment.command()}
	if err := s.tell(plan, &p.engine.spans, p.segment.offset); err != nil {
		return err
	}
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
	if p.engine.shape.ranks < runtime.NumCPU() {
		for range remoteYields {
			if b.asleep.Load() == 0 {
				return
			}
			yieldCPU()
		}
	}
	futexWait(&b.asleep, 1, d)
}

// elapsed is the time from when all processes were there to when all were done.
func (p *parent) elapsed() time.Duration {
	b := p.engine.ctl.board
	return time.Duration(b.ended.Load() - b.began.Load())
}

func (p *parent) lost() error { return p.job.Lost() }

func (p *parent) close() error {
	close(p.stop)
	p.watching.Wait() // it touches memory that goes next
	return p.job.Close()
}
