package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// Replay is a plan that was prepared once, to be run many times back to back:
// as graph replays or as single launches. It shares the executor's connections,
// so all processes must replay the same.
type Replay struct {
	e     *Executor
	times int
	parts []replayPart
	// atOnce has graphs start when the first is queued, not when all are.
	atOnce bool
}

// replayPart is a device's share.
type replayPart struct {
	*device
	launches []dispatch
	tables   cuda.Ptr
	graph    *cuda.Graph // nil: launches one by one
}

// Capture prepares a plan to be run times times per replay. With graph the
// launches of one replay are recorded as one graph. Blocks record nothing.
func (e *Executor) Capture(p *allreduce.Plan, args []allreduce.Args, times int, graph bool) (*Replay, error) {
	switch {
	case e.closed:
		return nil, errClosed
	case e.broken != nil:
		return nil, e.broken
	case times < 1:
		return nil, fmt.Errorf("GPU executor: capture a plan %d times: want at least 1", times)
	}
	if err := e.provide(p, args); err != nil {
		return nil, fmt.Errorf("GPU executor: %w", err)
	}
	r := &Replay{e: e, times: times}
	for _, d := range e.devices {
		part := replayPart{device: d}
		err := d.Do(func() error { return e.capture(&part, p, args, times, graph) })
		r.parts = append(r.parts, part)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

func (e *Executor) capture(r *replayPart, p *allreduce.Plan, args []allreduce.Args, times int, graph bool) (err error) {
	if r.tables, err = r.Alloc(tableBytes); err != nil {
		return err
	}
	if r.launches, err = e.prepareDevice(r.device, nil, r.tables, p, args); err != nil {
		return err
	}
	for _, l := range r.launches {
		if l.ring != nil {
			l.ring.trace = 0
		}
	}
	if !graph {
		return nil
	}
	r.graph, err = r.stream.Capture(func() error { return r.launchAll(times) })
	return err
}

func (r *replayPart) launchAll(times int) error {
	for range times {
		for i := range r.launches {
			if err := r.launches[i].enqueue(r.stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pace is what a replay took: for one of its plans, on the slowest device.
type Pace struct {
	Device time.Duration // between events in the queue
	Host   time.Duration // the host's time to enqueue
}

// Run replays n times, from a common start.
func (r *Replay) Run(ctx context.Context, n int) (Pace, error) {
	e := r.e
	switch {
	case e.closed:
		return Pace{}, errClosed
	case len(r.parts) == 0:
		return Pace{}, errors.New("the replay is closed")
	case e.broken != nil:
		return Pace{}, e.broken
	case n < 1:
		return Pace{}, fmt.Errorf("replay %d times: want at least 1", n)
	}
	e.control.epoch++
	e.control.abort().Store(0)
	stop := context.AfterFunc(ctx, func() { e.control.abort().Store(1) })
	defer stop()
	if e.group != nil {
		defer e.group.watch(e.control)()
	}
	var ready, done sync.WaitGroup
	errs := make([]error, len(r.parts))
	paces := make([]Pace, len(r.parts))
	for i := range r.parts {
		part := &r.parts[i]
		part.traced = false
		part.device.launches = append(part.device.launches[:0], part.launches...) // whose stalls they would be
		ready.Add(1)
		done.Go(func() {
			limit := e.limit(n*r.times*len(part.launches)) + 2*e.grace
			errs[i] = part.within(limit, func() error { return r.runPart(part, n, &paces[i], &ready) })
		})
	}
	e.openGate(&ready)
	done.Wait()
	if err := e.outcome(ctx, errors.Join(errs...)); err != nil {
		return Pace{}, e.breakDown(err)
	}
	p := paces[0]
	for _, x := range paces {
		p.Device, p.Host = max(p.Device, x.Device), max(p.Host, x.Host)
	}
	total := time.Duration(n * r.times)
	return Pace{Device: p.Device / total, Host: p.Host / total}, nil
}

// runPart opens the gate's queue before launching single kernels: their cost is
// part of what is measured. Graphs are queued first.
func (r *Replay) runPart(part *replayPart, n int, pace *Pace, ready *sync.WaitGroup) error {
	opened := false
	open := func() {
		if !opened {
			opened = true
			ready.Done()
		}
	}
	defer open()
	err := r.queue(part, n, pace, open)
	if err != nil {
		r.e.control.abort().Store(1)
		return err
	}
	open()
	pace.Device, err = r.e.await(part.device, n*r.times*len(part.launches))
	return err
}

func (r *Replay) queue(part *replayPart, n int, pace *Pace, open func()) error {
	if len(r.parts) > 1 {
		if _, err := part.stream.WaitValue(r.e.control.gatePtr(), r.e.control.epoch); err != nil {
			return err
		}
	}
	if err := part.start.Record(part.stream); err != nil {
		return err
	}
	if part.graph == nil || r.atOnce {
		open()
	}
	begin := time.Now()
	for range n {
		var err error
		if part.graph != nil {
			err = part.graph.Launch(part.stream)
		} else {
			err = part.launchAll(r.times)
		}
		if err != nil {
			return err
		}
	}
	pace.Host = time.Since(begin)
	return part.stop.Record(part.stream)
}

// Close frees what the replay holds, as far as all GPUs answer.
func (r *Replay) Close() error {
	var errs []error
	if hung(r.e.devices) != nil {
		r.parts = nil // the executor's Close says so
	}
	for i := range r.parts {
		part := &r.parts[i]
		errs = append(errs, part.Do(func() error {
			var err error
			if part.graph != nil {
				err = part.graph.Destroy()
			}
			return errors.Join(err, part.Free(part.tables))
		}))
	}
	r.parts = nil
	return errors.Join(errs...)
}
