package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// MeasureHop moves bytes from one rank's memory to another's by a kernel's
// stores, as a ring does, and returns the time it took. Where one cannot write to
// the other the error wraps errors.ErrUnsupported.
func (e *Executor) MeasureHop(ctx context.Context, from, to int, bytes int64) (took time.Duration, err error) {
	if from < 0 || to < 0 || from >= e.layout.NRanks || to >= e.layout.NRanks || bytes < 16 {
		return 0, fmt.Errorf("measure rank %d to %d with %d bytes: no such hop", from, to, bytes)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if e.group != nil {
		return 0, fmt.Errorf("measure rank %d to %d: they are in different processes: %w", from, to, errors.ErrUnsupported)
	}
	if e.way(from, to) == staged {
		return 0, fmt.Errorf("measure rank %d to %d: they are connected through host memory: %w", from, to, errors.ErrUnsupported)
	}
	src, err := e.Alloc(from, bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Free()) }()
	dst, err := e.Alloc(to, bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dst.Free()) }()
	d := e.seats[from].device
	err = d.Do(func() (err error) {
		took, err = d.transfer(src.(*buffer).ptr, dst.(*buffer).ptr, bytes)
		return err
	})
	return took, err
}

// transfer times one copy by all multiprocessors, after one to warm up.
func (d *device) transfer(from, to cuda.Ptr, bytes int64) (time.Duration, error) {
	f, err := d.function(between("transfer"))
	if err != nil {
		return 0, err
	}
	g := cuda.Grid{Blocks: d.Device.SMs, Threads: 512}
	for round := range 2 {
		if round == 1 {
			if err := d.start.Record(d.stream); err != nil {
				return 0, err
			}
		}
		if err := kernels.Transfer(f, d.stream, g, uint64(from), uint64(to), uint64(bytes), 1); err != nil {
			return 0, err
		}
	}
	if err := d.stop.Record(d.stream); err != nil {
		return 0, err
	}
	if err := d.finish(10*time.Second + time.Duration(bytes)); err != nil {
		return 0, err
	}
	return d.stop.Since(d.start)
}
