//go:build !race

package host

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func streamAVX(dst, src, next *byte, n int)

// stream copies past the caches: memory that is written whole and not read
// again soon need not be loaded first. Meanwhile it fetches next, which will be
// read soon. All have the same length, but next may be shorter.
func stream(dst, src, next []byte) {
	const line, unroll = 32, 128
	if !cpu.X86.HasAVX || len(dst) < 2*unroll || len(next) == 0 {
		copy(dst, src)
		return
	}
	head := -int(uintptr(unsafe.Pointer(unsafe.SliceData(dst)))) & (line - 1)
	copy(dst[:head], src)
	whole := (len(dst) - head) &^ (unroll - 1)
	streamAVX(&dst[head], &src[head], &next[0], whole) // to fetch past an end does no harm
	copy(dst[head+whole:], src[head+whole:])
}
