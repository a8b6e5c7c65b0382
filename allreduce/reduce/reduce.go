package reduce

import (
	"fmt"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Reduce sets dst = a op b, element by element. Avg sums. It panics where a or
// b is shorter than dst, or dst holds a part of an element.
func Reduce(dst, a, b []byte, t allreduce.DType, op allreduce.Op) {
	check(dst, t)
	a, b = a[:len(dst)], b[:len(dst)]
	if n := vector(dst, a, b, t, op); n > 0 {
		dst, a, b = dst[n:], a[n:], b[n:]
	}
	switch op {
	case allreduce.Sum, allreduce.Avg:
		sum(dst, a, b, t)
	case allreduce.Prod:
		prod(dst, a, b, t)
	case allreduce.Min:
		minimum(dst, a, b, t)
	case allreduce.Max:
		maximum(dst, a, b, t)
	default:
		panic(fmt.Sprintf("reduce: no operation %v", op))
	}
}

func check(dst []byte, t allreduce.DType) {
	if len(dst)%t.Size() != 0 {
		panic(fmt.Sprintf("reduce: %d bytes are no whole number of %v", len(dst), t))
	}
}

// Two's complement makes sums and products the same for both signs.

func sum(dst, a, b []byte, t allreduce.DType) {
	switch t {
	case allreduce.Int8, allreduce.Uint8:
		add8(dst, a, b)
	case allreduce.Int32, allreduce.Uint32:
		add(as[uint32](dst), as[uint32](a), as[uint32](b))
	case allreduce.Int64, allreduce.Uint64:
		add(as[uint64](dst), as[uint64](a), as[uint64](b))
	case allreduce.Float32:
		add(as[float32](dst), as[float32](a), as[float32](b))
	case allreduce.Float64:
		add(as[float64](dst), as[float64](a), as[float64](b))
	case allreduce.Float16:
		addF16(as[uint16](dst), as[uint16](a), as[uint16](b))
	case allreduce.BFloat16:
		addBF16(as[uint16](dst), as[uint16](a), as[uint16](b))
	}
}

func prod(dst, a, b []byte, t allreduce.DType) {
	switch t {
	case allreduce.Int8, allreduce.Uint8:
		mul(dst, a, b)
	case allreduce.Int32, allreduce.Uint32:
		mul(as[uint32](dst), as[uint32](a), as[uint32](b))
	case allreduce.Int64, allreduce.Uint64:
		mul(as[uint64](dst), as[uint64](a), as[uint64](b))
	case allreduce.Float32:
		mul(as[float32](dst), as[float32](a), as[float32](b))
	case allreduce.Float64:
		mul(as[float64](dst), as[float64](a), as[float64](b))
	case allreduce.Float16:
		mulF16(as[uint16](dst), as[uint16](a), as[uint16](b))
	case allreduce.BFloat16:
		mulBF16(as[uint16](dst), as[uint16](a), as[uint16](b))
	}
}

func minimum(dst, a, b []byte, t allreduce.DType) {
	switch t {
	case allreduce.Int8:
		min8(dst, a, b, signBits)
	case allreduce.Uint8:
		min8(dst, a, b, 0)
	case allreduce.Int32:
		lesser(as[int32](dst), as[int32](a), as[int32](b))
	case allreduce.Uint32:
		lesser(as[uint32](dst), as[uint32](a), as[uint32](b))
	case allreduce.Int64:
		lesser(as[int64](dst), as[int64](a), as[int64](b))
	case allreduce.Uint64:
		lesser(as[uint64](dst), as[uint64](a), as[uint64](b))
	case allreduce.Float16:
		lesserFloat(as[int16](dst), as[int16](a), as[int16](b), infF16)
	case allreduce.BFloat16:
		lesserFloat(as[int16](dst), as[int16](a), as[int16](b), infBF16)
	case allreduce.Float32:
		lesserFloat(as[int32](dst), as[int32](a), as[int32](b), infF32)
	case allreduce.Float64:
		lesserFloat(as[int64](dst), as[int64](a), as[int64](b), infF64)
	}
}

func maximum(dst, a, b []byte, t allreduce.DType) {
	switch t {
	case allreduce.Int8:
		max8(dst, a, b, signBits)
	case allreduce.Uint8:
		max8(dst, a, b, 0)
	case allreduce.Int32:
		greater(as[int32](dst), as[int32](a), as[int32](b))
	case allreduce.Uint32:
		greater(as[uint32](dst), as[uint32](a), as[uint32](b))
	case allreduce.Int64:
		greater(as[int64](dst), as[int64](a), as[int64](b))
	case allreduce.Uint64:
		greater(as[uint64](dst), as[uint64](a), as[uint64](b))
	case allreduce.Float16:
		greaterFloat(as[int16](dst), as[int16](a), as[int16](b), infF16)
	case allreduce.BFloat16:
		greaterFloat(as[int16](dst), as[int16](a), as[int16](b), infBF16)
	case allreduce.Float32:
		greaterFloat(as[int32](dst), as[int32](a), as[int32](b), infF32)
	case allreduce.Float64:
		greaterFloat(as[int64](dst), as[int64](a), as[int64](b), infF64)
	}
}

// as views bytes as elements, without a copy. Elements need not be aligned:
// the processors we run on load them from anywhere.
func as[T any](b []byte) []T {
	var zero T
	n := len(b) / int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
