package reduce

import (
	"cmp"
	"unsafe"
)

type number interface {
	~uint8 | ~uint32 | ~uint64 | ~int32 | ~int64 | ~float32 | ~float64
}

// The loops take eight elements at a time through array pointers: one bounds
// check for eight, and independent operations that the processor overlaps.

func add[T number](dst, a, b []T) {
	for len(dst) >= 8 && len(a) >= 8 && len(b) >= 8 {
		d, x, y := (*[8]T)(dst), (*[8]T)(a), (*[8]T)(b)
		d[0] = x[0] + y[0]
		d[1] = x[1] + y[1]
		d[2] = x[2] + y[2]
		d[3] = x[3] + y[3]
		d[4] = x[4] + y[4]
		d[5] = x[5] + y[5]
		d[6] = x[6] + y[6]
		d[7] = x[7] + y[7]
		dst, a, b = dst[8:], a[8:], b[8:]
	}
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func mul[T number](dst, a, b []T) {
	for len(dst) >= 8 && len(a) >= 8 && len(b) >= 8 {
		d, x, y := (*[8]T)(dst), (*[8]T)(a), (*[8]T)(b)
		d[0] = x[0] * y[0]
		d[1] = x[1] * y[1]
		d[2] = x[2] * y[2]
		d[3] = x[3] * y[3]
		d[4] = x[4] * y[4]
		d[5] = x[5] * y[5]
		d[6] = x[6] * y[6]
		d[7] = x[7] * y[7]
		dst, a, b = dst[8:], a[8:], b[8:]
	}
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func lesser[T cmp.Ordered](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = min(a[i], b[i])
	}
}

func greater[T cmp.Ordered](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i])
	}
}

// Floats are compared by their bits: with the lower bits of negative numbers
// turned over, a float's bits order like a signed integer, -0 below +0. This
// serves every width, and NaNs are whatever lies above infinity.

type bits interface{ ~int16 | ~int32 | ~int64 }

const (
	infF16  int16 = 0x7c00
	infBF16 int16 = 0x7f80
	infF32  int32 = 0x7f800000
	infF64  int64 = 0x7ff0000000000000
)

func lesserFloat[T bits](dst, a, b []T, inf T) {
	a, b = a[:len(dst)], b[:len(dst)]
	low := ^(T(-1) << (width(inf) - 1))
	for i, x := range a {
		y := b[i]
		if x&low > inf || y&low > inf {
			dst[i] = withNaN(x, y, low, inf)
			continue
		}
		dst[i] = order(min(order(x, low), order(y, low)), low)
	}
}

func greaterFloat[T bits](dst, a, b []T, inf T) {
	a, b = a[:len(dst)], b[:len(dst)]
	low := ^(T(-1) << (width(inf) - 1))
	for i, x := range a {
		y := b[i]
		if x&low > inf || y&low > inf {
			dst[i] = withNaN(x, y, low, inf)
			continue
		}
		dst[i] = order(max(order(x, low), order(y, low)), low)
	}
}

// order maps a float's bits to its place among signed integers, and back.
func order[T bits](x, low T) T { return x ^ (x >> (width(x) - 1) & low) }

// withNaN is the operand that is a number, or the NaN with all bits set.
func withNaN[T bits](x, y, low, inf T) T {
	if x&low <= inf {
		return x
	}
	if y&low <= inf {
		return y
	}
	return low
}

func width[T bits](x T) int { return 8 * int(unsafe.Sizeof(x)) }
