package cuda

import "time"

// Stream is a queue of work for a device.
type Stream struct {
	ctx    *Context
	handle uintptr
}

const nonBlocking = 1 // does not wait for the default stream

// NewStream makes a queue that runs beside all others.
func (c *Context) NewStream() (*Stream, error) {
	s := &Stream{ctx: c}
	if err := c.drv.check("cuStreamCreate", c.drv.api.StreamCreate(&s.handle, nonBlocking), "GPU %d", c.Device.Ordinal); err != nil {
		return nil, err
	}
	return s, nil
}

// Destroy frees the queue when its work is done.
func (s *Stream) Destroy() error {
	return s.ctx.drv.check("cuStreamDestroy", s.ctx.drv.api.StreamDestroy(s.handle), "")
}

// Synchronize waits until all work is done.
func (s *Stream) Synchronize() error {
	return s.ctx.drv.check("cuStreamSynchronize", s.ctx.drv.api.StreamSync(s.handle), "")
}

// Done says whether all work is done.
func (s *Stream) Done() (bool, error) {
	r := s.ctx.drv.api.StreamQuery(s.handle)
	if r == NotReady {
		return false, nil
	}
	return r == success, s.ctx.drv.check("cuStreamQuery", r, "")
}

// Copy enqueues a copy between any two addresses that devices can use.
func (s *Stream) Copy(dst, src Ptr, n int64) error {
	return s.ctx.drv.check("cuMemcpyAsync", s.ctx.drv.api.MemcpyAsync(dst, src, uint64(n), s.handle), "%d bytes", n)
}

// Fill enqueues setting n bytes.
func (s *Stream) Fill(dst Ptr, v byte, n int64) error {
	if n == 0 {
		return nil
	}
	return s.ctx.drv.check("cuMemsetD8Async", s.ctx.drv.api.MemsetD8Async(dst, v, uint64(n), s.handle), "%d bytes", n)
}

// WaitValue holds the queue until the 32-bit word at p is at least v. It does
// nothing where the driver cannot, and says so.
func (s *Stream) WaitValue(p Ptr, v uint32) (bool, error) {
	const greaterOrEqual = 0
	if s.ctx.drv.api.StreamWaitValue == nil {
		return false, nil
	}
	return true, s.ctx.drv.check("cuStreamWaitValue32", s.ctx.drv.api.StreamWaitValue(s.handle, p, v, greaterOrEqual), "")
}

// Event is a mark in a queue.
type Event struct {
	ctx    *Context
	handle uintptr
}

// NewEvent makes a mark that keeps its time.
func (c *Context) NewEvent() (*Event, error) {
	e := &Event{ctx: c}
	if err := c.drv.check("cuEventCreate", c.drv.api.EventCreate(&e.handle, 0), ""); err != nil {
		return nil, err
	}
	return e, nil
}

// Destroy frees the mark.
func (e *Event) Destroy() error {
	return e.ctx.drv.check("cuEventDestroy", e.ctx.drv.api.EventDestroy(e.handle), "")
}

// Record puts the mark at the queue's end.
func (e *Event) Record(s *Stream) error {
	return e.ctx.drv.check("cuEventRecord", e.ctx.drv.api.EventRecord(e.handle, s.handle), "")
}

// Reached says whether the work before the mark is done.
func (e *Event) Reached() (bool, error) {
	r := e.ctx.drv.api.EventQuery(e.handle)
	if r == NotReady {
		return false, nil
	}
	return r == success, e.ctx.drv.check("cuEventQuery", r, "")
}

// Wait lets a queue go on only when the mark is reached.
func (s *Stream) Wait(e *Event) error {
	return s.ctx.drv.check("cuStreamWaitEvent", s.ctx.drv.api.StreamWaitEvent(s.handle, e.handle, 0), "")
}

// Since is the time from an earlier mark to this one; both must be reached.
func (e *Event) Since(start *Event) (time.Duration, error) {
	var ms float32
	err := e.ctx.drv.check("cuEventElapsedTime", e.ctx.drv.api.EventElapsed(&ms, start.handle, e.handle), "")
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Handle is the driver's handle, for libraries that enqueue work themselves.
func (s *Stream) Handle() uintptr { return s.handle }
