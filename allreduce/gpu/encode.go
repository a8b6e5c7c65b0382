package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
)

// encodeWork writes down what a work is, without its buffers. The parts are
// given where they have more than three sizes or are out of order; the kernel
// then wants them as a table.
func encodeWork(w *allreduce.Work, n int) (workWire, []partWire) {
	size := w.DType.Size()
	k := workWire{stepBytes: uint32(w.StepBytes), protocol: uint32(w.Proto), threads: uint32(w.Threads)}
	k.reduction, k.scale, k.divide, k.scalar = recipe(w.DType, w.Op, n)
	for i := range w.Parts {
		k.mask |= 1 << w.Parts[i].Channel
	}
	if regular(w.Parts) {
		last := len(w.Parts) - 1
		part := func(i int) (uint64, uint32) {
			return uint64(w.Parts[i].Count), uint32(w.Parts[i].ChunkBytes / size)
		}
		k.countLo, k.chunkLo = part(0)
		if last > 0 {
			k.countHi, k.chunkHi = part(last)
		}
		if last > 1 {
			k.countMid, k.chunkMid = part(1)
		}
		return k, nil
	}
	table := make([]partWire, bits.Len64(k.mask))
	for _, p := range w.Parts {
		table[p.Channel] = partWire{uint64(p.Offset), uint64(p.Count), int64(p.ChunkBytes / size)}
	}
	return k, table
}

// regular says whether parts lie in the order of their channels and all but the
// first and last are alike.
func regular(parts []allreduce.Part) bool {
	if len(parts) == 0 || !slices.IsSortedFunc(parts, func(a, b allreduce.Part) int { return a.Channel - b.Channel }) {
		return false
	}
	for i := 2; i < len(parts)-1; i++ {
		if parts[i].Count != parts[1].Count || parts[i].ChunkBytes != parts[1].ChunkBytes {
			return false
		}
	}
	return true
}

// recipe is an operation as kernels know it: sum, product, maximum and minimum
// by number, and averages as a sum of scaled inputs or a sum that is divided.
func recipe(t allreduce.DType, op allreduce.Op, n int) (reduction, scale, divide uint32, scalar uint64) {
	if op != allreduce.Avg {
		return uint32(op), 0, 0, 0
	}
	if reduce.Divides(t, op) {
		return uint32(allreduce.Sum), 0, uint32(n), 0
	}
	return uint32(allreduce.Sum), 1, 0, inverse(t, n)
}

// inverse is 1/n in the bits of a floating type.
func inverse(t allreduce.DType, n int) uint64 {
	f := 1 / float64(n)
	var b [8]byte
	switch t {
	case allreduce.Float16:
		binary.NativeEndian.PutUint16(b[:], reduce.ToF16(float32(f)))
	case allreduce.BFloat16:
		binary.NativeEndian.PutUint16(b[:], reduce.ToBF16(float32(f)))
	case allreduce.Float32:
		binary.NativeEndian.PutUint32(b[:], math.Float32bits(float32(f)))
	case allreduce.Float64:
		binary.NativeEndian.PutUint64(b[:], math.Float64bits(f))
	}
	return binary.NativeEndian.Uint64(b[:])
}

// checkWork says what is impossible about a ring's work on these FIFOs.
func (e *Executor) checkWork(w *allreduce.Work) error {
	if err := e.Can(w.Algo, w.Proto); err != nil {
		return err
	}
	if w.Algo.Direct() {
		return nil
	}
	if room := e.layout.StepBytes(w.Proto); w.StepBytes != room {
		return fmt.Errorf("step of %d bytes, the FIFO has steps of %d", w.StepBytes, room)
	}
	if w.Threads < 32 || w.Threads%32 != 0 {
		return fmt.Errorf("%d threads: want a multiple of 32", w.Threads)
	}
	if most := chunkRoom(w); !slices.ContainsFunc(w.Parts, func(p allreduce.Part) bool { return p.ChunkBytes > most || p.ChunkBytes%16 != 0 }) {
		return nil
	}
	return fmt.Errorf("chunks of %v bytes: want multiples of 16 up to %d", w.Parts, chunkRoom(w))
}

// chunkRoom is the most data that a chunk may have: what its steps hold.
func chunkRoom(w *allreduce.Work) int {
	switch w.Proto {
	case allreduce.LL:
		return w.StepBytes / 2
	case allreduce.LL128:
		return w.StepBytes / 2048 * 1920
	}
	// A slice is half a chunk, rounded up to 16 elements.
	cell := 16 * w.DType.Size()
	return 2 * (2 * w.StepBytes / cell) * cell
}
