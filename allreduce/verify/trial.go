package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// guardBytes stand on either side of every buffer's data.
const guardBytes = 256

const guardByte = 0xa7

// readBytes are looked at at a time.
const readBytes = 8 << 20

// Options say what a trial is given.
type Options struct {
	Pattern Pattern
	Seed    uint64 // of the first Fill; later ones differ
	InPlace bool
	// Shift moves the data by this many elements from an aligned place.
	Shift int
}

// Trial runs one plan on an executor with known data. Set it up once, then
// Fill, Run and Check as often as wanted; Run alone may be repeated for timing
// where the work is not in place.
type Trial struct {
	ex     allreduce.Executor
	plan   *allreduce.Plan
	opt    Options
	cases  []*Case
	args   []allreduce.Args
	bufs   []allreduce.Buffer
	local  []int
	before uint64 // seed of the last checked run
	round  uint64
	block  []byte // found
	want   []byte // expected
}

// NewTrial allocates buffers for all works of a plan on all local ranks.
func NewTrial(ex allreduce.Executor, p *allreduce.Plan, o Options) (*Trial, error) {
	t := &Trial{ex: ex, plan: p, opt: o, local: ex.Local()}
	for i := range p.Works {
		if err := t.allocate(&p.Works[i]); err != nil {
			return nil, errors.Join(fmt.Errorf("work %d: %w", i, err), t.Close())
		}
	}
	return t, nil
}

func (t *Trial) allocate(w *allreduce.Work) error {
	n := t.plan.Layout.NRanks
	args := allreduce.Args{Send: make([]allreduce.Span, n), Recv: make([]allreduce.Span, n)}
	for _, rank := range t.local {
		recv, err := t.span(rank, w)
		if err != nil {
			return err
		}
		args.Send[rank], args.Recv[rank] = recv, recv
		if t.opt.InPlace {
			continue
		}
		if args.Send[rank], err = t.span(rank, w); err != nil {
			return err
		}
	}
	t.args = append(t.args, args)
	return nil
}

func (t *Trial) span(rank int, w *allreduce.Work) (allreduce.Span, error) {
	shift := int64(t.opt.Shift * w.DType.Size())
	b, err := t.ex.Alloc(rank, guardBytes+shift+w.Bytes()+guardBytes)
	if err != nil {
		return allreduce.Span{}, err // it names the rank
	}
	t.bufs = append(t.bufs, b)
	return allreduce.Span{Buf: b, Off: guardBytes + shift}, nil
}

// Close frees the buffers.
func (t *Trial) Close() error {
	var errs []error
	for _, b := range t.bufs {
		errs = append(errs, b.Free())
	}
	t.bufs = nil
	return errors.Join(errs...)
}

// Args are the buffers, for those who run the plan themselves.
func (t *Trial) Args() []allreduce.Args { return t.args }

// Fill writes new inputs, guards, and poison into outputs.
func (t *Trial) Fill() error {
	t.before = 0
	if t.round > 0 {
		t.before = t.seed()
	}
	t.round++
	t.cases = t.cases[:0]
	for i := range t.plan.Works {
		c, err := NewCase(t.plan, i, t.opt.Pattern, t.seed())
		if err != nil {
			return err
		}
		t.cases = append(t.cases, c)
		for _, rank := range t.local {
			if err := t.fillRank(c, i, rank); err != nil {
				return fmt.Errorf("work %d rank %d: %w", i, rank, err)
			}
		}
	}
	return nil
}

// seed differs from round to round and is never 0.
func (t *Trial) seed() uint64 { return randomWord(t.opt.Seed, t.round) | 1 }

func (t *Trial) fillRank(c *Case, i, rank int) error {
	send, recv := t.args[i].Send[rank], t.args[i].Recv[rank]
	input := func(dst []byte, at int64) { c.Input(dst, rank, at/int64(c.work.DType.Size())) }
	if err := t.write(send, c.work.Bytes(), input); err != nil {
		return err
	}
	if t.opt.InPlace {
		return nil
	}
	return t.write(recv, c.work.Bytes(), func(dst []byte, _ int64) { repeat(dst, Poison) })
}

func repeat(dst []byte, b byte) {
	for i := range dst {
		dst[i] = b
	}
}

// write fills a span with what content gives and puts guards around it.
func (t *Trial) write(s allreduce.Span, bytes int64, content func(dst []byte, at int64)) error {
	guard := t.staging(s.Off)
	repeat(guard, guardByte)
	if err := s.Buf.Write(guard, 0); err != nil {
		return err
	}
	if err := s.Buf.Write(guard[:guardBytes], s.Off+bytes); err != nil {
		return err
	}
	if h, ok := s.Buf.(allreduce.HostBuffer); ok {
		content(h.Bytes()[s.Off:][:bytes], 0)
		return nil
	}
	for at := int64(0); at < bytes; at += readBytes {
		block := t.staging(min(readBytes, bytes-at))
		content(block, at)
		if err := s.Buf.Write(block, s.Off+at); err != nil {
			return err
		}
	}
	return nil
}

// staging is host memory of n bytes, until the next call.
func (t *Trial) staging(n int64) []byte { return grow(&t.block, n) }

func grow(b *[]byte, n int64) []byte {
	if int64(len(*b)) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}

// Run runs the plan once.
func (t *Trial) Run(ctx context.Context) (allreduce.Timing, error) {
	return t.ex.Run(ctx, t.plan, t.args)
}

// Result is what a check found, over all works and local ranks.
type Result struct {
	Wrong int64 // elements
	First *allreduce.Mismatch
}

// OK says that every bit was right.
func (r Result) OK() bool { return r.Wrong == 0 && r.First == nil }

// Check looks at every output, every input that must not have changed, and
// every guard.
func (t *Trial) Check() (Result, error) {
	var r Result
	for i, c := range t.cases {
		if err := t.checkOutputs(&r, c, t.args[i].Recv); err != nil {
			return r, fmt.Errorf("work %d: %w", i, err)
		}
		if !t.opt.InPlace {
			if err := t.checkInputs(&r, c, t.args[i].Send); err != nil {
				return r, fmt.Errorf("work %d: %w", i, err)
			}
		}
		for _, rank := range t.local {
			for _, s := range []allreduce.Span{t.args[i].Send[rank], t.args[i].Recv[rank]} {
				if err := t.checkGuards(&r, c, rank, s); err != nil {
					return r, fmt.Errorf("work %d rank %d: %w", i, rank, err)
				}
			}
		}
	}
	return r, nil
}

func (t *Trial) checkOutputs(r *Result, c *Case, recv []allreduce.Span) error {
	size := int64(c.work.DType.Size())
	for at := int64(0); at < c.work.Bytes(); at += readBytes {
		n := min(readBytes, c.work.Bytes()-at)
		want := grow(&t.want, n)
		c.Expected(want, at/size)
		for _, rank := range t.local {
			got, err := t.read(recv[rank], at, n)
			if err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			wrong, first := Compare(got, want, c.work.DType)
			if wrong > 0 && r.First == nil {
				r.First = c.Mismatch(rank, at/size+first, got[first*size:][:size], t.before)
			}
			r.Wrong += wrong
		}
	}
	return nil
}

func (t *Trial) checkInputs(r *Result, c *Case, send []allreduce.Span) error {
	size := int64(c.work.DType.Size())
	for _, rank := range t.local {
		for at := int64(0); at < c.work.Bytes(); at += readBytes {
			n := min(readBytes, c.work.Bytes()-at)
			want := grow(&t.want, n)
			c.Input(want, rank, at/size)
			got, err := t.read(send[rank], at, n)
			if err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			wrong, first := Compare(got, want, c.work.DType)
			if wrong > 0 && r.First == nil {
				m := c.Mismatch(rank, at/size+first, got[first*size:][:size], 0)
				m.Expected, m.Hint = Format(want[first*size:][:size], c.work.DType), "the input was changed"
				r.First = m
			}
			r.Wrong += wrong
		}
	}
	return nil
}

// read gives n bytes of a span from at on, without a copy where it can.
func (t *Trial) read(s allreduce.Span, at, n int64) ([]byte, error) {
	if h, ok := s.Buf.(allreduce.HostBuffer); ok {
		return h.Bytes()[s.Off+at:][:n], nil
	}
	b := t.staging(n)
	return b, s.Buf.Read(b, s.Off+at)
}

// checkGuards counts a broken guard as one wrong element.
func (t *Trial) checkGuards(r *Result, c *Case, rank int, s allreduce.Span) error {
	for _, g := range []struct {
		at, n int64
		where string
	}{{0, s.Off, "before"}, {s.Off + c.work.Bytes(), guardBytes, "behind"}} {
		got := t.staging(g.n)
		if err := s.Buf.Read(got, g.at); err != nil {
			return err
		}
		for i, b := range got {
			if b == guardByte {
				continue
			}
			r.Wrong++
			if r.First == nil {
				element := (g.at + int64(i) - s.Off) / int64(c.work.DType.Size())
				r.First = &allreduce.Mismatch{Work: c.index, Rank: rank, Channel: -1, Chunk: -1, Owner: -1, Element: element,
					Expected: fmt.Sprintf("0x%02x", guardByte), Found: fmt.Sprintf("0x%02x", b),
					Hint: fmt.Sprintf("byte %d of the guard %s the buffer", i, g.where)}
			}
			break
		}
	}
	return nil
}
