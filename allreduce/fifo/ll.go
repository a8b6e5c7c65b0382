package fifo

// An LL slot has two lines of two halves; a half is 4 bytes of data and their
// flag, seen as one. With FlagBeforeData they are two places.
const (
	halves  = 2
	llLines = 2
)

func (c Case) half(step, line, h int) place {
	return cells + place(((c.slot(step)*llLines+line)*halves+h)*c.parts())
}

func (c Case) parts() int {
	if c.Fault == FlagBeforeData {
		return 2
	}
	return 1
}

// llSender waits for credit and stores lines; their flags announce them.
func (c Case) llSender(b *builder) {
	step := c.Start
	for i, lines := range c.Lines {
		if lines == 0 && c.Fault == EmptyNotPosted {
			continue
		}
		b.await(head, step+1-c.Slots, "has credit: head >= %d", max(step+1-c.Slots, 0))
		if c.FlagBits > 0 && c.Fault != CleaningLate {
			b.code[len(b.code)-1].order = c.storesTo(b, step)
		}
		if c.Fault == LengthDisagreement && i == 1 {
			lines--
		}
		for l := range lines {
			c.storeLine(b, step, l, i)
		}
		for l := lines; l < llLines && c.cleans(step); l++ {
			for h := range halves {
				b.store(c.half(step, l, h), value{flag: c.flag(step)}, "unused half %d of line %d of slot %d := flag %d", h, l, c.slot(step), c.flag(step))
			}
		}
		step, b.done = step+1, b.done+1
	}
}

// storesTo lists the stores so far to the slot of a step. Nobody waits for the
// lines that cleaning writes: that they are seen before their slot comes round
// again is taken for granted, for in a real FIFO there is half the range of the
// flags between.
func (c Case) storesTo(b *builder, step int) (stores uint64) {
	for l := range llLines {
		for h := range halves {
			stores |= b.to[c.half(step, l, h)]
		}
	}
	return stores
}

func (c Case) storeLine(b *builder, step, line, msg int) {
	for h := range halves {
		v := value{message(msg), c.flag(step)}
		if c.Fault == FlagMissing && msg == 1 && h == halves-1 {
			v.flag = 0
		}
		at := c.half(step, line, h)
		if c.Fault == FlagBeforeData {
			b.store(at, value{data: v.data}, "data %d of line %d of slot %d := message %d", h, line, c.slot(step), msg)
			b.store(at+1, value{flag: v.flag}, "flag %d of line %d of slot %d := %d", h, line, c.slot(step), v.flag)
			continue
		}
		b.store(at, v, "half %d of line %d of slot %d := message %d, flag %d", h, line, c.slot(step), msg, v.flag)
	}
}

// llReceiver polls each line until both flags are right.
func (c Case) llReceiver(b *builder) {
	step := c.Start
	for i, lines := range c.Lines {
		if c.Fault == HeadEarly {
			b.publish(head, step+1)
		}
		for l := range lines {
			c.loadLine(b, step, l, i)
		}
		if c.Fault != HeadEarly && c.Fault != HeadNever {
			b.publish(head, step+1)
		}
		step, b.done = step+1, b.done+1
	}
}

func (c Case) loadLine(b *builder, step, line, msg int) {
	v := value{message(msg), c.flag(step)}
	for h := range halves {
		at := c.half(step, line, h)
		switch {
		case c.Fault == FlagBeforeData:
			b.load(awaitFlag, at+1, v, "sees flag %d in line %d of slot %d", v.flag, line, c.slot(step))
			b.load(load, at, v, "loads data %d of line %d of slot %d for message %d", h, line, c.slot(step), msg)
		case c.Fault == HalfUnchecked && h > 0:
			b.load(load, at, v, "loads half %d of line %d of slot %d for message %d, whatever its flag", h, line, c.slot(step), msg)
		default:
			b.load(loadFlagged, at, v, "loads half %d of line %d of slot %d for message %d: flag %d", h, line, c.slot(step), msg, v.flag)
		}
	}
}
