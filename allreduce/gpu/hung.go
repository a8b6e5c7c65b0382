package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/cuda"
)

// HungError is a GPU that was given up: its work does not end, or the driver does
// not come back from a call. It is asked nothing more, and nothing that it may
// still write to is freed.
type HungError struct {
	GPU   int           // ordinal
	After time.Duration // waited for it
}

func (e *HungError) Error() string {
	return fmt.Sprintf("GPU %d does not answer after %v: what this process has on GPUs is given back when it ends", e.GPU, e.After)
}

// grace is how much longer the host waits than kernels do.
const grace = 5 * time.Second

// Do runs f on the device's thread, unless the GPU was given up.
func (d *device) Do(f func() error) error {
	if h := d.hung.Load(); h != nil {
		return h
	}
	return d.Context.Do(f)
}

// within is Do that gives the GPU up after limit.
func (d *device) within(limit time.Duration, f func() error) error {
	if h := d.hung.Load(); h != nil {
		return h
	}
	err := d.DoWithin(limit, f)
	if errors.Is(err, cuda.ErrBusy) {
		return d.giveUp(limit)
	}
	return err
}

// giveUp notes that the GPU does not answer.
func (d *device) giveUp(after time.Duration) error {
	d.hung.CompareAndSwap(nil, &HungError{d.Device.Ordinal, after.Round(time.Millisecond)})
	return d.hung.Load()
}

// hung lists the GPUs that were given up; nil: all answer.
func hung(devices []*device) error {
	var errs []error
	for _, d := range devices {
		if h := d.hung.Load(); h != nil {
			errs = append(errs, h)
		}
	}
	return errors.Join(errs...)
}

// inTime does something with devices whose queues are empty, and gives those up
// that are not, or that keep it from ending: that is the error then.
func inTime(devices []*device, limit time.Duration, f func() error) error {
	settled := settle(devices, limit)
	if err := hung(devices); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- errors.Join(settled, f()) }()
	select {
	case err := <-done:
		return err
	case <-time.After(6 * limit):
		_ = settle(devices, limit) // tells who it is
		if err := hung(devices); err != nil {
			return err
		}
		return <-done
	}
}

// settle waits for all queues to be empty.
func settle(devices []*device, limit time.Duration) error {
	return atOnce(devices, func(_ int, d *device) error {
		return d.within(2*limit, func() error { return d.finish(limit) })
	})
}
