package nccl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// Options are the settings of an executor.
type Options struct {
	Driver *cuda.Driver // nil opens it
	API    *API         // nil opens the system's library
	// Devices is the GPU's ordinal for each rank, each GPU once; empty: rank r
	// has GPU r.
	Devices []int
	// Symmetric takes buffers from NCCL's own allocator and registers them as
	// symmetric windows, for which newer versions have faster kernels.
	Symmetric bool
	// Limit is how long a run may take; 0 means DefaultLimit. After it the
	// communicator is aborted, and only Close may follow.
	Limit time.Duration
}

// ErrNoWindows says that NCCL is too old for symmetric windows.
var ErrNoWindows = errors.New("this NCCL has no symmetric windows, they came with 2.27")

// DefaultLimit is how long a run may take.
const DefaultLimit = 30 * time.Second

// Executor runs plans by NCCL. It implements allreduce.Executor.
type Executor struct {
	layout  *allreduce.Layout
	opts    Options
	api     *API
	ranks   []*rank
	buffers map[*buffer]struct{}
	broken  error
	closed  bool
}

// rank is one GPU with its thread.
type rank struct {
	*cuda.Context
	comm        uintptr
	stream      *cuda.Stream
	start, stop *cuda.Event
}

// New sets up a communicator of all ranks. Without a GPU or a library the error
// wraps allreduce.ErrNoDevice or ErrNoLibrary.
func New(l *allreduce.Layout, o Options) (*Executor, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := o.complete(l.NRanks); err != nil {
		return nil, err
	}
	e := &Executor{layout: l, opts: o, api: o.API, buffers: map[*buffer]struct{}{}}
	if o.Symmetric && (e.api.MemAlloc == nil || e.api.WindowRegister == nil) {
		return nil, ErrNoWindows
	}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// complete fills in what is not set.
func (o *Options) complete(n int) (err error) {
	if o.Driver == nil {
		if o.Driver, err = cuda.Open(); err != nil {
			if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
				return fmt.Errorf("%w: %w", allreduce.ErrNoDevice, err)
			}
			return err
		}
	}
	if len(o.Driver.Devices()) == 0 {
		return fmt.Errorf("%w: %w", allreduce.ErrNoDevice, cuda.ErrNoDevice)
	}
	if o.API == nil {
		if o.API, err = Open(""); err != nil {
			return err
		}
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if len(o.Devices) == 0 {
		for r := range n {
			o.Devices = append(o.Devices, r)
		}
	}
	sorted := slices.Sorted(slices.Values(o.Devices))
	if len(o.Devices) != n || len(slices.Compact(sorted)) != n {
		return fmt.Errorf("%d ranks on GPUs %v: NCCL wants a GPU for each rank", n, o.Devices)
	}
	return nil
}

func (e *Executor) open() error {
	var ordinals []int32
	for r, ordinal := range e.opts.Devices {
		d, err := e.opts.Driver.Device(ordinal)
		if err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
		c, err := d.Open()
		if err != nil {
			return err
		}
		k := &rank{Context: c}
		e.ranks = append(e.ranks, k)
		ordinals = append(ordinals, int32(ordinal))
		if err := k.Do(k.set); err != nil {
			return err
		}
	}
	comms := make([]uintptr, len(e.ranks))
	err := onOwnThread(func() error {
		return e.api.check("ncclCommInitAll", e.api.CommInitAll(&comms[0], int32(len(comms)), &ordinals[0]), 0)
	})
	for i, c := range comms {
		e.ranks[i].comm = c
	}
	return err
}

func (k *rank) set() (err error) {
	if k.stream, err = k.NewStream(); err != nil {
		return err
	}
	if k.start, err = k.NewEvent(); err != nil {
		return err
	}
	k.stop, err = k.NewEvent()
	return err
}

// onOwnThread runs f on a thread that ends with it, since NCCL changes the
// current device of the thread that it is called on.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// Name is "nccl".
func (e *Executor) Name() string { return "nccl" }

// Version is NCCL's, such as 2.28.9.
func (e *Executor) Version() (string, error) { return e.api.Version() }

// Layout is what it was set up for; NCCL makes rings of its own.
func (e *Executor) Layout() *allreduce.Layout { return e.layout }

// Local lists all ranks.
func (e *Executor) Local() []int {
	var list []int
	for r := range e.ranks {
		list = append(list, r)
	}
	return list
}

// Can accepts what NCCL may choose: the plan's choice is not binding.
func (e *Executor) Can(a allreduce.Algo, p allreduce.Proto) error {
	if !a.Direct() && int(a) < allreduce.NumAlgos {
		return nil
	}
	return &allreduce.UnsupportedError{Executor: e.Name(), Algo: a, Proto: p, Reason: "NCCL has no such algorithm"}
}

// ops are NCCL's numbers of operations.
var ops = [allreduce.NumOps]int32{allreduce.Sum: 0, allreduce.Prod: 1, allreduce.Max: 2, allreduce.Min: 3, allreduce.Avg: 4}

// call enqueues the works of a plan for one rank.
func (e *Executor) call(r int, p *allreduce.Plan, args []allreduce.Args) error {
	k := e.ranks[r]
	for i := range p.Works {
		w := &p.Works[i]
		send, err := pointer(args[i].Send[r])
		if err != nil {
			return err
		}
		recv, err := pointer(args[i].Recv[r])
		if err != nil {
			return err
		}
		if err := e.api.check("ncclAllReduce", e.api.AllReduce(send, recv, uint64(w.Count), int32(w.DType), ops[w.Op], k.comm, k.stream.Handle()), k.comm); err != nil {
			return fmt.Errorf("rank %d: work %d: %w", r, i, err)
		}
	}
	return nil
}

// pointer is where a span begins on its GPU. Buffers of other executors will do
// if they say where they lie.
func pointer(s allreduce.Span) (cuda.Ptr, error) {
	b, ok := s.Buf.(interface{ Pointer() cuda.Ptr })
	if !ok || b.Pointer() == 0 {
		return 0, fmt.Errorf("rank %d: not a live buffer on a GPU", s.Buf.Rank())
	}
	return b.Pointer() + cuda.Ptr(s.Off), nil
}

// Run executes the plan's works once, in their order.
func (e *Executor) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	if e.closed {
		return allreduce.Timing{}, errors.New("the NCCL executor is closed")
	}
	if err := p.Check(args, e.Local()); err != nil {
		return allreduce.Timing{}, fmt.Errorf("NCCL executor: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return allreduce.Timing{}, err
	}
	pace, err := e.race(1, func(r int) error { return e.call(r, p, args) })
	return allreduce.Timing{Elapsed: pace.Device}, err
}

// Pace is what work in the queues took, on the slowest GPU.
type Pace struct {
	Device time.Duration // between events in the queue
	Host   time.Duration // the host's time to enqueue
}

// race has every rank's thread enqueue n times and wait for the end.
func (e *Executor) race(n int, enqueue func(r int) error) (Pace, error) {
	if e.broken != nil {
		return Pace{}, e.broken
	}
	paces := make([]Pace, len(e.ranks))
	errs := make([]error, len(e.ranks))
	var done sync.WaitGroup
	for r, k := range e.ranks {
		done.Go(func() {
			errs[r] = k.Do(func() error {
				if err := k.queue(n, &paces[r], func() error { return enqueue(r) }); err != nil {
					return err
				}
				return k.await(e.opts.Limit, &paces[r])
			})
		})
	}
	done.Wait()
	if err := errors.Join(errs...); err != nil {
		e.broken = fmt.Errorf("NCCL executor: after %w: only Close may follow", err)
		return Pace{}, errors.Join(err, e.abort())
	}
	p := paces[0]
	for _, x := range paces {
		p.Device, p.Host = max(p.Device, x.Device), max(p.Host, x.Host)
	}
	return Pace{p.Device / time.Duration(n), p.Host / time.Duration(n)}, nil
}

func (k *rank) queue(n int, p *Pace, enqueue func() error) error {
	if err := k.start.Record(k.stream); err != nil {
		return err
	}
	begin := time.Now()
	for range n {
		if err := enqueue(); err != nil {
			return err
		}
	}
	p.Host = time.Since(begin)
	return k.stop.Record(k.stream)
}

func (k *rank) await(limit time.Duration, p *Pace) error {
	for begin := time.Now(); ; {
		reached, err := k.stop.Reached()
		if err != nil {
			return err
		}
		if reached {
			p.Device, err = k.stop.Since(k.start)
			return err
		}
		if waited := time.Since(begin); waited > limit {
			return fmt.Errorf("GPU %d does not answer after %v", k.Device.Ordinal, limit)
		} else if waited > 200*time.Microsecond {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// Close ends the communicator and frees all memory. A second call does nothing.
func (e *Executor) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	for b := range e.buffers {
		errs = append(errs, b.Free())
	}
	for _, k := range e.ranks {
		if k.comm != 0 {
			errs = append(errs, k.Do(func() error { return e.api.check("ncclCommDestroy", e.api.CommDestroy(k.comm), 0) }))
		}
	}
	for _, k := range e.ranks {
		errs = append(errs, k.Do(k.unset), k.Context.Close())
	}
	return errors.Join(errs...)
}

// abort ends the communicator of all ranks at once, with its windows. Kernels may
// still wait for one another, and whoever frees memory would wait for them.
func (e *Executor) abort() error {
	errs := make([]error, len(e.ranks))
	var wg sync.WaitGroup
	for r, k := range e.ranks {
		if k.comm == 0 {
			continue
		}
		wg.Go(func() {
			errs[r] = k.Do(func() error { return e.api.check("ncclCommAbort", e.api.CommAbort(k.comm), 0) })
			k.comm = 0
		})
	}
	wg.Wait()
	for b := range e.buffers {
		b.window = 0
	}
	return errors.Join(errs...)
}

func (k *rank) unset() error {
	var errs []error
	for _, x := range []*cuda.Event{k.start, k.stop} {
		if x != nil {
			errs = append(errs, x.Destroy())
		}
	}
	if k.stream != nil {
		errs = append(errs, k.stream.Destroy())
	}
	return errors.Join(errs...)
}
