package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
		ready.Add(1)
		done.Go(func() {
			errs[i] = d.Do(func() error {
				err := e.enqueue(d)
				if err != nil {
					e.control.abort().Store(1) // the others would wait for this one
				}
				ready.Done()
				if err == nil {
					times[i], err = e.await(d)
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

// enqueue puts a run into the device's queue, behind the gate.
func (e *Executor) enqueue(d *device) error {
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

// await polls for the end of the device's queue. Kernels give up by themselves;
// should one not, the abort word is tried, and then the GPU is given up.
func (e *Executor) await(d *device) (time.Duration, error) {
	begin, limit := time.Now(), e.limit(len(d.launches))
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
		case waited > limit+5*time.Second:
			return 0, fmt.Errorf("GPU %d does not answer after %v", d.Device.Ordinal, waited.Round(time.Second))
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

// reports reads what the blocks of a device left behind.
func (d *device) readReports(n int) ([]reportWire, error) {
	list := make([]reportWire, n)
	return list, d.Do(func() error { return d.Download(bytesOfAll(list), d.reports) })
}

// stalls lists the waits that did not end.
func (e *Executor) stalls() ([]allreduce.Stall, error) {
	var list []allreduce.Stall
	for _, d := range e.devices {
		reports, err := d.readReports(e.reportSlots(d))
		if err != nil {
			return nil, err
		}
		for _, r := range reports {
			if r.stuck == 0 {
				continue
			}
			s := allreduce.Stall{Rank: int(r.rank), Channel: int(r.channel), Peer: int(r.peer), For: allreduce.Wait(r.stuck - 1),
				Algo: allreduce.Ring, Proto: allreduce.Proto(r.protocol), Want: r.want, Seen: r.seen, Base: r.base}
			if n := len(d.launches); n > 0 && d.launches[n-1].direct != nil {
				s.Algo = d.launches[n-1].algo
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// reportSlots is how many reports the last run of a device may have written.
func (e *Executor) reportSlots(d *device) int {
	n := len(d.ranks) * e.layout.Channels()
	for _, l := range d.launches {
		n = max(n, l.grid.Blocks)
	}
	return n
}

// Blocks says what each block of a ring in the last run recorded of itself. Where
// a launch was spread, blocks are counted among those that work.
func (e *Executor) Blocks() []allreduce.Block {
	var list []allreduce.Block
	for _, d := range e.devices {
		reports, err := d.readReports(len(d.ranks) * e.layout.Channels())
		if err != nil {
			return nil
		}
		mask, spread := uint64(0), 1
		for _, l := range d.launches {
			if l.ring != nil {
				mask |= l.ring.mask
				spread = int(l.ring.spread)
			}
		}
		for slot, r := range reports { // others are what earlier runs have left
			if channel := slot % e.layout.Channels(); mask>>channel&1 != 0 && r.ran != 0 {
				list = append(list, allreduce.Block{Rank: int(r.rank), Index: int(r.block) / spread, Grid: int(r.grid) / spread,
					Threads: int(r.threads), Channel: int(r.channel), SM: int(r.sm), Took: time.Duration(r.took)})
			}
		}
	}
	return list
}
