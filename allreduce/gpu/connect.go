package gpu

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// ends are the addresses of one connection, from a rank to its next.
type ends struct {
	head, tail uint64
	fifos      [3]uint64
}

// connect lays every channel's connections out and tells the kernels. The head
// lies with the sender, who polls it; tail and FIFOs lie with the receiver.
func (e *Executor) connect() error {
	if err := e.stage(); err != nil {
		return err
	}
	shape := newArena(e.layout)
	host := cuda.Ptr(0)
	if e.staging != nil {
		host = e.staging.Ptr
	}
	tables := map[*device][]channelWire{}
	for _, d := range e.devices {
		tables[d] = make([]channelWire, len(d.ranks)*e.layout.Channels())
	}
	slot := func(rank, c int) *channelWire {
		s := e.seats[rank]
		return &tables[s.device][s.place*e.layout.Channels()+c]
	}
	for c, ring := range e.layout.Rings {
		for i, from := range ring {
			to := ring[(i+1)%len(ring)]
			var x ends
			if e.way(from, to) == staged {
				a := shape.at(host)
				host += cuda.Ptr(shape.stride)
				x = ends{a.head(0), a.tail(0), a.fifos(0)}
			} else {
				x = ends{shape.at(e.arenaOf(from)).head(c), shape.at(e.arenaOf(to)).tail(c), shape.at(e.arenaOf(to)).fifos(c)}
			}
			a, b := slot(from, c), slot(to, c)
			a.rank, a.index, a.next = uint32(from), uint32(i), uint32(to)
			a.head, a.nextTail, a.send = x.head, x.tail, x.fifos
			b.prev = uint32(from)
			b.tail, b.prevHead, b.recv = x.tail, x.head, x.fifos
		}
	}
	e.missend(slot)
	for d, table := range tables {
		if err := d.Do(func() error { return d.Upload(d.channels, bytesOfAll(table)) }); err != nil {
			return fmt.Errorf("connect GPU %d: %w", d.Device.Ordinal, err)
		}
	}
	return nil
}

// arenaOf is where a rank is written to.
func (e *Executor) arenaOf(rank int) cuda.Ptr {
	s := e.seats[rank]
	return s.arenas[s.place]
}

// stage takes host memory for the connections that need it.
func (e *Executor) stage() error {
	n := int64(0)
	for _, ring := range e.layout.Rings {
		for i, from := range ring {
			if e.way(from, ring[(i+1)%len(ring)]) == staged {
				n++
			}
		}
	}
	if n == 0 {
		return nil
	}
	d := e.devices[0]
	return d.Do(func() (err error) {
		e.staging, err = d.AllocHost(n * newArena(e.layout).stride)
		return err
	})
}

// missend builds in the fault of a rank that sends to the neighbour of its
// neighbour, which does not listen to it.
func (e *Executor) missend(slot func(rank, c int) *channelWire) {
	f := e.opts.Fault
	if f.Kind != allreduce.SwapNeighbour {
		return
	}
	w := slot(f.Rank, f.Channel)
	wrong := slot(int(slot(int(w.next), f.Channel).next), f.Channel)
	w.nextTail, w.send = wrong.tail, wrong.recv
}
