package host

import (
	"os"
	"syscall"
)

const noReserve = syscall.MAP_NORESERVE

// populate has the system map the pages of a stretch at once, where it can: one
// by one, as they are touched, takes several times as long.
func populate(b []byte) {
	const populateWrite = 23 // MADV_POPULATE_WRITE
	_ = syscall.Madvise(b, populateWrite)
}

// release gives the pages of a stretch back.
func release(f *os.File, at, size int64) {
	const keepSize, punchHole = 1, 2
	syscall.Fallocate(int(f.Fd()), keepSize|punchHole, at, size)
}
