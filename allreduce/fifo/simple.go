package fifo

// words is how many places of a slot Simple's two workers write, one each.
const words = 2

// round is the step at which an operation starts: Simple's slices are aligned.
func (c Case) round() int {
	if c.Fault == StepNotRounded {
		return c.Start
	}
	return (c.Start + c.StepsPerPost - 1) / c.StepsPerPost * c.StepsPerPost
}

func (c Case) word(step, w int) place { return cells + place(c.slot(step)*words+w) }

// simpleSender waits for credit, lets two workers store the slice, and posts
// tail behind a fence.
func (c Case) simpleSender(b *builder) {
	step := c.round()
	for i, lines := range c.Lines {
		if lines == 0 && c.Fault == EmptyNotPosted {
			continue
		}
		next := step + c.StepsPerPost
		b.await(head, next-c.Slots, "has credit: head >= %d", max(next-c.Slots, 0))
		if c.Fault == TailEarly {
			b.publish(tail, next)
		}
		late := lines > 0 && c.Fault == NoBarrier
		for w := range words {
			if lines > 0 && !(late && w > 0) {
				c.storeWord(b, step, w, i)
			}
		}
		if lines > 0 && c.Fault != NoFence && c.Fault != TailEarly {
			b.fence()
		}
		if c.Fault != TailNever && c.Fault != TailEarly {
			b.publish(tail, next)
		}
		if late {
			c.storeWord(b, step, words-1, i)
		}
		step, b.done = next, b.done+c.StepsPerPost
	}
}

// storeWord stores a worker's part of a slice, which starts in the slot of its
// first step and runs on behind it.
func (c Case) storeWord(b *builder, step, w, msg int) {
	for g := range c.StepsPerPost {
		if c.slot(step)+g >= c.Slots {
			b.emit(instr{kind: overrun, text: "stores behind the last slot"})
			return
		}
		b.store(c.word(step+g, w), value{data: message(msg)}, "word %d of slot %d := message %d", w, c.slot(step+g), msg)
	}
}

// simpleReceiver waits for tail, reads the slice, and gives the credit back.
func (c Case) simpleReceiver(b *builder) {
	step := c.round()
	if step != c.Start && c.Fault != HeadNotRounded {
		b.publish(head, step)
	}
	for i, lines := range c.Lines {
		next := step + c.StepsPerPost
		early := c.Fault == NoAcquire && lines > 0
		if early {
			b.load(peek, c.word(step, 0), value{}, "loads word 0 of slot %d ahead of tail", c.slot(step))
		}
		least := next
		if c.Fault == WaitOneStep {
			least = step + 1
		}
		b.await(tail, least, "sees tail >= %d", least)
		if c.Fault == HeadEarly {
			b.publish(head, next)
		}
		if early {
			b.load(use, c.word(step, 0), value{data: message(i)}, "uses what it loaded for message %d", i)
		}
		for w := range words {
			if lines > 0 && !(early && w == 0) {
				c.loadWord(b, step, w, i)
			}
		}
		if c.Fault != HeadEarly && c.Fault != HeadNever {
			b.publish(head, next)
		}
		step, b.done = next, b.done+c.StepsPerPost
	}
}

func (c Case) loadWord(b *builder, step, w, msg int) {
	for g := range c.StepsPerPost {
		b.load(load, c.word(step+g, w), value{data: message(msg)}, "loads word %d of slot %d for message %d", w, c.slot(step+g), msg)
	}
}
