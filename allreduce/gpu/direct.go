package gpu

import (
	"fmt"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// DirectTuning shapes the launches of the algorithms without a ring; zero
// fields take the defaults.
type DirectTuning struct {
	Blocks  int // of one rank
	Threads int
	Pieces  int // that a block's stretch is cut into, two-shot only
}

const (
	maxDirectBlocks = 128
	lineCapacity    = 1 << 16 // 512 KiB of data from each rank
	scratchBytes    = 64 << 20
)

// directMemory is what the ranks of a device have for direct algorithms.
type directMemory struct {
	states  []cuda.Ptr
	regions []regionWire // of the local ranks
	table   cuda.Ptr     // of all ranks' regions
	scratch int64
}

// directTrouble is why a direct algorithm cannot run, empty if it can.
func (e *Executor) directTrouble(a allreduce.Algo, p allreduce.Proto) string {
	switch {
	case a == allreduce.OneShot && p == allreduce.LL128:
		return "one-shot goes by lines of 16 bytes, want LL or Simple"
	case a == allreduce.TwoShot && p != allreduce.Simple:
		return "two-shot writes plainly, want Simple"
	case e.layout.NRanks > maxDirectRanks:
		return fmt.Sprintf("a launch names the outputs of %d ranks at most", maxDirectRanks)
	case e.group != nil:
		return "it needs all GPUs in one process"
	}
	for from := range e.layout.NRanks {
		for to := range e.layout.NRanks {
			if e.way(from, to) == staged {
				return fmt.Sprintf("rank %d cannot write to rank %d's memory", from, to)
			}
		}
	}
	return ""
}

// setDirect makes the memory of the direct algorithms on first use.
func (e *Executor) setDirect() error {
	n := e.layout.NRanks
	regions := make([]regionWire, n)
	for _, d := range e.devices {
		err := d.Do(func() error {
			m := &directMemory{scratch: scratchBytes}
			for _, rank := range d.ranks {
				state, err := d.zeroed(int64(unsafe.Sizeof(stateWire{})))
				if err != nil {
					return err
				}
				m.states = append(m.states, state)
				if regions[rank], err = d.region(n); err != nil {
					return err
				}
			}
			d.direct = m
			return d.stream.Synchronize()
		})
		if err != nil {
			return fmt.Errorf("memory of direct algorithms: %w", err)
		}
	}
	for _, d := range e.devices {
		err := d.Do(func() (err error) {
			if d.direct.table, err = d.zeroed(int64(n) * int64(unsafe.Sizeof(regionWire{}))); err != nil {
				return err
			}
			if err := d.stream.Synchronize(); err != nil {
				return err
			}
			return d.Upload(d.direct.table, bytesOfAll(regions))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// region makes what one rank receives into.
func (d *device) region(n int) (r regionWire, err error) {
	for size, to := range map[int64]*uint64{
		2 * int64(n) * lineCapacity * 16:           &r.lines,
		int64(n) * scratchBytes:                    &r.scratch,
		maxDirectBlocks * maxPieces * int64(n) * 8: &r.flags,
		maxDirectBlocks * int64(n) * 8:             &r.done,
	} {
		p, err := d.zeroed(size)
		if err != nil {
			return r, err
		}
		*to = uint64(p)
	}
	return r, nil
}

// prepareDirect makes the launches of one work: several where the message is
// larger than the memory that ranks receive into.
func (e *Executor) prepareDirect(d *device, w *allreduce.Work, a *allreduce.Args) (list []launch, err error) {
	if w.Count == 0 {
		return nil, nil
	}
	oneShot, n, size := w.Algo == allreduce.OneShot, int64(e.layout.NRanks), int64(w.DType.Size())
	entry, most := "twoshot", n*(scratchBytes-4096)/size
	if oneShot {
		entry, most = "oneshot", lineCapacity*8/size
	}
	f, err := d.function(kernels.ModuleDirect, w.DType.String(), entry)
	if err != nil {
		return nil, err
	}
	most = most / 16 * 16
	for first := int64(0); first < w.Count; first += most {
		count := min(most, w.Count-first)
		l, err := e.bindDirect(d, w, a, first, count)
		if err != nil {
			return nil, err
		}
		g := e.directGrid(d, oneShot, count*size, l)
		if err := d.fits(f, g, len(d.ranks)); err != nil {
			return nil, err
		}
		list = append(list, launch{function: f, grid: g, direct: l, oneShot: oneShot})
	}
	return list, nil
}

func (e *Executor) bindDirect(d *device, w *allreduce.Work, a *allreduce.Args, first, count int64) (*directWire, error) {
	l := &directWire{regions: uint64(d.direct.table), reports: uint64(d.reports), abort: e.control.abortPtr(),
		timeoutNs: uint64(e.opts.Limit.Nanoseconds()), count: uint64(count), lineCapacity: lineCapacity, scratchBytes: uint64(d.direct.scratch),
		nRanks: uint32(e.layout.NRanks), nLocal: uint32(len(d.ranks)), trace: 1}
	l.reduction, l.scale, l.divide, l.scalar = recipe(w.DType, w.Op, e.layout.NRanks)
	off := uint64(first) * uint64(w.DType.Size())
	for i, rank := range d.ranks {
		in, err := e.address(a.Send[rank])
		if err != nil {
			return nil, err
		}
		out, err := e.address(a.Recv[rank])
		if err != nil {
			return nil, err
		}
		l.local[i] = directRankWire{uint64(d.direct.states[i]), in + off, out + off, uint64(rank)}
	}
	for rank := range e.layout.NRanks {
		out, err := e.address(a.Recv[rank])
		if err != nil {
			return nil, err
		}
		l.outs[rank] = out + off
	}
	return l, nil
}

// directGrid chooses blocks, threads and pieces by the size of the message, as
// measured on two H200 (docs/gpu.md).
func (e *Executor) directGrid(d *device, oneShot bool, bytes int64, l *directWire) cuda.Grid {
	t := e.opts.Direct
	blocks, threads, pieces := directDefaults(oneShot, bytes)
	if t.Blocks > 0 {
		blocks = t.Blocks
	}
	if t.Threads > 0 {
		threads = t.Threads
	}
	if t.Pieces > 0 {
		pieces = t.Pieces
	}
	blocks = max(1, min(blocks, maxDirectBlocks, d.Device.SMs/len(d.ranks)))
	l.blocks, l.pieces = uint32(blocks), uint32(min(pieces, maxPieces))
	return cuda.Grid{Blocks: blocks * len(d.ranks), Threads: threads, Cooperative: len(d.ranks) > 1}
}

func directDefaults(oneShot bool, bytes int64) (blocks, threads, pieces int) {
	if oneShot {
		// A line for each thread, as far as blocks go.
		return int(max(1, min(64, (bytes/8+511)/512))), 512, 1
	}
	switch {
	case bytes <= 1<<20:
		return 32, 512, 1
	case bytes <= 16<<20:
		return 64, 512, 1
	}
	return maxDirectBlocks, 512, 2
}
