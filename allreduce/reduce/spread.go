package reduce

import (
	"fmt"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

// pastAlign is what stores past the caches want of their addresses.
const pastAlign = 32

// Spread sets every dst to src[0] op src[1] op ..., in this order, in one pass:
// every operand is read once, and every result written once. It does as much
// as it can, the bytes from one offset up to another, and leaves what is before
// and behind to the caller; all of it, with two zeros, where it has no way for
// the type and operation. Nothing is scaled or divided, so Avg is never done.
//
// All slices have the same length. A dst may be a src, but not overlap with one
// otherwise. past says that the results will not be read again before the
// caches have forgotten them: then they do not go through, if the addresses of
// dst allow it. Without past the first offset is 0.
func Spread(dst, src [][]byte, t allreduce.DType, op allreduce.Op, past bool) (from, to int) {
	f := spreaderFor(t, op)
	if f == nil || len(dst) == 0 || len(src) == 0 {
		return 0, 0
	}
	size := len(dst[0])
	same(dst, size)
	same(src, size)
	head, even := 0, false
	if past {
		head, even = headTo(dst)
	}
	if !even || head%t.Size() != 0 {
		head, past = 0, false
	}
	n := (size - head) / vectorBytes * vectorBytes
	if n <= 0 {
		return 0, 0
	}
	f(&dst[0], &src[0], len(dst), len(src), head, head+n, past)
	return head, head + n
}

// headTo is how many bytes all slices need to come to an aligned address, if
// they agree about it.
func headTo(list [][]byte) (n int, agree bool) {
	n = -place(list[0]) & (pastAlign - 1)
	for _, s := range list {
		if (place(s)+n)%pastAlign != 0 {
			return 0, false
		}
	}
	return n, true
}

func same(list [][]byte, size int) {
	for _, s := range list {
		if len(s) != size {
			panic(fmt.Sprintf("reduce: spread over slices of %d and %d bytes", size, len(s)))
		}
	}
}

func place(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pastAlign)
}
