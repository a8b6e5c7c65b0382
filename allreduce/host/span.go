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

// bind takes the checked arguments of a run apart, and says what is still wrong
// with them.
func (s *spans) bind(e *Executor, p *allreduce.Plan, args []allreduce.Args) error {
	s.reset(len(p.Works), e.engine.shape.ranks)
	for i := range p.Works {
		size := p.Works[i].Bytes()
		for rank := range s.ranks {
			send, recv := args[i].Send[rank], args[i].Recv[rank]
			in, ok := e.stretch(send, size)
			out, okToo := e.stretch(recv, size)
			switch {
			case !ok || !okToo:
				return fmt.Errorf("work %d: a buffer of rank %d is not of this executor", i, rank)
			case send == recv:
				s.shared[i] = true
			case send.Buf == recv.Buf && send.Off < recv.Off+size && recv.Off < send.Off+size:
				return fmt.Errorf("work %d: input and output of rank %d overlap without being the same", i, rank)
			}
			s.list = append(s.list, span{in, out})
		}
	}
	return nil
}

// stretch is the memory behind a span.
func (e *Executor) stretch(s allreduce.Span, size int64) ([]byte, bool) {
	b, ok := s.Buf.(*buffer)
	if !ok || b.owner != e {
		return nil, false
	}
	return b.bytes[s.Off : s.Off+size], true
}
