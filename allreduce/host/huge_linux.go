//go:build !race

package host

import "syscall"

// wantHuge asks for large pages, where the system has some.
func wantHuge(b []byte) {
	const hugePages = 14 // MADV_HUGEPAGE
	_ = syscall.Madvise(b, hugePages)
}
