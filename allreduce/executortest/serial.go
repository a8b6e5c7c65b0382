package executortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// Serial runs plans on one goroutine, message by message, on copies.
type Serial struct {
	layout *allreduce.Layout
	// Send, where set, sees every message on a ring and may change what arrives:
	// nil keeps the message away for good.
	Send func(row schedule.Row, data []byte) []byte

	closed bool
}

// NewSerial checks the layout and is ready.
func NewSerial(l *allreduce.Layout) (*Serial, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &Serial{layout: l}, nil
}

// Name is "serial".
func (s *Serial) Name() string { return "serial" }

// Layout is what it was set up for.
func (s *Serial) Layout() *allreduce.Layout { return s.layout }

// Local is every rank.
func (s *Serial) Local() []int {
	ranks := make([]int, s.layout.NRanks)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// Can refuses what needs an NVSwitch, and trees where there are none.
func (s *Serial) Can(a allreduce.Algo, p allreduce.Proto) error {
	switch {
	case a == allreduce.Tree && len(s.layout.Trees) == 0:
		return &allreduce.UnsupportedError{Executor: s.Name(), Algo: a, Proto: p, Reason: "the layout has no trees"}
	case a == allreduce.Tree || a == allreduce.Ring || a.Direct():
		return nil
	}
	return &allreduce.UnsupportedError{Executor: s.Name(), Algo: a, Proto: p, Reason: "it has no switch that reduces"}
}

// memory is a buffer.
type memory struct {
	rank  int
	bytes []byte
}

// Alloc gives zeroed memory.
func (s *Serial) Alloc(rank int, size int64) (allreduce.Buffer, error) {
	if rank < 0 || rank >= s.layout.NRanks || size < 0 {
		return nil, fmt.Errorf("no %d bytes on rank %d of %d", size, rank, s.layout.NRanks)
	}
	return &memory{rank: rank, bytes: make([]byte, size)}, nil
}

func (m *memory) Rank() int   { return m.rank }
func (m *memory) Size() int64 { return int64(len(m.bytes)) }

func (m *memory) check(n int, off int64) error {
	if off < 0 || off+int64(n) > m.Size() {
		return fmt.Errorf("bytes %d to %d of a buffer of %d", off, off+int64(n), m.Size())
	}
	return nil
}

func (m *memory) Write(src []byte, off int64) error {
	if err := m.check(len(src), off); err != nil {
		return err
	}
	copy(m.bytes[off:], src)
	return nil
}

func (m *memory) Read(dst []byte, off int64) error {
	if err := m.check(len(dst), off); err != nil {
		return err
	}
	copy(dst, m.bytes[off:])
	return nil
}

func (m *memory) Free() error {
	m.bytes = nil
	return nil
}

// Close forbids further runs.
func (s *Serial) Close() error {
	s.closed = true
	return nil
}

// Run executes the plan.
func (s *Serial) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	if s.closed {
		return allreduce.Timing{}, errors.New("closed")
	}
	if err := ctx.Err(); err != nil {
		return allreduce.Timing{}, err
	}
	if err := p.Check(args, s.Local()); err != nil {
		return allreduce.Timing{}, err
	}
	start := time.Now()
	for i := range p.Works {
		r := &run{s: s, w: &p.Works[i], a: &args[i], n: s.layout.NRanks}
		if err := s.Can(r.w.Algo, r.w.Proto); err != nil {
			return allreduce.Timing{}, err
		}
		for j := range r.w.Parts {
			if err := r.part(&r.w.Parts[j]); err != nil {
				return allreduce.Timing{}, err
			}
		}
	}
	return allreduce.Timing{Elapsed: time.Since(start)}, nil
}

// run is one work under way.
type run struct {
	s *Serial
	w *allreduce.Work
	a *allreduce.Args
	n int
}

func (r *run) bytes(s allreduce.Span, offset, count int64) []byte {
	size := int64(r.w.DType.Size())
	return s.Buf.(*memory).bytes[s.Off+offset*size:][:count*size]
}

// input is a copy of what a rank puts into the sum.
func (r *run) input(rank int, offset, count int64) []byte {
	b := slices.Clone(r.bytes(r.a.Send[rank], offset, count))
	if reduce.Scales(r.w.DType, r.w.Op) {
		reduce.Scale(b, b, r.w.DType, r.n)
	}
	return b
}

func (r *run) add(to, more []byte) { reduce.Reduce(to, to, more, r.w.DType, r.w.Op) }

func (r *run) finish(b []byte) []byte {
	if reduce.Divides(r.w.DType, r.w.Op) {
		reduce.Divide(b, b, r.w.DType, r.n)
	}
	return b
}

func (r *run) store(rank int, offset, count int64, b []byte) {
	copy(r.bytes(r.a.Recv[rank], offset, count), b)
}

func (r *run) part(p *allreduce.Part) error {
	switch {
	case r.n == 1:
		r.store(0, p.Offset, p.Count, r.finish(r.input(0, p.Offset, p.Count)))
	case r.w.Algo == allreduce.Ring:
		return r.ring(p)
	case r.w.Algo == allreduce.Tree:
		tree := &r.s.layout.Trees[p.Channel]
		root := slices.Index(tree.Up, -1)
		r.everywhere(p, r.finish(r.up(tree.Down, root, p)))
	default:
		sum := r.input(0, p.Offset, p.Count)
		for rank := 1; rank < r.n; rank++ {
			r.add(sum, r.input(rank, p.Offset, p.Count))
		}
		r.everywhere(p, r.finish(sum))
	}
	return nil
}

func (r *run) everywhere(p *allreduce.Part, b []byte) {
	for rank := range r.n {
		r.store(rank, p.Offset, p.Count, b)
	}
}

// up is the result of a rank's subtree.
func (r *run) up(down [][3]int32, rank int, p *allreduce.Part) []byte {
	b := r.input(rank, p.Offset, p.Count)
	for _, child := range down[rank] {
		if child >= 0 {
			r.add(b, r.up(down, int(child), p))
		}
	}
	return b
}

// ring carries out the rows of all ranks, whoever can go on.
func (r *run) ring(p *allreduce.Part) error {
	ring, err := schedule.NewRing(r.s.layout.Rings[p.Channel])
	if err != nil {
		return err
	}
	todo, wires := make([][]schedule.Row, r.n), make([][][]byte, r.n)
	left := 0
	for row := range schedule.All(ring, p, r.w.DType) {
		todo[row.Rank] = append(todo[row.Rank], row)
		left++
	}
	for left > 0 {
		before := left
		for rank := range todo {
			if len(todo[rank]) == 0 || todo[rank][0].Primitive.Receives() && len(wires[rank]) == 0 {
				continue
			}
			r.step(todo[rank][0], wires)
			todo[rank] = todo[rank][1:]
			left--
		}
		if left == before {
			return r.stuck(todo)
		}
	}
	return nil
}

func (r *run) step(row schedule.Row, wires [][][]byte) {
	var data []byte
	if row.Primitive.Receives() {
		data = wires[row.Rank][0]
		wires[row.Rank] = wires[row.Rank][1:]
	}
	switch {
	case row.Primitive == schedule.Send:
		data = r.input(int(row.Rank), row.Offset, row.Count)
	case row.Primitive.Reduces():
		r.add(data, r.input(int(row.Rank), row.Offset, row.Count))
	}
	if row.Primitive == schedule.RecvReduceCopySend {
		data = r.finish(data)
	}
	if row.Primitive.Copies() {
		r.store(int(row.Rank), row.Offset, row.Count, data)
	}
	if row.Primitive.Sends() {
		data = slices.Clone(data)
		if r.s.Send != nil {
			if data = r.s.Send(row, data); data == nil {
				return
			}
		}
		wires[row.To] = append(wires[row.To], data)
	}
}

func (r *run) stuck(todo [][]schedule.Row) error {
	e := &allreduce.StuckError{}
	for rank, rows := range todo {
		if len(rows) > 0 {
			step := uint64(rows[0].Loop*2*(r.n-1) + rows[0].Step)
			e.Stalls = append(e.Stalls, allreduce.Stall{Rank: rank, Channel: rows[0].Channel, Peer: int(rows[0].From),
				Algo: r.w.Algo, Proto: r.w.Proto, Want: step, Seen: step - 1})
		}
	}
	return e
}
