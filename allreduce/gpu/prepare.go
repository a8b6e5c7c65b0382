package gpu

import (
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// dispatch is one kernel launch of a run on one device.
type dispatch struct {
	algo     allreduce.Algo
	proto    allreduce.Proto
	function *cuda.Function
	grid     cuda.Grid
	// One of the two, with the launch function of its kernel.
	ring         *launchWire
	launchRing   func(*cuda.Function, *cuda.Stream, cuda.Grid, *[560]byte) error
	direct       *directWire
	launchDirect func(*cuda.Function, *cuda.Stream, cuda.Grid, *[1024]byte) error
}

func (l *dispatch) enqueue(s *cuda.Stream) error {
	if l.ring != nil {
		return l.launchRing(l.function, s, l.grid, (*[560]byte)(bytesOf(l.ring)))
	}
	return l.launchDirect(l.function, s, l.grid, (*[1024]byte)(bytesOf(l.direct)))
}

// ringKernels are the kernels by protocol.
var ringKernels = [allreduce.NumProtos]struct {
	entry  string
	launch func(*cuda.Function, *cuda.Stream, cuda.Grid, *[560]byte) error
}{allreduce.LL: {"ring_ll", kernels.RingLL}, allreduce.LL128: {"ring_ll128", kernels.RingLL128}, allreduce.Simple: {"ring_simple", kernels.RingSimple}}

// prepare turns a plan into the launches of every device.
func (e *Executor) prepare(p *allreduce.Plan, args []allreduce.Args) error {
	if err := e.provide(p, args); err != nil {
		return err
	}
	for _, d := range e.devices {
		err := d.Do(func() (err error) {
			d.launches, err = e.prepareDevice(d, d.launches[:0], d.tables, p, args)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// provide checks a plan, and has all that its launches need.
func (e *Executor) provide(p *allreduce.Plan, args []allreduce.Args) error {
	if p.Layout != e.layout {
		return errors.New("the plan is for another layout than the executor")
	}
	if err := p.Check(args, e.local); err != nil {
		return err
	}
	if p.Threads < 32 || p.Threads%32 != 0 || p.Threads > kernels.RingSimpleThreads {
		return fmt.Errorf("blocks of %d threads: want a multiple of 32 up to %d", p.Threads, kernels.RingSimpleThreads)
	}
	for i := range p.Works {
		if err := e.checkWork(&p.Works[i]); err != nil {
			return fmt.Errorf("work %d: %w", i, err)
		}
		if w := p.Works[i].Threads; w > p.Threads {
			return fmt.Errorf("work %d: %d threads in blocks of %d", i, w, p.Threads)
		}
		if err := e.load(e.kernelOf(&p.Works[i])); err != nil {
			return fmt.Errorf("work %d: %w", i, err)
		}
	}
	return e.provideDirect(p)
}

// prepareDevice makes one launch for each stretch of works of one type and
// protocol: a kernel knows one of each only.
// What does not fit into a launch's parameter goes to device memory at tables.
func (e *Executor) prepareDevice(d *device, list []dispatch, tables cuda.Ptr, p *allreduce.Plan, args []allreduce.Args) ([]dispatch, error) {
	t := table{base: tables}
	for i := 0; i < len(p.Works); {
		if p.Works[i].Algo.Direct() {
			more, err := e.prepareDirect(d, &p.Works[i], &args[i])
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
			i++
			continue
		}
		n := i + 1
		for n < len(p.Works) && p.Works[n].DType == p.Works[i].DType && p.Works[n].Proto == p.Works[i].Proto && p.Works[n].Algo == p.Works[i].Algo {
			n++
		}
		l, err := e.prepareRing(d, p, args, i, n, &t)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
		i = n
	}
	return list, t.upload(d)
}

// prepareRing makes the launch of works [from, to).
func (e *Executor) prepareRing(d *device, p *allreduce.Plan, args []allreduce.Args, from, to int, t *table) (dispatch, error) {
	f, err := d.function(e.kernelOf(&p.Works[from]))
	if err != nil {
		return dispatch{}, err
	}
	l := &launchWire{channels: uint64(d.channels), reports: uint64(d.reports), abort: e.control.abortPtr(),
		mask: p.Mask, timeoutNs: uint64(e.opts.Limit.Nanoseconds()), nRanks: uint32(e.layout.NRanks),
		nLocal: uint32(len(d.ranks)), nChannels: uint32(e.layout.Channels()), nWorks: uint32(to - from), trace: 1}
	if x := e.opts.Fault; x.Kind != allreduce.NoFault {
		l.faultKind, l.faultRank, l.faultChannel, l.faultStep = uint32(x.Kind), uint32(x.Rank), uint32(x.Channel), uint32(x.Step)
	}
	grid := cuda.Grid{Blocks: len(p.Channels()) * len(d.ranks), Threads: p.Threads, Cooperative: len(d.ranks) > 1}
	if err := d.fits(f, grid, len(d.ranks)); err != nil {
		return dispatch{}, err
	}
	l.spread = uint32(e.spreadOf(d))
	grid.Blocks *= e.spreadOf(d)
	var more []workWire
	for i := from; i < to; i++ {
		w, err := e.bind(d, &p.Works[i], &args[i], t)
		if err != nil {
			return dispatch{}, fmt.Errorf("work %d: %w", i, err)
		}
		if i == from {
			l.work = w
		} else {
			more = append(more, w)
		}
	}
	l.works = t.add(bytesOfAll(more))
	return dispatch{algo: allreduce.Ring, proto: p.Works[from].Proto, function: f, grid: grid, ring: l, launchRing: ringKernels[p.Works[from].Proto].launch}, nil
}

// spreadOf is how many blocks a ring is launched with for each that works.
func (e *Executor) spreadOf(d *device) int {
	if len(d.ranks) > 1 { // all must have a place at once
		return 1
	}
	return max(1, e.opts.Spread)
}

// bind gives a work its buffers.
func (e *Executor) bind(d *device, w *allreduce.Work, a *allreduce.Args, t *table) (workWire, error) {
	k, parts := encodeWork(w, e.layout.NRanks)
	k.parts = t.add(bytesOfAll(parts))
	for i, rank := range d.ranks {
		var err error
		if k.local[i].in, err = e.address(a.Send[rank]); err != nil {
			return k, err
		}
		if k.local[i].out, err = e.address(a.Recv[rank]); err != nil {
			return k, err
		}
	}
	if !e.writesDirectly() || w.Proto != allreduce.Simple {
		return k, nil
	}
	k.direct = 1
	for rank := range e.layout.NRanks {
		var err error
		if k.outs[rank], err = e.address(a.Recv[rank]); err != nil {
			return k, err
		}
	}
	return k, nil
}

// writesDirectly says whether finished chunks go straight into neighbours'
// outputs. With a fault that needs old data in a slot, or wrong neighbours, they
// do not.
func (e *Executor) writesDirectly() bool {
	k := e.opts.Fault.Kind
	return !e.opts.NoDirect && k != allreduce.StaleFlag && k != allreduce.SwapNeighbour && e.writable()
}

// fits says whether all blocks of a grid can run at once on the device.
func (d *device) fits(f *cuda.Function, g cuda.Grid, ranks int) error {
	most, err := f.Resident(g.Threads)
	if err != nil {
		return err
	}
	if g.Blocks > most {
		return fmt.Errorf("GPU %d runs %d blocks of %d threads at once, %d ranks with %d channels need %d: use at most %d channels, or fewer ranks per GPU",
			d.Device.Ordinal, most, g.Threads, ranks, g.Blocks/ranks, g.Blocks, most/ranks)
	}
	return nil
}

// table collects what launches need in device memory.
type table struct {
	base cuda.Ptr
	data []byte
}

// add appends bytes and gives the address that they will have, 0 for none.
func (t *table) add(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	at := len(t.data)
	t.data = append(t.data, b...)
	for len(t.data)%16 != 0 {
		t.data = append(t.data, 0)
	}
	return uint64(t.base) + uint64(at)
}

func (t *table) upload(d *device) error {
	if len(t.data) > tableBytes {
		return fmt.Errorf("works of %d bytes in one run, the limit is %d: split the group", len(t.data), tableBytes)
	}
	return d.Upload(t.base, t.data)
}
