//go:build !race

package reduce

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/ringtopo/ringtopo/allreduce"
)

// The race detector does not see what assembly reads and writes: under it the
// portable loops run.

//go:noescape
func vecAdd8(dst, a, b *byte, n int)

//go:noescape
func vecAdd32(dst, a, b *byte, n int)

//go:noescape
func vecAdd64(dst, a, b *byte, n int)

//go:noescape
func vecAddF32(dst, a, b *byte, n int)

//go:noescape
func vecAddF64(dst, a, b *byte, n int)

//go:noescape
func vecAddF16(dst, a, b *byte, n int)

//go:noescape
func vecAddBF16(dst, a, b *byte, n int)

//go:noescape
func vecMul32(dst, a, b *byte, n int)

//go:noescape
func vecMulF32(dst, a, b *byte, n int)

//go:noescape
func vecMulF64(dst, a, b *byte, n int)

//go:noescape
func vecMulF16(dst, a, b *byte, n int)

//go:noescape
func vecMulBF16(dst, a, b *byte, n int)

//go:noescape
func vecMinI8(dst, a, b *byte, n int)

//go:noescape
func vecMinU8(dst, a, b *byte, n int)

//go:noescape
func vecMinI32(dst, a, b *byte, n int)

//go:noescape
func vecMinU32(dst, a, b *byte, n int)

//go:noescape
func vecMaxI8(dst, a, b *byte, n int)

//go:noescape
func vecMaxU8(dst, a, b *byte, n int)

//go:noescape
func vecMaxI32(dst, a, b *byte, n int)

//go:noescape
func vecMaxU32(dst, a, b *byte, n int)

// kernel works on a multiple of vectorBytes.
type kernel func(dst, a, b *byte, n int)

const vectorBytes = 128

var vectorOK = cpu.X86.HasAVX2 && cpu.X86.HasF16C

// kernels has a nil where the portable loop is all there is.
var kernels = [allreduce.NumDTypes][allreduce.NumOps]kernel{
	allreduce.Int8:     {allreduce.Sum: vecAdd8, allreduce.Min: vecMinI8, allreduce.Max: vecMaxI8, allreduce.Avg: vecAdd8},
	allreduce.Uint8:    {allreduce.Sum: vecAdd8, allreduce.Min: vecMinU8, allreduce.Max: vecMaxU8, allreduce.Avg: vecAdd8},
	allreduce.Int32:    {allreduce.Sum: vecAdd32, allreduce.Prod: vecMul32, allreduce.Min: vecMinI32, allreduce.Max: vecMaxI32, allreduce.Avg: vecAdd32},
	allreduce.Uint32:   {allreduce.Sum: vecAdd32, allreduce.Prod: vecMul32, allreduce.Min: vecMinU32, allreduce.Max: vecMaxU32, allreduce.Avg: vecAdd32},
	allreduce.Int64:    {allreduce.Sum: vecAdd64, allreduce.Avg: vecAdd64},
	allreduce.Uint64:   {allreduce.Sum: vecAdd64, allreduce.Avg: vecAdd64},
	allreduce.Float32:  {allreduce.Sum: vecAddF32, allreduce.Prod: vecMulF32, allreduce.Avg: vecAddF32},
	allreduce.Float64:  {allreduce.Sum: vecAddF64, allreduce.Prod: vecMulF64, allreduce.Avg: vecAddF64},
	allreduce.Float16:  {allreduce.Sum: vecAddF16, allreduce.Prod: vecMulF16, allreduce.Avg: vecAddF16},
	allreduce.BFloat16: {allreduce.Sum: vecAddBF16, allreduce.Prod: vecMulBF16, allreduce.Avg: vecAddBF16},
}

// vector does as much as it can and says how many bytes that was.
func vector(dst, a, b []byte, t allreduce.DType, op allreduce.Op) int {
	n := len(dst) / vectorBytes * vectorBytes
	if n == 0 || !vectorOK || int(op) >= allreduce.NumOps || kernels[t][op] == nil {
		return 0
	}
	kernels[t][op](unsafe.SliceData(dst), unsafe.SliceData(a), unsafe.SliceData(b), n)
	return n
}
