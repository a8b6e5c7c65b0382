package gpu

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ringtopo/ringtopo/allreduce"
)

// client is the caller's side of one rank's process. Orders take turns.
type client struct {
	procs *Procs
	rank  int
	mu    sync.Mutex
	talk  *talk
}

// ask gives an order, with data behind it, and waits for the answer, and for the
// data that follows that.
func (c *client) ask(o order, data, into []byte) (a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.talk.say(o, data); err != nil {
		return a, fmt.Errorf("rank %d: %w", c.rank, err)
	}
	if err := c.talk.dec.Decode(&a); err != nil {
		return a, fmt.Errorf("rank %d: %w", c.rank, err)
	}
	if a.Failure == nil && into != nil {
		err = c.talk.data(into)
	}
	return a, err
}

// order is ask where only the error matters.
func (c *client) order(o order, data, into []byte) error {
	if c.procs.closed {
		return errClosed
	}
	if c.procs.broken != nil {
		return fmt.Errorf("rank %d: after %w: only Close may follow", c.rank, c.procs.broken)
	}
	a, err := c.ask(o, data, into)
	if err != nil {
		return c.procs.reason(err)
	}
	return a.Failure.err()
}

// places finds the buffers of this rank among a run's arguments.
func (c *client) places(args []allreduce.Args) ([]placeOf, error) {
	list := make([]placeOf, len(args))
	for i, a := range args {
		send, okSend := a.Send[c.rank].Buf.(*farBuffer)
		recv, okRecv := a.Recv[c.rank].Buf.(*farBuffer)
		if !okSend || !okRecv || send.client != c || recv.client != c || send.freed || recv.freed {
			return nil, fmt.Errorf("rank %d: not a live buffer of this executor", c.rank)
		}
		list[i] = placeOf{Send: send.number, SendOff: a.Send[c.rank].Off, Recv: recv.number, RecvOff: a.Recv[c.rank].Off}
	}
	return list, nil
}

// farBuffer is memory of a rank's process.
type farBuffer struct {
	client *client
	number int
	size   int64
	freed  bool
}

// Alloc gives memory of a rank on its GPU.
func (p *Procs) Alloc(rank int, size int64) (allreduce.Buffer, error) {
	switch {
	case rank < 0 || rank >= len(p.ranks):
		return nil, fmt.Errorf("allocate: rank %d, want 0 to %d", rank, len(p.ranks)-1)
	case size < 0:
		return nil, fmt.Errorf("allocate: %d bytes", size)
	}
	p.mu.Lock()
	p.next++
	b := &farBuffer{client: p.ranks[rank], number: p.next, size: size}
	p.mu.Unlock()
	if err := b.client.order(order{Do: doAlloc, Buffer: b.number, N: size}, nil, nil); err != nil {
		return nil, err
	}
	return b, nil
}

// Rank is whose memory it is.
func (b *farBuffer) Rank() int { return b.client.rank }

// Size is its size in bytes.
func (b *farBuffer) Size() int64 { return b.size }

// Write copies src to offset off.
func (b *farBuffer) Write(src []byte, off int64) error {
	return b.pieces(src, off, func(piece []byte, off int64) error {
		return b.order(order{Do: doWrite, Off: off, N: int64(len(piece))}, piece, nil)
	})
}

// Read copies from offset off into dst.
func (b *farBuffer) Read(dst []byte, off int64) error {
	return b.pieces(dst, off, func(piece []byte, off int64) error {
		return b.order(order{Do: doRead, Off: off, N: int64(len(piece))}, nil, piece)
	})
}

// Set fills n bytes from offset off on with one value, on the GPU.
func (b *farBuffer) Set(v byte, off, n int64) error {
	if err := b.check(off, n); err != nil {
		return err
	}
	return b.order(order{Do: doSet, Value: v, Off: off, N: n}, nil, nil)
}

// Free gives the memory back; a second call does nothing, nor is there anything
// to do when the processes are ending.
func (b *farBuffer) Free() error {
	if b.freed {
		return nil
	}
	b.freed = true
	if p := b.client.procs; p.closed || p.broken != nil {
		return nil
	}
	return b.order(order{Do: doFree}, nil, nil)
}

func (b *farBuffer) order(o order, data, into []byte) error {
	o.Buffer = b.number
	return b.client.order(o, data, into)
}

func (b *farBuffer) check(off, n int64) error {
	if b.freed {
		return fmt.Errorf("rank %d: the buffer was freed", b.client.rank)
	}
	if off < 0 || n < 0 || n > b.size-off {
		return fmt.Errorf("rank %d: bytes %d to %d of a buffer of %d", b.client.rank, off, off+n, b.size)
	}
	return nil
}

// pieces cuts host memory into what is sent at once.
func (b *farBuffer) pieces(host []byte, off int64, move func(piece []byte, off int64) error) error {
	if err := b.check(off, int64(len(host))); err != nil {
		return err
	}
	for at := 0; at < len(host); at += liftBytes {
		if err := move(host[at:min(at+liftBytes, len(host))], off+int64(at)); err != nil {
			return err
		}
	}
	return nil
}

var errNoP2P = errors.New("one process per GPU needs peer access; without it, run all ranks in one process")
