//go:build !race

package host

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func streamAVX(dst, src *byte, n int)

// stream copies past the caches: memory that is written whole and not read
// again soon need not be loaded first. dst and src have the same length.
func stream(dst, src []byte) {
	const line, unroll = 32, 128
	if !cpu.X86.HasAVX || len(dst) < 2*unroll {
		copy(dst, src)
		return
	}
	head := -int(uintptr(unsafe.Pointer(unsafe.SliceData(dst)))) & (line - 1)
	copy(dst[:head], src)
	whole := (len(dst) - head) &^ (unroll - 1)
	streamAVX(&dst[head], &src[head], whole)
	copy(dst[head+whole:], src[head+whole:])
}
