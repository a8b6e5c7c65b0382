package gpu

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// buffer is memory of a rank on its GPU.
type buffer struct {
	owner *Executor
	rank  int
	size  int64
	ptr   cuda.Ptr
}

// Alloc gives memory of a local rank.
func (e *Executor) Alloc(rank int, size int64) (allreduce.Buffer, error) {
	switch {
	case e.closed:
		return nil, errClosed
	case rank < 0 || rank >= e.layout.NRanks:
		return nil, fmt.Errorf("allocate: rank %d, want 0 to %d", rank, e.layout.NRanks-1)
	case e.seats[rank].device == nil:
		return nil, fmt.Errorf("allocate: rank %d is another process's", rank)
	case size < 0:
		return nil, fmt.Errorf("allocate: %d bytes", size)
	}
	d := e.seats[rank].device
	b := &buffer{owner: e, rank: rank, size: size}
	err := d.Do(func() (err error) {
		b.ptr, err = d.Alloc(size)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("allocate for rank %d: %w", rank, err)
	}
	e.buffers[b] = struct{}{}
	return b, nil
}

// Rank is whose memory it is.
func (b *buffer) Rank() int { return b.rank }

// Size is its size in bytes.
func (b *buffer) Size() int64 { return b.size }

// Write copies src to offset off.
func (b *buffer) Write(src []byte, off int64) error {
	return b.access(len(src), off, func(d *device, p cuda.Ptr) error { return d.Upload(p, src) })
}

// Read copies from offset off into dst.
func (b *buffer) Read(dst []byte, off int64) error {
	return b.access(len(dst), off, func(d *device, p cuda.Ptr) error { return d.Download(dst, p) })
}

func (b *buffer) access(n int, off int64, f func(*device, cuda.Ptr) error) error {
	if b.ptr == 0 {
		return fmt.Errorf("rank %d: the buffer was freed", b.rank)
	}
	if off < 0 || off+int64(n) > b.size {
		return fmt.Errorf("rank %d: bytes %d to %d of a buffer of %d", b.rank, off, off+int64(n), b.size)
	}
	d := b.owner.seats[b.rank].device
	return d.Do(func() error { return f(d, b.ptr+cuda.Ptr(off)) })
}

// Pointer is where it lies on its GPU.
func (b *buffer) Pointer() cuda.Ptr { return b.ptr }

// Free gives the memory back; a second call does nothing.
func (b *buffer) Free() error {
	if b.ptr == 0 {
		return nil
	}
	p := b.ptr
	b.ptr = 0
	delete(b.owner.buffers, b)
	d := b.owner.seats[b.rank].device
	return d.Do(func() error { return d.Free(p) })
}

// address is where a span begins on its GPU.
func (e *Executor) address(s allreduce.Span) (uint64, error) {
	b, ok := s.Buf.(*buffer)
	if !ok || b.owner != e || b.ptr == 0 {
		return 0, fmt.Errorf("rank %d: not a live buffer of this executor", s.Buf.Rank())
	}
	return uint64(b.ptr) + uint64(s.Off), nil
}
