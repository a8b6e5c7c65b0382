package fifo

import "fmt"

// An LL128 slot has one line: data words and the flag, which the memory never
// shows before the rest of its line.

// dataWords is how many words stand for all fifteen. Words without a flag are
// alike: with 8 slots, one will do.
func (c Case) dataWords() int {
	if c.Slots == MaxSlots {
		return 1
	}
	return 2
}

func (c Case) lineWord(step, w int) place { return cells + place(c.slot(step)*(c.dataWords()+1)+w) }

func (c Case) lineFlag(step int) place { return c.lineWord(step, c.dataWords()) }

// ll128Sender waits for credit and stores whole lines.
func (c Case) ll128Sender(b *builder) {
	step := c.Start
	for i, lines := range c.Lines {
		if lines == 0 && c.Fault == EmptyNotPosted {
			continue
		}
		b.await(head, step+1-c.Slots, "has credit: head >= %d", max(step+1-c.Slots, 0))
		if lines > 0 {
			c.storeWhole(b, step, i)
		}
		step, b.done = step+1, b.done+1
	}
}

func (c Case) storeWhole(b *builder, step, msg int) {
	before := uint64(0)
	for w := range c.dataWords() {
		before |= 1 << len(b.stores)
		b.store(c.lineWord(step, w), value{data: message(msg)}, "word %d of slot %d := message %d", w, c.slot(step), msg)
	}
	if c.Fault == FlagBeforeData {
		before = 0
	}
	if c.Fault == FlagMissing && msg == 1 {
		return
	}
	f := c.flag(step)
	b.emit(instr{kind: store, at: c.lineFlag(step), want: value{flag: f}, order: before,
		text: fmt.Sprintf("flag of slot %d := %d", c.slot(step), f)})
}

// ll128Receiver lets all lanes vote until every flag is right, and then loads
// once more.
func (c Case) ll128Receiver(b *builder) {
	step := c.Start
	for i, lines := range c.Lines {
		if c.Fault == HeadEarly {
			b.publish(head, step+1)
		}
		if lines > 0 {
			c.loadWhole(b, step, i)
		}
		if c.Fault != HeadEarly && c.Fault != HeadNever {
			b.publish(head, step+1)
		}
		step, b.done = step+1, b.done+1
	}
}

func (c Case) loadWhole(b *builder, step, msg int) {
	v := value{message(msg), c.flag(step)}
	vote := func() {
		b.load(awaitFlag, c.lineFlag(step), v, "votes: flag %d seen in slot %d", v.flag, c.slot(step))
	}
	word := func(w int, how string) {
		b.load(load, c.lineWord(step, w), v, "loads word %d of slot %d for message %d%s", w, c.slot(step), msg, how)
	}
	if c.Fault != NoVote && c.Fault != NoSecondLoad {
		vote()
	}
	switch c.Fault {
	case NoVote: // the lane of word 0 holds no flag; the lane of word 1 does
		word(0, " without a vote")
		vote()
	case NoSecondLoad:
		b.load(peek, c.lineWord(step, 0), v, "loads word 0 of slot %d in the access that polls", c.slot(step))
		vote()
		b.load(use, c.lineWord(step, 0), v, "uses what it loaded for message %d", msg)
	default:
		word(0, "")
	}
	if c.dataWords() > 1 {
		word(1, "")
	}
}
