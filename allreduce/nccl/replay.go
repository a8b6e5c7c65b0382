package nccl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// Replay is a plan to be run many times back to back: as replays of a graph or
// as single calls.
type Replay struct {
	e      *Executor
	times  int
	graphs []*cuda.Graph // by rank; empty: single calls
	plan   *allreduce.Plan
	args   []allreduce.Args
}

// Capture prepares a plan to be run times times per replay. The plan must have
// run once before, so that NCCL has made its connections.
func (e *Executor) Capture(p *allreduce.Plan, args []allreduce.Args, times int, graph bool) (*Replay, error) {
	if err := p.Check(args, e.Local()); err != nil {
		return nil, fmt.Errorf("NCCL executor: %w", err)
	}
	r := &Replay{e: e, times: times, plan: p, args: args}
	if !graph {
		return r, nil
	}
	r.graphs = make([]*cuda.Graph, len(e.ranks))
	errs := make([]error, len(e.ranks))
	var wg sync.WaitGroup
	for i, k := range e.ranks {
		wg.Go(func() {
			errs[i] = k.Do(func() (err error) {
				r.graphs[i], err = k.stream.Capture(func() error { return r.calls(i) })
				return err
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Replay) calls(rank int) error {
	for range r.times {
		if err := r.e.call(rank, r.plan, r.args); err != nil {
			return err
		}
	}
	return nil
}

// Run replays n times and gives the time of one plan. All starts at once: NCCL's
// graphs cannot be queued behind a gate, their launch waits for the queue.
func (r *Replay) Run(ctx context.Context, n int) (Pace, error) {
	if err := ctx.Err(); err != nil {
		return Pace{}, err
	}
	p, err := r.e.race(n, func(i int) error {
		if len(r.graphs) > 0 {
			return r.graphs[i].Launch(r.e.ranks[i].stream)
		}
		return r.calls(i)
	})
	return Pace{p.Device / time.Duration(r.times), p.Host / time.Duration(r.times)}, err
}

// Close frees what the replay holds.
func (r *Replay) Close() error {
	var errs []error
	for i, g := range r.graphs {
		if g != nil {
			errs = append(errs, r.e.ranks[i].Do(g.Destroy))
		}
	}
	r.graphs = nil
	return errors.Join(errs...)
}
