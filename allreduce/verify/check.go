package verify

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

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
		if err := t.checkWork(&r, c, &t.args[i]); err != nil {
			return r, fmt.Errorf("work %d: %w", i, err)
		}
	}
	return r, nil
}

func (t *Trial) checkWork(r *Result, c *Case, args *allreduce.Args) error {
	if err := t.checkOutputs(r, c, args.Recv); err != nil {
		return err
	}
	if !t.opt.InPlace {
		if err := t.checkInputs(r, c, args.Send); err != nil {
			return err
		}
	}
	var m member
	for _, rank := range t.local {
		for _, s := range []allreduce.Span{args.Send[rank], args.Recv[rank]} {
			if err := checkGuards(r, &m, c, rank, s); err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
		}
	}
	return nil
}

// flaw is what is wrong with a stretch of ranks' data: how many elements, and
// the first of the lowest rank with what was found and wanted there.
type flaw struct {
	wrong       int64
	rank        int
	element     int64
	found, want []byte
}

// note adds what a comparison found.
func (f *flaw) note(got, want []byte, t allreduce.DType, rank int, at int64) {
	wrong, first := Compare(got, want, t)
	if wrong > 0 && (f.wrong == 0 || rank < f.rank) {
		size := int64(t.Size())
		f.rank, f.element = rank, at/size+first
		f.found = append(f.found[:0], got[first*size:][:size]...)
		f.want = append(f.want[:0], want[first*size:][:size]...)
	}
	f.wrong += wrong
}

// gather counts flaws, and explains the first.
func (r *Result) gather(flaws []flaw, explain func(*flaw) *allreduce.Mismatch) {
	for i := range flaws {
		f := &flaws[i]
		if f.wrong > 0 && r.First == nil {
			r.First = explain(f)
		}
		r.Wrong += f.wrong
	}
}

// checkOutputs works out each stretch of the result once, for all ranks.
func (t *Trial) checkOutputs(r *Result, c *Case, recv []allreduce.Span) error {
	d := c.work.DType
	list := stretches(c.work.Bytes())
	flaws := make([]flaw, len(list))
	err := t.crew.do(len(list), func(m *member, i int) error {
		s := list[i]
		want := grow(&m.want, s.n)
		c.expectRange(want, s.at/int64(d.Size()))
		for k := range t.local {
			rank := t.local[(i+k)%len(t.local)] // not all of the crew ask the same device
			got, err := m.read(recv[rank], s)
			if err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			flaws[i].note(got, want, d, rank, s.at)
		}
		return nil
	})
	r.gather(flaws, func(f *flaw) *allreduce.Mismatch { return c.Mismatch(f.rank, f.element, f.found, t.before) })
	return err
}

func (t *Trial) checkInputs(r *Result, c *Case, send []allreduce.Span) error {
	d := c.work.DType
	list := stretches(c.work.Bytes())
	flaws := make([]flaw, len(t.local)*len(list))
	err := t.crew.do(len(flaws), func(m *member, i int) error {
		rank, s := t.local[i%len(t.local)], list[i/len(t.local)]
		want := grow(&m.want, s.n)
		c.Input(want, rank, s.at/int64(d.Size()))
		got, err := m.read(send[rank], s)
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		flaws[i].note(got, want, d, rank, s.at)
		return nil
	})
	r.gather(flaws, func(f *flaw) *allreduce.Mismatch {
		x := c.Mismatch(f.rank, f.element, f.found, 0)
		x.Expected, x.Hint = Format(f.want, d), "the input was changed"
		return x
	})
	return err
}

// read gives a stretch of a span, without a copy where it can.
func (m *member) read(from allreduce.Span, s stretch) ([]byte, error) {
	if h, ok := from.Buf.(allreduce.HostBuffer); ok {
		return h.Bytes()[from.Off+s.at:][:s.n], nil
	}
	b := grow(&m.found, s.n)
	return b, from.Buf.Read(b, from.Off+s.at)
}

// checkGuards counts a broken guard as one wrong element.
func checkGuards(r *Result, m *member, c *Case, rank int, s allreduce.Span) error {
	for _, g := range []struct {
		at, n int64
		where string
	}{{0, s.Off, "before"}, {s.Off + c.work.Bytes(), guardBytes, "behind"}} {
		got := grow(&m.found, g.n)
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
