//go:build unix && !linux

package host

import "time"

// now is a clock that all processes of a host share, in nanoseconds.
func now() int64 { return time.Now().UnixNano() }
