package gpu

import (
	"fmt"

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
	leastScratch    = 1 << 20
	mostScratch     = 1 << 30
)

// directMemory is what the ranks of a device have for direct algorithms. Growth
// makes new memory beside the old, which captured launches may still use.
type directMemory struct {
	states  []cuda.Ptr
	regions []uint64 // of all ranks
	scratch int64    // bytes from each source; 0: nothing is there yet
}

// shape is where the parts of a region of n sources lie.
type directShape struct{ flags, done, scratch, bytes int64 }

func directShapeOf(n, scratch int64) (s directShape) {
	s.flags = 2 * n * lineCapacity * 16
	s.done = s.flags + maxDirectBlocks*maxPieces*n*8
	s.scratch = (s.done + maxDirectBlocks*n*8 + 255) / 256 * 256
	s.bytes = s.scratch + n*scratch
	return s
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

// provideDirect makes the memory that a plan's direct works need.
func (e *Executor) provideDirect(p *allreduce.Plan) error {
	need := int64(0)
	for i := range p.Works {
		w := &p.Works[i]
		if w.Algo == allreduce.TwoShot {
			share := w.Bytes()/int64(e.layout.NRanks) + 4096
			need = max(need, min(mostScratch, share))
		} else if w.Algo == allreduce.OneShot {
			need = max(need, leastScratch)
		}
	}
	if need <= e.devices[0].direct.scratch {
		return nil
	}
	size := int64(leastScratch)
	for size < need {
		size *= 2
	}
	if err := e.growDirect(size); err != nil {
		return fmt.Errorf("memory of direct algorithms: %w", err)
	}
	return nil
}

func (e *Executor) growDirect(scratch int64) error {
	n := e.layout.NRanks
	regions := make([]uint64, n)
	for _, d := range e.devices {
		err := d.Do(func() error {
			m := directMemory{scratch: scratch, regions: regions}
			for _, rank := range d.ranks {
				state, err := d.zeroed(stateBytes)
				if err != nil {
					return err
				}
				m.states = append(m.states, state)
				region, err := d.zeroed(directShapeOf(int64(n), scratch).bytes)
				if err != nil {
					return err
				}
				regions[rank] = uint64(region)
			}
			d.direct = m
			return d.stream.Synchronize()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// prepareDirect makes the launches of one work: several where the message is
// larger than the memory that ranks receive into.
func (e *Executor) prepareDirect(d *device, w *allreduce.Work, a *allreduce.Args) (list []dispatch, err error) {
	if w.Count == 0 {
		return nil, nil
	}
	oneShot, n, size := w.Algo == allreduce.OneShot, int64(e.layout.NRanks), int64(w.DType.Size())
	entry, start, most := "twoshot", kernels.Twoshot, n*(d.direct.scratch-4096)/size
	if oneShot {
		entry, start, most = "oneshot", kernels.Oneshot, lineCapacity*8/size
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
		list = append(list, dispatch{algo: w.Algo, function: f, grid: g, direct: l, launchDirect: start})
	}
	return list, nil
}

func (e *Executor) bindDirect(d *device, w *allreduce.Work, a *allreduce.Args, first, count int64) (*directWire, error) {
	shape := directShapeOf(int64(e.layout.NRanks), d.direct.scratch)
	l := &directWire{reports: uint64(d.reports), abort: e.control.abortPtr(), timeoutNs: uint64(e.opts.Limit.Nanoseconds()),
		count: uint64(count), lineCapacity: lineCapacity, scratchBytes: uint64(d.direct.scratch),
		flagsOffset: uint64(shape.flags), doneOffset: uint64(shape.done), scratchOffset: uint64(shape.scratch),
		nRanks: uint32(e.layout.NRanks), nLocal: uint32(len(d.ranks)), trace: 1}
	l.reduction, l.scale, l.divide, l.scalar = recipe(w.DType, w.Op, e.layout.NRanks)
	copy(l.regions[:], d.direct.regions)
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
	t := directDefaults(oneShot, bytes, e.opts.Direct)
	blocks := max(1, min(t.Blocks, maxDirectBlocks, e.roomForBlocks()))
	l.blocks, l.pieces = uint32(blocks), uint32(max(1, min(t.Pieces, maxPieces)))
	return cuda.Grid{Blocks: blocks * len(d.ranks), Threads: t.Threads, Cooperative: len(d.ranks) > 1}
}

// roomForBlocks is how many blocks every rank can have at once, on the fullest
// GPU: block b of a rank speaks to block b of all others.
func (e *Executor) roomForBlocks() int {
	room := maxDirectBlocks
	for _, d := range e.devices {
		room = min(room, d.Device.SMs/len(d.ranks))
	}
	return room
}

// directDefaults fills in what is not set.
func directDefaults(oneShot bool, bytes int64, set DirectTuning) DirectTuning {
	t := DirectTuning{Blocks: maxDirectBlocks, Threads: 512, Pieces: 1}
	switch {
	case oneShot: // a line for each thread, as far as blocks go
		t.Threads = 256
		if bytes > 128<<10 {
			t.Threads = 512
		}
		if set.Threads > 0 {
			t.Threads = set.Threads
		}
		lines := (bytes + 7) / 8
		t.Blocks = int(max(1, min(maxDirectBlocks, (lines+int64(t.Threads)-1)/int64(t.Threads))))
		t.Threads = min(t.Threads, int((lines/int64(t.Blocks)+31)/32*32))
		t.Threads = max(t.Threads, 32)
	case bytes <= 1<<20:
		t.Blocks = 32
	case bytes <= 4<<20:
		t.Blocks = 64
	case bytes > 32<<20:
		t.Pieces = 2
	}
	if set.Blocks > 0 {
		t.Blocks = set.Blocks
	}
	if set.Threads > 0 && !oneShot {
		t.Threads = set.Threads
	}
	if set.Pieces > 0 {
		t.Pieces = set.Pieces
	}
	return t
}
