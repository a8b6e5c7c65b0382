package launch

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memory makes size bytes of zeroed memory that processes can share. It has no
// name: only those who are given the file can map it, and it is gone when the
// last of them is. Pages take up memory once they are touched.
func Memory(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("ringtopo", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "shared memory")
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	return f, nil
}
