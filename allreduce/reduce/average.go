package reduce

import "github.com/ringtopo/ringtopo/allreduce"

// Scales says whether each rank's input must go through Scale before its first
// use: an average of floats.
func Scales(t allreduce.DType, op allreduce.Op) bool { return op == allreduce.Avg && t.IsFloat() }

// Divides says whether the finished sum must go through Divide: an average of
// integers.
func Divides(t allreduce.DType, op allreduce.Op) bool { return op == allreduce.Avg && !t.IsFloat() }

// Scale sets dst = src * (1/n), the factor rounded to the element type. Types
// that are no floats are left alone.
func Scale(dst, src []byte, t allreduce.DType, n int) {
	check(dst, t)
	src = src[:len(dst)]
	switch t {
	case allreduce.Float16:
		scaleF16(as[uint16](dst), as[uint16](src), F16(ToF16(float32(1/float64(n)))))
	case allreduce.BFloat16:
		scaleBF16(as[uint16](dst), as[uint16](src), BF16(ToBF16(float32(1/float64(n)))))
	case allreduce.Float32:
		scale(as[float32](dst), as[float32](src), float32(1/float64(n)))
	case allreduce.Float64:
		scale(as[float64](dst), as[float64](src), 1/float64(n))
	}
}

// Divide sets dst = src / n, truncating towards zero. Types that are no
// integers are left alone.
func Divide(dst, src []byte, t allreduce.DType, n int) {
	check(dst, t)
	src = src[:len(dst)]
	switch t {
	case allreduce.Int8: // in int arithmetic: n need not fit in the element
		divideNarrow(as[int8](dst), as[int8](src), n)
	case allreduce.Uint8:
		divideNarrow(dst, src, n)
	case allreduce.Int32:
		divide(as[int32](dst), as[int32](src), int32(n))
	case allreduce.Uint32:
		divide(as[uint32](dst), as[uint32](src), uint32(n))
	case allreduce.Int64:
		divide(as[int64](dst), as[int64](src), int64(n))
	case allreduce.Uint64:
		divide(as[uint64](dst), as[uint64](src), uint64(n))
	}
}

func scale[T float32 | float64](dst, src []T, by T) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = src[i] * by
	}
}

func scaleF16(dst, src []uint16, by float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = ToF16(F16(src[i]) * by)
	}
}

func scaleBF16(dst, src []uint16, by float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = ToBF16(BF16(src[i]) * by)
	}
}

func divide[T int32 | uint32 | int64 | uint64](dst, src []T, n T) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = src[i] / n
	}
}

func divideNarrow[T int8 | uint8](dst, src []T, n int) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = T(int(src[i]) / n)
	}
}
