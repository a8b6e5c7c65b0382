package host

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

// memory is where a group's control block, FIFOs and buffers lie: the heap of
// one process, or a segment that several map.
type memory interface {
	control() []byte                                  // zeroed
	fifo(conn int, p allreduce.Proto) ([]byte, error) // zeroed when first asked for; the same later
	alloc(size int64) ([]byte, error)                 // aligned to 256 bytes
	free(b []byte)
	close() error
}

// alignment of buffers, in bytes.
const alignment = 256

// heap is memory for goroutines. FIFOs are made when they are first needed: a
// group has many, and a plan uses few.
type heap struct {
	layout *allreduce.Layout
	ration ration
	block  []byte
	fifos  [][allreduce.NumProtos][]byte
}

func newHeap(l *allreduce.Layout, s shape) *heap {
	return &heap{layout: l, ration: ration{most: physical()}, block: aligned(s.controlBytes()), fifos: make([][allreduce.NumProtos][]byte, s.conns())}
}

func (h *heap) control() []byte { return h.block }

func (h *heap) fifo(conn int, p allreduce.Proto) ([]byte, error) {
	f := &h.fifos[conn][p]
	if *f != nil {
		return *f, nil
	}
	var err error
	if *f, err = fresh(h.layout.BuffSize[p]); err != nil {
		return nil, fmt.Errorf("FIFO of %d bytes: %w", h.layout.BuffSize[p], err)
	}
	return *f, nil
}

func (h *heap) alloc(size int64) ([]byte, error) {
	if size > maxBuffer {
		return nil, fmt.Errorf("buffer of %d bytes: want at most %d: %w", size, int64(maxBuffer), syscall.ENOMEM)
	}
	if err := h.ration.take(size); err != nil {
		return nil, fmt.Errorf("buffer: %w", err)
	}
	b, err := fresh(int(size))
	if err != nil {
		h.ration.give(size)
		return nil, fmt.Errorf("buffer of %d bytes: %w", size, err)
	}
	return b, nil
}

// maxBuffer is more than any machine has.
const maxBuffer = 1 << 46

func (h *heap) free(b []byte) {
	h.ration.give(int64(len(b)))
	discard(b)
}

func (h *heap) close() error {
	for _, conn := range h.fifos {
		for _, f := range conn {
			discard(f)
		}
	}
	h.fifos = nil
	return nil
}

// aligned makes a zeroed slice that starts at a multiple of 256 bytes.
func aligned(size int) []byte {
	b := make([]byte, size+alignment)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (alignment - 1)
	return b[skip : skip+size : skip+size]
}
