package gpu

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// device is one GPU of this process: its thread and what lives on it. All
// methods but do and close run on the thread.
type device struct {
	*cuda.Context
	ranks       []int // in the order of launches
	stream      *cuda.Stream
	start, stop *cuda.Event
	modules     map[string]*cuda.Module
	functions   map[kernel]*cuda.Function
	arenas      []cuda.Ptr // by place in ranks
	channels    cuda.Ptr   // [rank][channel] channelWire
	reports     cuda.Ptr   // reportWire
	tables      cuda.Ptr   // works beyond the first, and parts
	direct      directMemory
	launches    []dispatch // of the run at hand
	traced      bool       // its rings' blocks record what they do
	hung        atomic.Pointer[HungError]
	owned       []cuda.Ptr
}

const tableBytes = 1 << 18

func openDevice(d *cuda.Device, ranks []int, l *allreduce.Layout) (*device, error) {
	ctx, err := d.Open()
	if err != nil {
		return nil, err
	}
	g := &device{Context: ctx, ranks: ranks, modules: map[string]*cuda.Module{}, functions: map[kernel]*cuda.Function{}}
	if err := g.Do(func() error { return g.set(l) }); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// set makes the queue and all memory but that of messages.
func (d *device) set(l *allreduce.Layout) (err error) {
	if d.stream, err = d.NewStream(); err != nil {
		return err
	}
	if d.start, err = d.NewEvent(); err != nil {
		return err
	}
	if d.stop, err = d.NewEvent(); err != nil {
		return err
	}
	shape := newArena(l)
	for range d.ranks {
		p, err := d.zeroed(shape.bytes(l.Channels()))
		if err != nil {
			return fmt.Errorf("FIFOs of %d channels: %w", l.Channels(), err)
		}
		d.arenas = append(d.arenas, p)
	}
	n := int64(len(d.ranks) * l.Channels())
	if d.channels, err = d.zeroed(n * int64(unsafe.Sizeof(channelWire{}))); err != nil {
		return err
	}
	if d.reports, err = d.zeroed((n + directReports) * reportBytes); err != nil {
		return err
	}
	if d.tables, err = d.zeroed(tableBytes); err != nil {
		return err
	}
	return d.stream.Synchronize()
}

// Alloc takes device memory. Where it has run out the error wraps syscall.ENOMEM
// and says how much is left.
func (d *device) Alloc(n int64) (cuda.Ptr, error) {
	p, err := d.Context.Alloc(n)
	if !cuda.HasCode(err, cuda.OutOfMemory) {
		return p, err
	}
	free, total, infoErr := d.MemInfo()
	if infoErr != nil {
		return p, errors.Join(err, infoErr)
	}
	const mib = 1 << 20
	return p, fmt.Errorf("%w: %w: GPU %d has %d of %d MiB left", err, syscall.ENOMEM, d.Device.Ordinal, free/mib, total/mib)
}

// AllocHost takes pinned memory of the host. Where there is no more the error
// wraps syscall.ENOMEM.
func (d *device) AllocHost(n int64) (*cuda.HostMemory, error) {
	m, err := d.Context.AllocHost(n)
	if cuda.HasCode(err, cuda.OutOfMemory) {
		err = fmt.Errorf("%w: %w", err, syscall.ENOMEM)
	}
	return m, err
}

// zeroed allocates memory that lasts as long as the device.
func (d *device) zeroed(n int64) (cuda.Ptr, error) {
	p, err := d.Alloc(n)
	if err != nil {
		return 0, err
	}
	d.owned = append(d.owned, p)
	return p, d.stream.Fill(p, 0, n)
}

// giveBack frees what is owned beyond the first so many allocations.
func (d *device) giveBack(first int) error {
	return d.Do(func() error {
		errs := []error{d.stream.Synchronize()}
		for _, p := range d.owned[first:] {
			errs = append(errs, d.Free(p))
		}
		d.owned = d.owned[:first]
		return errors.Join(errs...)
	})
}

// kernel names a kernel: the type is empty where it knows none.
type kernel struct{ module, dtype, entry string }

// between is a kernel of those that prove and measure ways between GPUs.
func between(entry string) kernel { return kernel{kernels.ModuleP2P, "", entry} }

func (k kernel) key() string { return k.module + "/" + k.dtype }

// load has all devices compile a kernel at the same time, where one of them has
// not yet: that takes longer than all the rest of a first run.
func (e *Executor) load(k kernel) error {
	lacks := func(d *device) bool { return d.functions[k] == nil }
	if len(e.devices) < 2 || !slices.ContainsFunc(e.devices, lacks) {
		return nil // a device alone loads what it needs
	}
	return atOnce(e.devices, func(_ int, d *device) error {
		return d.Do(func() error {
			_, err := d.function(k)
			return err
		})
	})
}

// kernelOf is what runs a work.
func (e *Executor) kernelOf(w *allreduce.Work) kernel {
	entry := ringKernels[w.Proto].entry
	if w.Algo.Direct() {
		entry = directKernelOf(w.Algo, w.Proto, e.opts.Direct).entry
	}
	return kernel{entry, w.DType.String(), entry}
}

// function finds a kernel, loading its module first where it must.
func (d *device) function(k kernel) (*cuda.Function, error) {
	if f := d.functions[k]; f != nil {
		return f, nil
	}
	key := k.key()
	m := d.modules[key]
	if m == nil {
		ptx, err := kernels.PTX(k.module, k.dtype, d.Device.Major)
		if err != nil {
			return nil, err
		}
		if m, err = d.Load(ptx); err != nil {
			return nil, fmt.Errorf("kernels of %s: %w", key, err)
		}
		d.modules[key] = m
	}
	f, err := m.Function(k.entry)
	if err != nil {
		return nil, err
	}
	d.functions[k] = f
	return f, nil
}

// close frees everything. It goes on after errors, and joins them.
func (d *device) close() error {
	err := d.Do(func() error {
		var errs []error
		if d.stream != nil {
			errs = append(errs, d.stream.Synchronize())
		}
		for _, p := range d.owned {
			errs = append(errs, d.Free(p))
		}
		d.owned = nil
		for _, m := range d.modules {
			errs = append(errs, m.Unload())
		}
		for _, e := range []*cuda.Event{d.start, d.stop} {
			if e != nil {
				errs = append(errs, e.Destroy())
			}
		}
		if d.stream != nil {
			errs = append(errs, d.stream.Destroy())
		}
		return errors.Join(errs...)
	})
	if errors.Is(err, cuda.ErrClosed) {
		return nil
	}
	return errors.Join(err, d.Context.Close())
}
