package nccl

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// buffer is memory of a rank on its GPU.
type buffer struct {
	owner  *Executor
	rank   int
	size   int64
	ptr    cuda.Ptr
	window uintptr
}

// Alloc gives memory of a rank. It is no part of a symmetric window until
// Register.
func (e *Executor) Alloc(r int, size int64) (allreduce.Buffer, error) {
	if e.closed || r < 0 || r >= len(e.ranks) || size < 0 {
		return nil, fmt.Errorf("allocate: %d bytes for rank %d of %d", size, r, len(e.ranks))
	}
	b := &buffer{owner: e, rank: r, size: size}
	k := e.ranks[r]
	err := k.Do(func() (err error) {
		if e.opts.Symmetric {
			return e.api.check("ncclMemAlloc", e.api.MemAlloc(&b.ptr, uint64(max(size, 1))), k.comm)
		}
		b.ptr, err = k.Context.Alloc(size)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("allocate for rank %d: %w", r, err)
	}
	e.buffers[b] = struct{}{}
	return b, nil
}

// Register makes a symmetric window of one buffer of each rank, all of one size.
func (e *Executor) Register(list []allreduce.Buffer) error {
	if !e.opts.Symmetric {
		return errors.New("register: the executor was not set up for symmetric windows")
	}
	if e.closed || len(list) != len(e.ranks) {
		return fmt.Errorf("register: %d buffers for %d ranks, or the executor is closed", len(list), len(e.ranks))
	}
	buffers := make([]*buffer, len(list))
	for r := range list {
		b, ok := list[r].(*buffer)
		if !ok || b.owner != e || b.rank != r || b.ptr == 0 || b.size != list[0].Size() {
			return fmt.Errorf("register: buffer %d is not a live one of rank %d, as large as the others", r, r)
		}
		buffers[r] = b
	}
	errs := make([]error, len(e.ranks))
	var wg sync.WaitGroup
	for r, k := range e.ranks {
		b := buffers[r]
		wg.Go(func() {
			errs[r] = k.Do(func() error {
				const symmetric = 1
				return e.api.check("ncclCommWindowRegister", e.api.WindowRegister(k.comm, b.ptr, uint64(b.size), &b.window, symmetric), k.comm)
			})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Rank is whose memory it is.
func (b *buffer) Rank() int { return b.rank }

// Size is its size in bytes.
func (b *buffer) Size() int64 { return b.size }

// Pointer is where it lies on its GPU.
func (b *buffer) Pointer() cuda.Ptr { return b.ptr }

// Write copies src to offset off.
func (b *buffer) Write(src []byte, off int64) error {
	return b.access(len(src), off, func(c *cuda.Context, p cuda.Ptr) error { return c.Upload(p, src) })
}

// Read copies from offset off into dst.
func (b *buffer) Read(dst []byte, off int64) error {
	return b.access(len(dst), off, func(c *cuda.Context, p cuda.Ptr) error { return c.Download(dst, p) })
}

func (b *buffer) access(n int, off int64, f func(*cuda.Context, cuda.Ptr) error) error {
	if b.ptr == 0 || off < 0 || off+int64(n) > b.size {
		return fmt.Errorf("rank %d: bytes %d to %d of a buffer of %d", b.rank, off, off+int64(n), b.size)
	}
	c := b.owner.ranks[b.rank].Context
	return c.Do(func() error { return f(c, b.ptr+cuda.Ptr(off)) })
}

// Free gives the memory back; a second call does nothing.
func (b *buffer) Free() error {
	if b.ptr == 0 {
		return nil
	}
	e, k, p := b.owner, b.owner.ranks[b.rank], b.ptr
	b.ptr = 0
	delete(e.buffers, b)
	return k.Do(func() error {
		var err error
		if b.window != 0 {
			err = e.api.check("ncclCommWindowDeregister", e.api.WindowDeregister(k.comm, b.window), k.comm)
		}
		if e.opts.Symmetric {
			return errors.Join(err, e.api.check("ncclMemFree", e.api.MemFree(p), 0))
		}
		return errors.Join(err, k.Context.Free(p))
	})
}
