//go:build unix && !linux

package host

import (
	"sync/atomic"
	"time"
)

// Without futexes sleepers look again now and then.

func futexWait(word *atomic.Uint32, value uint32, d time.Duration) {
	if word.Load() == value {
		time.Sleep(min(d, 50*time.Microsecond))
	}
}

func futexWake(*atomic.Uint32) {}

func yieldCPU() {}
