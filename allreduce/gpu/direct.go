package gpu

import (
	"cmp"
	"fmt"
	"math"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/kernels"
)

// DirectTuning shapes the launches of the algorithms without a ring; zero
// fields take the defaults.
type DirectTuning struct {
	Blocks  int  // of one rank
	Threads int  // of a block
	Pieces  int  // that a block's stretch is cut into, two-shot by writes and loads
	Loads   bool // two-shot: owners read the others' inputs, instead of being sent them
}

const maxDirectBlocks = 128

// directKernel is how an algorithm goes with a protocol: by a kernel,
// over memory that limits a launch.
type directKernel struct {
	entry  string // of the module of that name
	launch func(*cuda.Function, *cuda.Stream, cuda.Grid, *[1024]byte) error
	// room is what a launch over so many bytes needs from n ranks, most the
	// bytes that a launch may have where there is so much.
	room func(bytes, n int64) directRoom
	most func(r directRoom, n int64) int64
}

var (
	oneShotLL    = directKernel{"oneshot", kernels.Oneshot, noRoom, mostLines}
	oneShotLL128 = directKernel{"oneshot_ll128", kernels.OneshotLL128,
		func(bytes, n int64) directRoom { return directRoom{wires: wireOf(bytes)} },
		func(r directRoom, _ int64) int64 { return r.wires / sliceWire * sliceData }}
	twoShotWrites = directKernel{"twoshot", kernels.Twoshot,
		func(bytes, n int64) directRoom { return directRoom{scratch: bytes/n + roundings} },
		func(r directRoom, n int64) int64 { return n * (r.scratch - roundings) }}
	twoShotLoads = directKernel{"twoshot_loads", kernels.TwoshotLoads, noRoom,
		func(directRoom, int64) int64 { return math.MaxInt64 }}
	twoShotLL128 = directKernel{"twoshot_ll128", kernels.TwoshotLL128,
		func(bytes, n int64) directRoom { return directRoom{wires: wireOf(bytes) + n*sliceWire} },
		func(r directRoom, n int64) int64 { return (r.wires/sliceWire - n) * sliceData }}
)

func noRoom(_, _ int64) directRoom          { return directRoom{} }
func mostLines(_ directRoom, _ int64) int64 { return lineCapacity * 8 }
func wireOf(bytes int64) int64              { return (bytes + sliceData - 1) / sliceData * sliceWire }

// directKernelOf is what runs an algorithm.
func directKernelOf(a allreduce.Algo, p allreduce.Proto, t DirectTuning) directKernel {
	switch {
	case a == allreduce.OneShot && p == allreduce.LL128:
		return oneShotLL128
	case a == allreduce.OneShot:
		return oneShotLL
	case p == allreduce.LL128:
		return twoShotLL128
	case t.Loads:
		return twoShotLoads
	}
	return twoShotWrites
}

// directTrouble is why a direct algorithm cannot run, empty if it can.
func (e *Executor) directTrouble(a allreduce.Algo, p allreduce.Proto) string {
	switch {
	case a == allreduce.TwoShot && p == allreduce.LL:
		return "two-shot goes by plain writes or lines of 128 bytes, want Simple or LL128"
	case e.layout.NRanks > maxDirectRanks:
		return fmt.Sprintf("a launch names the outputs of %d ranks at most", maxDirectRanks)
	case e.group != nil:
		return "it needs all GPUs in one process"
	}
	for from := range e.layout.NRanks {
		for to := range e.layout.NRanks {
			switch way := e.way(from, to); {
			case way == staged:
				return fmt.Sprintf("rank %d cannot write to rank %d's memory", from, to)
			case way == pcie && p == allreduce.LL128:
				return fmt.Sprintf("rank %d reaches rank %d over PCIe, which may deliver a line of 128 bytes in parts", from, to)
			}
		}
	}
	return ""
}

// prepareDirect makes the launches of one work: several where the message is
// larger than the memory that ranks receive into.
func (e *Executor) prepareDirect(d *device, w *allreduce.Work, a *allreduce.Args) (list []dispatch, err error) {
	if w.Count == 0 {
		return nil, nil
	}
	k, n, size := directKernelOf(w.Algo, w.Proto, e.opts.Direct), int64(e.layout.NRanks), int64(w.DType.Size())
	f, err := d.function(e.kernelOf(w))
	if err != nil {
		return nil, err
	}
	most := k.most(d.direct.room, n) / size
	if most < w.Count {
		most = most / 16 * 16 // so that every launch is aligned as the first one is
	}
	for first := int64(0); first < w.Count; first += most {
		count := min(most, w.Count-first)
		l, err := e.bindDirect(d, w, a, first, count)
		if err != nil {
			return nil, err
		}
		g := e.directGrid(d, w, count*size, l)
		if err := d.fits(f, g, len(d.ranks)); err != nil {
			return nil, err
		}
		list = append(list, dispatch{algo: w.Algo, proto: w.Proto, function: f, grid: g, direct: l, launchDirect: k.launch})
	}
	return list, nil
}

func (e *Executor) bindDirect(d *device, w *allreduce.Work, a *allreduce.Args, first, count int64) (*directWire, error) {
	shape := directShapeOf(int64(e.layout.NRanks), d.direct.room)
	l := &directWire{reports: e.directReport(d), abort: e.control.abortPtr(), timeoutNs: uint64(e.opts.Limit.Nanoseconds()),
		count: uint64(count), lineCapacity: lineCapacity, scratchBytes: uint64(d.direct.room.scratch), wireBytes: uint64(d.direct.room.wires),
		flagsOffset: uint64(shape.flags), doneOffset: uint64(shape.done), scratchOffset: uint64(shape.scratch), wiresOffset: uint64(shape.wires),
		nRanks: uint32(e.layout.NRanks), nLocal: uint32(len(d.ranks))}
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
		in, err := e.address(a.Send[rank])
		if err != nil {
			return nil, err
		}
		out, err := e.address(a.Recv[rank])
		if err != nil {
			return nil, err
		}
		l.ins[rank], l.outs[rank] = in+off, out+off
	}
	return l, nil
}

// directGrid chooses blocks, threads and pieces by the size of the message, as
// measured on two H200 (docs/gpu.md).
func (e *Executor) directGrid(d *device, w *allreduce.Work, bytes int64, l *directWire) cuda.Grid {
	t := directDefaults(w.Algo, w.Proto, bytes, e.opts.Direct)
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
func directDefaults(a allreduce.Algo, p allreduce.Proto, bytes int64, set DirectTuning) DirectTuning {
	t := stretchGrid
	switch {
	case p == allreduce.LL128:
		t = sliceGrid
	case a == allreduce.OneShot:
		t = lineGrid
	}
	return t(bytes, set)
}

// lineGrid has a thread for each line, as far as blocks go.
func lineGrid(bytes int64, set DirectTuning) DirectTuning {
	t := DirectTuning{Threads: 256, Pieces: 1}
	if bytes > 128<<10 {
		t.Threads = 512
	}
	t.Threads = cmp.Or(set.Threads, t.Threads)
	lines := (bytes + 7) / 8
	t.Blocks = int(max(1, min(maxDirectBlocks, (lines+int64(t.Threads)-1)/int64(t.Threads))))
	t.Threads = max(32, min(t.Threads, int((lines/int64(t.Blocks)+31)/32*32)))
	t.Blocks = cmp.Or(set.Blocks, t.Blocks)
	return t
}

// sliceGrid has a warp for each slice, as far as blocks go: few in each block
// while there are blocks.
func sliceGrid(bytes int64, set DirectTuning) DirectTuning {
	slices := (bytes + sliceData - 1) / sliceData
	blocks := max(1, min(int64(cmp.Or(set.Blocks, maxDirectBlocks)), slices))
	if turns := (slices + blocks*16 - 1) / (blocks * 16); turns > 2 && set.Blocks == 0 {
		blocks = (slices + turns*16 - 1) / (turns * 16) // all warps have as many
	}
	warps := max(1, min(16, (slices+blocks-1)/blocks))
	return DirectTuning{Blocks: int(blocks), Threads: cmp.Or(set.Threads, 32*int(warps)), Pieces: 1}
}

// stretchGrid cuts shares into stretches that are worth a fence.
func stretchGrid(bytes int64, set DirectTuning) DirectTuning {
	t := DirectTuning{Blocks: maxDirectBlocks, Threads: 512, Pieces: 1}
	switch {
	case bytes <= 1<<20:
		t.Blocks = 32
	case bytes <= 4<<20:
		t.Blocks = 64
	case bytes > 32<<20:
		t.Pieces = 2
	}
	return DirectTuning{Blocks: cmp.Or(set.Blocks, t.Blocks), Threads: cmp.Or(set.Threads, t.Threads), Pieces: cmp.Or(set.Pieces, t.Pieces)}
}
