package host

import (
	"fmt"
	"syscall"
)

// ration counts what buffers take up, and refuses what the machine cannot have:
// a system that promises memory without having it ends whoever touches it.
type ration struct{ taken, most int64 }

// take refuses with an error that wraps syscall.ENOMEM.
func (r *ration) take(size int64) error {
	if size > r.most-r.taken {
		return fmt.Errorf("%d bytes beside %d that are taken, this machine has %d: %w", size, r.taken, r.most, syscall.ENOMEM)
	}
	r.taken += size
	return nil
}

func (r *ration) give(size int64) { r.taken -= size }
