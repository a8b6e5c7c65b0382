package fifo

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Entry is a case of the matrix with what must be seen in it.
type Entry struct {
	Case Case `json:"case"`
	// Want is how runs end, over all interleavings.
	Want []EndKind `json:"want"`
	// Steps is after how many steps the sender is stuck, in every interleaving;
	// -1 where that differs.
	Steps int `json:"steps"`
}

// Name identifies an entry: LL/4 slots/head-never.
func (e Entry) Name() string {
	n := fmt.Sprintf("%v/%d slots", e.Case.Proto, e.Case.Slots)
	if e.Case.StepsPerPost > 1 {
		n += fmt.Sprintf("/slices of %d", e.Case.StepsPerPost)
	}
	if e.Case.FlagBits > 0 {
		n += fmt.Sprintf("/%d-bit flags", e.Case.FlagBits)
	}
	if e.Case.Short() {
		n += "/short"
	}
	if e.Case.Start > 0 {
		n += fmt.Sprintf("/from step %d", e.Case.Start)
	}
	return n + "/" + e.Case.Fault.String()
}

// Check says how a result differs from what the entry wants.
func (e Entry) Check(r *Result) error {
	if got := r.Kinds(); !slices.Equal(got, e.Want) {
		return fmt.Errorf("%s: runs end %v, want %v", e.Name(), got, e.Want)
	}
	for _, end := range r.Ends {
		if end.Kind == Stuck && e.Steps >= 0 && end.Sender != [2]int{e.Steps, e.Steps} {
			return fmt.Errorf("%s: the sender stops after %d to %d steps, want exactly %d", e.Name(), end.Sender[0], end.Sender[1], e.Steps)
		}
	}
	return nil
}

// Matrix lists every protocol whole and with each fault that can befall it.
func Matrix() []Entry {
	m := slices.Concat(common(allreduce.Simple), simpleFaults())
	m = slices.Concat(m, common(allreduce.LL), llFaults())
	return slices.Concat(m, common(allreduce.LL128), ll128Faults())
}

// common are the cases that every protocol has.
func common(p allreduce.Proto) []Entry {
	var m []Entry
	for _, slots := range []int{2, 4, 8} {
		m = append(m,
			entry(p, slots, None, -1, Finished),
			entry(p, slots, HeadNever, slots, Stuck),
			short(entry(p, slots, HeadNever, -1, Finished)))
	}
	// The receiver takes the message behind an empty slice for the empty one.
	return append(m, entry(p, 4, EmptyNotPosted, -1, Corrupt))
}

func simpleFaults() []Entry {
	const p = allreduce.Simple
	m := []Entry{
		sliced(entry(p, 4, None, -1, Finished)),
		sliced(entry(p, 8, None, -1, Finished)),
		sliced(entry(p, 8, HeadNever, 8, Stuck)),
		started(sliced(entry(p, 2, None, -1, Finished)), 1),
		started(sliced(entry(p, 2, HeadNotRounded, 0, Stuck)), 1),
		started(sliced(entry(p, 8, StepNotRounded, -1, Overrun)), 1),
		sliced(entry(p, 4, WaitOneStep, -1, Finished)), // harmless: tail moves by two
	}
	for _, f := range []Fault{HeadEarly, TailEarly, NoFence, NoBarrier, NoAcquire} {
		m = append(m, entry(p, 2, f, -1, Finished, Corrupt), entry(p, 4, f, -1, Finished, Corrupt))
	}
	return append(m, entry(p, 4, TailNever, 4, Stuck))
}

func llFaults() []Entry {
	const p = allreduce.LL
	m := []Entry{
		wrapping(entry(p, 2, None, -1, Finished)),
		wrapping(entry(p, 2, NoCleaning, -1, Finished, Corrupt)),
		wrapping(entry(p, 2, CleaningLate, -1, Finished, Corrupt)),
		wrapping(entry(p, 4, None, -1, Finished)),
		wrapping(entry(p, 4, NoCleaning, -1, Finished, Corrupt)),
		entry(p, 4, LengthDisagreement, -1, Stuck),
		entry(p, 4, FlagMissing, -1, Stuck),
		entry(p, 2, HeadEarly, -1, Finished, Stuck), // an overwritten line has another flag
	}
	for _, slots := range []int{2, 4} {
		m = append(m,
			entry(p, slots, ConstantFlag, -1, Finished, Corrupt),
			entry(p, slots, HalfUnchecked, -1, Finished, Corrupt))
	}
	return append(m, entry(p, 2, FlagBeforeData, -1, Finished, Corrupt))
}

func ll128Faults() []Entry {
	const p = allreduce.LL128
	m := []Entry{
		entry(p, 4, FlagMissing, -1, Stuck),
		// The slot is overwritten before the flag was seen, or between the vote
		// and the second load.
		entry(p, 2, HeadEarly, -1, Finished, Stuck, Corrupt),
	}
	for _, slots := range []int{2, 4} {
		for _, f := range []Fault{ConstantFlag, FlagBeforeData, NoVote, NoSecondLoad} {
			m = append(m, entry(p, slots, f, -1, Finished, Corrupt))
		}
	}
	return m
}

// entry is a case long enough to use every slot again; its second message is an
// empty slice where the fault is about that.
func entry(p allreduce.Proto, slots int, f Fault, steps int, want ...EndKind) Entry {
	c := Case{Proto: p, Slots: slots, StepsPerPost: 1, Fault: f, Lines: ones(slots + 2)}
	switch f {
	case None, EmptyNotPosted:
		c.Lines[2] = 0
	case LengthDisagreement:
		c.Lines[1] = 2
	}
	return Entry{c, want, steps}
}

// sliced posts two steps at a time, as a ring does with Simple.
func sliced(e Entry) Entry {
	e.Case.StepsPerPost = 2
	e.Case.Lines = e.Case.Lines[:min(len(e.Case.Lines), e.Case.Slots/2+2)]
	return e
}

// short needs no credit back.
func short(e Entry) Entry {
	e.Case.Lines = e.Case.Lines[:e.Case.Slots]
	return e
}

// started begins where an operation of another protocol has left the counters.
func started(e Entry, step int) Entry {
	e.Case.Start = step
	return e
}

// wrapping lets flags repeat after twice the slots. The first message and the
// one that has its flag again are long, those between are short.
func wrapping(e Entry) Entry {
	flags := 2 * e.Case.Slots
	for e.Case.FlagBits = 1; 1<<e.Case.FlagBits < flags; e.Case.FlagBits++ {
	}
	e.Case.Lines = ones(flags + 1)
	e.Case.Lines[0], e.Case.Lines[flags] = 2, 2
	return e
}

func ones(n int) []int {
	lines := make([]int, n)
	for i := range lines {
		lines[i] = 1
	}
	return lines
}
