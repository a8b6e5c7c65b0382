package gpu

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// execute launches what is prepared on all devices, from a common start, and
// waits for the end.
func (e *Executor) execute(ctx context.Context) (time.Duration, error) {
	e.control.epoch++
	e.control.abort().Store(0)
	stop := context.AfterFunc(ctx, func() { e.control.abort().Store(1) })
	defer stop()
	if e.group != nil {
		defer e.group.watch(e.control)()
		if err := e.group.dieOf(e.opts.Fault); err != nil {
			return 0, err
		}
	}

	var ready, done sync.WaitGroup
	errs := make([]error, len(e.devices))
	times := make([]time.Duration, len(e.devices))
	for i, d := range e.devices {
		d.traced = slices.ContainsFunc(d.launches, func(l dispatch) bool { return l.ring != nil })
		ready.Add(1)
		done.Go(func() {
			errs[i] = d.within(e.limit(len(d.launches))+2*e.grace, func() error {
				err := e.enqueue(d)
				if err != nil {
					e.control.abort().Store(1) // the others would wait for this one
				}
				ready.Done()
				if err == nil {
					times[i], err = e.await(d, len(d.launches))
				}
				return err
			})
		})
	}
	e.openGate(&ready)
	done.Wait()
	if err := e.outcome(ctx, errors.Join(errs...)); err != nil {
		return 0, err
	}
	elapsed := times[0]
	for _, t := range times {
		elapsed = max(elapsed, t)
	}
	return elapsed, nil
}

// openGate lets all queues start when they are filled. A call of the driver that
// itself waits for a queue must not keep the gate shut for ever.
func (e *Executor) openGate(ready *sync.WaitGroup) {
	filled := make(chan struct{})
	go func() {
		ready.Wait()
		close(filled)
	}()
	select {
	case <-filled:
	case <-time.After(time.Second):
	}
	e.control.gate().Store(e.control.epoch)
}

// enqueue puts a run into the device's queue, behind the gate. Blocks of rings
// find their reports empty, so that those that do not run leave none.
func (e *Executor) enqueue(d *device) error {
	if d.traced {
		if err := d.stream.Fill(d.reports, 0, e.ringReports(d)*reportBytes); err != nil {
			return err
		}
	}
	if len(e.devices) > 1 {
		if _, err := d.stream.WaitValue(e.control.gatePtr(), e.control.epoch); err != nil {
			return err
		}
	}
	if err := d.start.Record(d.stream); err != nil {
		return err
	}
	for i := range d.launches {
		if err := d.launches[i].enqueue(d.stream); err != nil {
			return err
		}
	}
	return d.stop.Record(d.stream)
}

// await polls for the end of so many launches. Kernels give up by themselves;
// should one not, the abort word is tried, and then the GPU is given up.
func (e *Executor) await(d *device, launches int) (time.Duration, error) {
	begin, limit := time.Now(), e.limit(launches)
	told := false
	for polls := 0; ; polls++ {
		reached, err := d.stop.Reached()
		if err != nil {
			return 0, err
		}
		if reached {
			return d.stop.Since(d.start)
		}
		switch waited := time.Since(begin); {
		case waited > limit+e.grace:
			return 0, d.giveUp(waited)
		case waited > limit && !told:
			e.control.abort().Store(1)
			told = true
		case waited > 200*time.Microsecond:
			time.Sleep(20 * time.Microsecond)
		default:
			runtime.Gosched()
		}
	}
}

// outcome turns a set abort word into a diagnosis.
func (e *Executor) outcome(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if e.control.abort().Load() == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e.group != nil && e.group.job.Context().Err() != nil {
		return context.Cause(e.group.job.Context())
	}
	stalls, err := e.stalls()
	if err != nil {
		return err
	}
	if len(stalls) == 0 {
		return errors.New("the run was aborted, and no block says why")
	}
	return &allreduce.StuckError{Stalls: stalls, After: e.opts.Limit}
}
