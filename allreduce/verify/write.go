package verify

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

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
		if err := t.fillWork(c, &t.args[i]); err != nil {
			return fmt.Errorf("work %d %w", i, err)
		}
	}
	return nil
}

// seed differs from round to round and is never 0.
func (t *Trial) seed() uint64 { return randomWord(t.opt.Seed, t.round) | 1 }

// fillWork prepares the buffers of a work on all local ranks.
func (t *Trial) fillWork(c *Case, args *allreduce.Args) error {
	list := stretches(c.work.Bytes())
	err := t.crew.do(len(t.local)*len(list), func(m *member, i int) error {
		rank, s := t.local[i%len(t.local)], list[i/len(t.local)] // ranks in turn: they may be on different devices
		if err := writeInput(m, c, rank, args.Send[rank], s); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.crew.do(len(t.local), func(m *member, i int) error {
		if err := t.frame(m, c, args, t.local[i]); err != nil {
			return fmt.Errorf("rank %d: %w", t.local[i], err)
		}
		return nil
	})
}

// writeInput writes a stretch of a rank's input.
func writeInput(m *member, c *Case, rank int, to allreduce.Span, s stretch) error {
	first := s.at / int64(c.work.DType.Size())
	if h, ok := to.Buf.(allreduce.HostBuffer); ok {
		c.Input(h.Bytes()[to.Off+s.at:][:s.n], rank, first)
		return nil
	}
	b := grow(&m.found, s.n)
	c.Input(b, rank, first)
	return to.Buf.Write(b, to.Off+s.at)
}

// frame puts guards around a rank's buffers, and poison into its output.
func (t *Trial) frame(m *member, c *Case, args *allreduce.Args, rank int) error {
	send, recv, bytes := args.Send[rank], args.Recv[rank], c.work.Bytes()
	spans := []allreduce.Span{send, recv}
	if t.opt.InPlace {
		spans = spans[:1]
	} else if err := set(m, recv.Buf, Poison, recv.Off, bytes); err != nil {
		return err
	}
	for _, s := range spans {
		if err := set(m, s.Buf, guardByte, 0, s.Off); err != nil {
			return err
		}
		if err := set(m, s.Buf, guardByte, s.Off+bytes, guardBytes); err != nil {
			return err
		}
	}
	return nil
}

// set fills a part of a buffer with one byte, where the buffer lies if it can.
func set(m *member, to allreduce.Buffer, v byte, off, n int64) error {
	switch b := to.(type) {
	case allreduce.HostBuffer:
		repeat(b.Bytes()[off:][:n], v)
		return nil
	case allreduce.Setter:
		return b.Set(v, off, n)
	}
	block := grow(&m.found, min(n, stretchBytes))
	repeat(block, v)
	for at := int64(0); at < n; at += stretchBytes {
		if err := to.Write(block[:min(stretchBytes, n-at)], off+at); err != nil {
			return err
		}
	}
	return nil
}

func repeat(dst []byte, b byte) {
	if len(dst) == 0 {
		return
	}
	dst[0] = b
	for done := 1; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}
