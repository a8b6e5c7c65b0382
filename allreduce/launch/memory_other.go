//go:build unix && !linux

package launch

import (
	"fmt"
	"os"
)

// Memory makes size bytes of zeroed memory that processes can share: a file
// whose name is gone at once. It is freed when the last process closes it.
func Memory(size int64) (*os.File, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	f, err := os.CreateTemp(dir, "memory-*")
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	os.Remove(f.Name())
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	return f, nil
}
