package allreduce

import (
	"errors"
	"fmt"
)

// ErrNoDevice is wrapped by every error that means: this machine has no usable
// GPU or driver. Tests on hardware skip on it and on nothing else.
var ErrNoDevice = errors.New("no usable GPU")

// LayoutError says why rings or trees cannot be connected.
type LayoutError struct {
	Channel int // -1 where the fault is not one channel's
	Reason  string
}

func (e *LayoutError) Error() string {
	if e.Channel < 0 {
		return "layout: " + e.Reason
	}
	return fmt.Sprintf("channel %d: %s", e.Channel, e.Reason)
}

// UnsupportedError says why an executor does not run something.
type UnsupportedError struct {
	Executor string
	Algo     Algo
	Proto    Proto
	Reason   string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s does not run %s/%s: %s", e.Executor, e.Algo, e.Proto, e.Reason)
}
