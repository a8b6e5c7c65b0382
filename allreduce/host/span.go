package host

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// buffer is memory of one rank.
type buffer struct {
	owner *Executor
	rank  int
	bytes []byte
}

// Rank is whose memory it is.
func (b *buffer) Rank() int { return b.rank }

// Size is its size in bytes.
func (b *buffer) Size() int64 { return int64(len(b.bytes)) }

// Bytes is the memory itself.
func (b *buffer) Bytes() []byte { return b.bytes }

// Write copies src to offset off.
func (b *buffer) Write(src []byte, off int64) error {
	if err := b.within(off, len(src)); err != nil {
		return fmt.Errorf("write to buffer of rank %d: %w", b.rank, err)
	}
	copy(b.bytes[off:], src)
	return nil
}

// Read copies from offset off into dst.
func (b *buffer) Read(dst []byte, off int64) error {
	if err := b.within(off, len(dst)); err != nil {
		return fmt.Errorf("read from buffer of rank %d: %w", b.rank, err)
	}
	copy(dst, b.bytes[off:])
	return nil
}

func (b *buffer) within(off int64, n int) error {
	if off < 0 || off > b.Size() || int64(n) > b.Size()-off {
		return fmt.Errorf("%d bytes from %d on, it has %d", n, off, b.Size())
	}
	return nil
}

// Free gives the memory back.
func (b *buffer) Free() error {
	if b.bytes != nil {
		b.owner.engine.mem.free(b.bytes)
		delete(b.owner.buffers, b)
		b.bytes = nil
	}
	return nil
}

// span is one rank's input and output of one work, each the whole message.
type span struct{ in, out []byte }

// spans are those of all works and ranks of a run.
type spans struct {
	ranks  int
	list   []span
	shared []bool // per work: some rank's output is its input
}

func (s *spans) in(work, rank int) []byte  { return s.list[work*s.ranks+rank].in }
func (s *spans) out(work, rank int) []byte { return s.list[work*s.ranks+rank].out }

// reset makes room for works, without giving up memory.
func (s *spans) reset(works, ranks int) {
	s.ranks = ranks
	s.list = s.list[:0]
	s.shared = s.shared[:0]
	for range works {
		s.shared = append(s.shared, false)
	}
}

// bind takes the buffers of a run apart, and says what is wrong with them.
func (s *spans) bind(e *Executor, p *allreduce.Plan, args []allreduce.Args) error {
	if len(args) != len(p.Works) {
		return fmt.Errorf("%d arguments for %d works", len(args), len(p.Works))
	}
	n := e.engine.layout.NRanks
	s.reset(len(p.Works), n)
	for i := range p.Works {
		if len(args[i].Send) != n || len(args[i].Recv) != n {
			return fmt.Errorf("work %d: %d inputs and %d outputs for %d ranks", i, len(args[i].Send), len(args[i].Recv), n)
		}
		for rank := range n {
			in, err := e.stretch(&p.Works[i], args[i].Send[rank], rank)
			if err != nil {
				return fmt.Errorf("work %d: input of rank %d: %w", i, rank, err)
			}
			out, err := e.stretch(&p.Works[i], args[i].Recv[rank], rank)
			if err != nil {
				return fmt.Errorf("work %d: output of rank %d: %w", i, rank, err)
			}
			if args[i].Send[rank] == args[i].Recv[rank] {
				s.shared[i] = true
			} else if args[i].Send[rank].Buf == args[i].Recv[rank].Buf && overlap(args[i].Send[rank].Off, args[i].Recv[rank].Off, p.Works[i].Bytes()) {
				return fmt.Errorf("work %d: input and output of rank %d overlap without being the same", i, rank)
			}
			s.list = append(s.list, span{in, out})
		}
	}
	return nil
}

func overlap(a, b, size int64) bool { return a < b+size && b < a+size }

// stretch is the memory that a span names for a work.
func (e *Executor) stretch(w *allreduce.Work, s allreduce.Span, rank int) ([]byte, error) {
	b, ok := s.Buf.(*buffer)
	switch {
	case !ok || b.owner != e:
		return nil, fmt.Errorf("buffer is not of this executor")
	case b.rank != rank:
		return nil, fmt.Errorf("buffer belongs to rank %d", b.rank)
	case s.Off%int64(w.DType.Size()) != 0:
		return nil, fmt.Errorf("offset %d is no multiple of the element size %d", s.Off, w.DType.Size())
	}
	if err := b.within(s.Off, int(w.Bytes())); err != nil {
		return nil, err
	}
	return b.bytes[s.Off : s.Off+w.Bytes()], nil
}
