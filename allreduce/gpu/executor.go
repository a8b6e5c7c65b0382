package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// Executor runs plans on GPUs. It implements allreduce.Executor,
// allreduce.Tracer and allreduce.HopMeter.
type Executor struct {
	layout  *allreduce.Layout
	opts    Options
	driver  *cuda.Driver
	devices []*device
	seats   []seat // of the ranks of this process, by rank
	local   []int
	control *control
	reach   *reach
	staging *cuda.HostMemory
	buffers map[*buffer]struct{}
	lifts   *lifts
	grace   time.Duration // how much longer the host waits than kernels do
	notes   []string
	group   *group // nil: one process
	broken  error
	closed  bool
}

// seat is where a rank sits: on which device, and in which place there.
type seat struct {
	*device
	place int
}

// New sets up an executor whose ranks are all in this process. Without a usable
// GPU the error wraps allreduce.ErrNoDevice.
func New(l *allreduce.Layout, o Options) (*Executor, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := checkFault(l, o.Fault, false); err != nil {
		return nil, err
	}
	drv, err := o.openDriver()
	if err != nil {
		return nil, err
	}
	where, err := place(drv, l.NRanks, &o)
	if err != nil {
		return nil, err
	}
	e := prepared(l, o, drv)
	if err := e.open(where); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// prepared is an executor of all ranks, before its GPUs are opened.
func prepared(l *allreduce.Layout, o Options, drv *cuda.Driver) *Executor {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	e := &Executor{layout: l, opts: o, driver: drv, buffers: map[*buffer]struct{}{}, lifts: newLifts(), grace: grace, seats: make([]seat, l.NRanks)}
	for r := range l.NRanks {
		e.local = append(e.local, r)
	}
	return e
}

// open starts the devices, each with all its ranks, and connects them.
func (e *Executor) open(where []*cuda.Device) error {
	for _, step := range e.steps(where) {
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// step is a part of the way to an executor that is ready.
type step struct {
	name string
	do   func() error
}

func (e *Executor) steps(where []*cuda.Device) []step {
	return []step{
		{"memory", func() error { return e.openDevices(where) }},
		{"words that are shared with the host", func() (err error) {
			e.control, err = newControl(e.devices[0])
			return err
		}},
		{"peer access, proved", func() (err error) {
			if e.reach, err = e.explore(); err == nil {
				e.notes = append(e.notes, e.reach.notes...)
			}
			return err
		}},
		{"connections", e.connect},
	}
}

// openDevices starts the GPUs that ranks are on, all at once, and allocates what
// ranks have.
func (e *Executor) openDevices(where []*cuda.Device) error {
	list := slices.Compact(slices.SortedFunc(slices.Values(where), byOrdinal))
	opened := make([]*device, len(list))
	err := atOnce(list, func(i int, d *cuda.Device) (err error) {
		var ranks []int
		for r, at := range where {
			if at == d {
				ranks = append(ranks, r)
			}
		}
		if opened[i], err = openDevice(d, ranks, e.layout); err != nil {
			err = fmt.Errorf("GPU %d with ranks %v: %w", d.Ordinal, ranks, err)
		}
		return err
	})
	for _, g := range opened {
		if g == nil {
			continue
		}
		e.devices = append(e.devices, g)
		for i, r := range g.ranks {
			e.seats[r] = seat{g, i}
		}
	}
	return err
}

// atOnce does something with every element at the same time, and joins the
// errors.
func atOnce[T any](list []T, f func(i int, x T) error) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, x := range list {
		wg.Go(func() { errs[i] = f(i, x) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func byOrdinal(a, b *cuda.Device) int { return a.Ordinal - b.Ordinal }

// Name is "gpu".
func (e *Executor) Name() string { return "gpu" }

// Layout is what it was set up for.
func (e *Executor) Layout() *allreduce.Layout { return e.layout }

// Local lists the ranks of this process.
func (e *Executor) Local() []int { return slices.Clone(e.local) }

// Notes say what differs from plain peer access: connections through host
// memory, and why.
func (e *Executor) Notes() []string { return slices.Clone(e.notes) }

// Placement is the GPU's ordinal for each rank of this process.
func (e *Executor) Placement() map[int]int {
	m := map[int]int{}
	for _, r := range e.local {
		m[r] = e.seats[r].Device.Ordinal
	}
	return m
}

// Can says why an algorithm does not run with a protocol.
func (e *Executor) Can(a allreduce.Algo, p allreduce.Proto) error {
	reason := ""
	switch {
	case int(p) >= allreduce.NumProtos:
		reason = "unknown protocol"
	case a == allreduce.Ring && p == allreduce.LL128:
		reason = e.lineTrouble()
	case a == allreduce.Ring:
	case a == allreduce.OneShot || a == allreduce.TwoShot:
		reason = e.directTrouble(a, p)
	case a == allreduce.Tree:
		reason = "trees run on the CPU only, by the host executor; GPUs run Ring, OneShot and TwoShot"
	default:
		reason = "it needs hardware that reduces"
	}
	if reason == "" {
		return nil
	}
	return &allreduce.UnsupportedError{Executor: e.Name(), Algo: a, Proto: p, Reason: reason}
}

var errClosed = errors.New("the GPU executor is closed")

// Run executes a plan once and returns when all local ranks are done.
func (e *Executor) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	switch {
	case e.closed:
		return allreduce.Timing{}, errClosed
	case e.broken != nil:
		return allreduce.Timing{}, e.broken
	}
	err := e.prepare(p, args)
	if err != nil {
		err = fmt.Errorf("GPU executor: %w", err)
	} else {
		err = ctx.Err()
	}
	if e.group != nil {
		var apart error
		if err, apart = e.group.meet(ctx, err); apart != nil {
			return allreduce.Timing{}, e.breakDown(apart)
		}
	}
	if err != nil {
		return allreduce.Timing{}, err
	}
	elapsed, err := e.execute(ctx)
	if err != nil {
		return allreduce.Timing{}, e.breakDown(err)
	}
	return allreduce.Timing{Elapsed: elapsed}, nil
}

// breakDown notes why only Close may follow, and gives that.
func (e *Executor) breakDown(err error) error {
	e.broken = fmt.Errorf("GPU executor: after %w: only Close may follow", err)
	return err
}

// Close ends all threads and frees all memory, buffers too. A second call does
// nothing. Where GPUs do not answer the error has a *HungError for each, and all
// that the executor has stays: a kernel that does not end may still write there.
func (e *Executor) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	err := inTime(e.devices, e.grace, e.free)
	if e.group != nil && hung(e.devices) != nil {
		e.group.bye()
	}
	return err
}

func (e *Executor) free() error {
	var errs []error
	for b := range e.buffers {
		errs = append(errs, b.Free())
	}
	if e.group != nil && len(e.devices) > 0 {
		errs = append(errs, e.group.leave(e.devices[0]))
	}
	errs = append(errs, e.release())
	for _, d := range e.devices {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// release frees what belongs to no single device. Devices' queues are empty.
func (e *Executor) release() error {
	if len(e.devices) == 0 {
		return nil
	}
	first := e.devices[0]
	return first.Do(func() error {
		errs := []error{first.FreeHost(e.staging), e.lifts.release(first)}
		if e.control != nil {
			errs = append(errs, first.FreeHost(e.control.memory))
		}
		return errors.Join(errs...)
	})
}

// limit is how long the host waits for kernels that give up by themselves.
func (e *Executor) limit(launches int) time.Duration {
	return e.opts.Limit*time.Duration(launches+1) + e.grace
}
