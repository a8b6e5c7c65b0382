//go:build unix && !race

package host

import "syscall"

// Large memory does not come from Go's heap: pages are zero when they are first
// touched, whatever was there before, the collector need not know of them, and
// they go when they are given back.

const fromSystem = 64 << 10

func fresh(size int) ([]byte, error) {
	if size < fromSystem {
		return aligned(size), nil
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err == nil && size >= hugePage {
		wantHuge(b)
	}
	return b, err
}

func discard(b []byte) {
	if len(b) >= fromSystem {
		_ = syscall.Munmap(b)
	}
}

const hugePage = 2 << 20
