package cuda

import (
	"errors"
	"runtime"
	"sync"
	"time"
)

var (
	// ErrClosed is what a closed context answers.
	ErrClosed = errors.New("cuda: the context is closed")
	// ErrBusy is what DoWithin answers when its time is over.
	ErrBusy = errors.New("cuda: the context's thread does not come back from the driver")
)

// Context is a device's primary context with a thread of its own.
type Context struct {
	Device *Device
	drv    *Driver
	handle uintptr
	calls  chan func()
	once   sync.Once
	quit   chan struct{}
	done   chan struct{}
	left   error // how giving it back went, when done
}

// Open retains the device's primary context and starts its thread.
func (v *Device) Open() (*Context, error) {
	c := &Context{Device: v, drv: v.drv, calls: make(chan func()), quit: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error)
	go c.serve(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// serve is the thread. It stays locked to the end, so that the thread dies with
// it and no other goroutine inherits the current context.
func (c *Context) serve(started chan<- error) {
	runtime.LockOSThread()
	defer close(c.done)
	api := c.drv.api
	err := c.drv.check("cuDevicePrimaryCtxRetain", api.PrimaryRetain(&c.handle, c.Device.handle), "GPU %d", c.Device.Ordinal)
	if err == nil {
		err = c.drv.check("cuCtxSetCurrent", api.CtxSetCurrent(c.handle), "")
	}
	if err != nil {
		if c.handle != 0 {
			api.PrimaryRelease(c.Device.handle)
		}
		started <- err
		return
	}
	started <- nil
	for open := true; open; {
		select {
		case f := <-c.calls:
			f()
		case <-c.quit:
			open = false
		}
	}
	api.CtxSetCurrent(0)
	c.left = c.drv.check("cuDevicePrimaryCtxRelease", api.PrimaryRelease(c.Device.handle), "GPU %d", c.Device.Ordinal)
}

// Do runs f on the context's thread and returns its error.
func (c *Context) Do(f func() error) error {
	result := make(chan error, 1)
	select {
	case c.calls <- func() { result <- f() }:
		return <-result
	case <-c.done:
		return ErrClosed
	}
}

// DoWithin is Do that waits no longer than limit for the thread. Then the error is
// ErrBusy, and f may still run, or never: what it uses must not be used any more.
func (c *Context) DoWithin(limit time.Duration, f func() error) error {
	result := make(chan error, 1)
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case c.calls <- func() { result <- f() }:
	case <-c.done:
		return ErrClosed
	case <-late.C:
		return ErrBusy
	}
	select {
	case err := <-result:
		return err
	case <-late.C:
		return ErrBusy
	}
}

// Close ends the thread and gives the primary context back. What the context
// made must have been destroyed before. No other call may be under way.
func (c *Context) Close() error {
	c.once.Do(func() { close(c.quit) })
	<-c.done
	return c.left
}

// Synchronize waits until the device has nothing left to do.
func (c *Context) Synchronize() error {
	return c.drv.check("cuCtxSynchronize", c.drv.api.CtxSynchronize(), "GPU %d", c.Device.Ordinal)
}

// EnablePeer lets kernels of this context address the peer's memory. Done
// before, it does nothing.
func (c *Context) EnablePeer(peer *Context) error {
	err := c.drv.check("cuCtxEnablePeerAccess", c.drv.api.CtxEnablePeer(peer.handle, 0), "GPU %d to %d", c.Device.Ordinal, peer.Device.Ordinal)
	if HasCode(err, PeerEnabled) {
		return nil
	}
	return err
}

// DisablePeer takes back what EnablePeer gave.
func (c *Context) DisablePeer(peer *Context) error {
	return c.drv.check("cuCtxDisablePeerAccess", c.drv.api.CtxDisablePeer(peer.handle), "GPU %d to %d", c.Device.Ordinal, peer.Device.Ordinal)
}
