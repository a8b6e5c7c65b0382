package host

import (
	"os"
	"syscall"
)

const noReserve = syscall.MAP_NORESERVE

// release gives the pages of a stretch back.
func release(f *os.File, at, size int64) {
	const keepSize, punchHole = 1, 2
	syscall.Fallocate(int(f.Fd()), keepSize|punchHole, at, size)
}
