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
	return b.pieces(src, off, func(d *device, lift []byte, piece []byte, p cuda.Ptr) error {
		copy(lift, piece)
		return d.Do(func() error { return d.Upload(p, lift) })
	})
}

// Read copies from offset off into dst.
func (b *buffer) Read(dst []byte, off int64) error {
	return b.pieces(dst, off, func(d *device, lift []byte, piece []byte, p cuda.Ptr) error {
		if err := d.Do(func() error { return d.Download(lift, p) }); err != nil {
			return err
		}
		copy(piece, lift)
		return nil
	})
}

// Set fills n bytes from offset off on with one value, on the GPU.
func (b *buffer) Set(v byte, off, n int64) error {
	if err := b.check(off, n); err != nil {
		return err
	}
	d := b.owner.seats[b.rank].device
	return d.Do(func() error {
		if err := d.stream.Fill(b.ptr+cuda.Ptr(off), v, n); err != nil {
			return err
		}
		return d.stream.Synchronize()
	})
}

func (b *buffer) check(off, n int64) error {
	if b.ptr == 0 {
		return fmt.Errorf("rank %d: the buffer was freed", b.rank)
	}
	if off < 0 || n < 0 || n > b.size-off {
		return fmt.Errorf("rank %d: bytes %d to %d of a buffer of %d", b.rank, off, off+n, b.size)
	}
	return nil
}

// pieces goes through host memory piece by piece, each with a pinned piece of the
// same size to lift it through.
func (b *buffer) pieces(host []byte, off int64, move func(d *device, lift, piece []byte, p cuda.Ptr) error) error {
	if err := b.check(off, int64(len(host))); err != nil {
		return err
	}
	d := b.owner.seats[b.rank].device
	for at := 0; at < len(host); at += liftBytes {
		piece := host[at:min(at+liftBytes, len(host))]
		m, err := b.owner.lifts.take(d)
		if err != nil {
			return err
		}
		err = move(d, m.Bytes[:len(piece)], piece, b.ptr+cuda.Ptr(off+int64(at)))
		b.owner.lifts.give(m)
		if err != nil {
			return err
		}
	}
	return nil
}

// Pointer is where it lies on its GPU.
func (b *buffer) Pointer() cuda.Ptr { return b.ptr }

// Free gives the memory back; a second call does nothing. Where a GPU does not
// answer it stays: Close says so.
func (b *buffer) Free() error {
	if b.ptr == 0 {
		return nil
	}
	p := b.ptr
	b.ptr = 0
	delete(b.owner.buffers, b)
	if hung(b.owner.devices) != nil {
		return nil
	}
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
