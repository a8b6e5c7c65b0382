package fifo

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Limits of a case: what the search can walk through in seconds.
const (
	MaxSlots    = 8
	maxMessages = 20
)

// A Case is one connection that carries a few messages. A message is one post
// of the sender: a slice of StepsPerPost steps with Simple, one step with LL
// and LL128.
type Case struct {
	Proto        allreduce.Proto `json:"proto"`
	Slots        int             `json:"slots"`        // steps that the FIFO holds: 2, 4 or 8
	StepsPerPost int             `json:"stepsPerPost"` // 1, or 2 with Simple (a ring's slices)
	Fault        Fault           `json:"fault"`
	// Lines is the length of each message in units of the protocol: lines with
	// LL, 0 or 1 with Simple and LL128. A message of 0 is an empty slice.
	Lines []int `json:"lines"`
	// FlagBits is the width of LL's flags: the flag of a step is its number
	// modulo 1<<FlagBits, plus 1. 0 means wide enough never to wrap.
	FlagBits int `json:"flagBits,omitempty"`
	// Start is the step at which both sides stand, left by an earlier operation
	// of another protocol.
	Start int `json:"start,omitempty"`
}

// Validate says what is impossible about a case.
func (c Case) Validate() error {
	switch {
	case c.Slots != 2 && c.Slots != 4 && c.Slots != 8:
		return fmt.Errorf("slots: %d, want 2, 4 or 8", c.Slots)
	case c.StepsPerPost != 1 && (c.StepsPerPost != 2 || c.Proto != allreduce.Simple):
		return fmt.Errorf("steps per post: %d, want 1, or 2 with Simple", c.StepsPerPost)
	case len(c.Lines) == 0 || len(c.Lines) > maxMessages:
		return fmt.Errorf("messages: %d, want 1 to %d", len(c.Lines), maxMessages)
	case c.Start < 0 || c.Start >= c.Slots:
		return fmt.Errorf("start: step %d, want 0 to %d", c.Start, c.Slots-1)
	case c.FlagBits < 0 || c.FlagBits > 7 || c.FlagBits > 0 && 1<<c.FlagBits < 2*c.Slots:
		return fmt.Errorf("flag bits: %d, want enough for twice the slots", c.FlagBits)
	case !c.Fault.of(c.Proto):
		return fmt.Errorf("fault %q cannot befall %v", c.Fault, c.Proto)
	}
	for i, n := range c.Lines {
		if n < 0 || n > c.maxLines() {
			return fmt.Errorf("message %d: %d lines, want 0 to %d", i, n, c.maxLines())
		}
	}
	return nil
}

// Short reports whether the case has no more steps than slots: it needs no
// credit.
func (c Case) Short() bool { return len(c.Lines)*c.StepsPerPost <= c.Slots }

func (c Case) maxLines() int {
	if c.Proto == allreduce.LL {
		return 2
	}
	return 1
}

// slot is the FIFO slot of a step.
func (c Case) slot(step int) int { return step % c.Slots }

// flag is what marks the lines of a step as written.
func (c Case) flag(step int) uint8 {
	switch {
	case c.Fault == ConstantFlag:
		return uint8(step%c.Slots + 1)
	case c.FlagBits > 0:
		return uint8(step%(1<<c.FlagBits) + 1)
	}
	return uint8(step + 1)
}

// cleans reports whether LL writes the unused lines of a step too: on the last
// round through the slots before the flags start again.
func (c Case) cleans(step int) bool {
	if c.FlagBits == 0 || c.Fault == NoCleaning {
		return false
	}
	flags := 1 << c.FlagBits
	return step%flags >= flags-c.Slots
}

// A Fault is one thing left out or done in the wrong order.
type Fault uint8

// Faults.
const (
	None               Fault = iota
	HeadNever                // the receiver gives no credit back
	HeadEarly                // credit is given back before the slot is read
	TailNever                // the sender announces nothing
	TailEarly                // tail is stored before the payload
	NoFence                  // no fence between payload and tail
	NoBarrier                // tail is posted while another thread still stores
	NoAcquire                // payload is loaded before tail was seen
	WaitOneStep              // the receiver waits for one step of a slice of two
	EmptyNotPosted           // the sender skips an empty slice that the receiver counts
	HeadNotRounded           // credits of skipped steps are not given back at the start
	StepNotRounded           // a slice of two steps starts at an odd step
	HalfUnchecked            // only the first of a line's two flags is looked at
	FlagBeforeData           // flag and data are stored apart, in any order
	FlagMissing              // one flag is never written
	ConstantFlag             // the flag depends on the slot only
	NoCleaning               // unused lines are not written before the flags wrap
	CleaningLate             // a cleaned line is still unseen when the flags have wrapped
	LengthDisagreement       // the receiver expects a longer message than was sent
	NoVote                   // lanes that hold no flag do not wait for those that do
	NoSecondLoad             // data loaded together with the flag is used
	numFaults
)

var faults = [numFaults]struct{ name, text string }{
	None:               {"none", "nothing is broken"},
	HeadNever:          {"head-never", "head is never published"},
	HeadEarly:          {"head-early", "head is published before the slot is read"},
	TailNever:          {"tail-never", "tail is never published"},
	TailEarly:          {"tail-early", "tail is published before the payload"},
	NoFence:            {"no-fence", "no fence between payload and tail"},
	NoBarrier:          {"no-barrier", "tail is posted while another thread still stores"},
	NoAcquire:          {"no-acquire", "payload is loaded before tail was seen"},
	WaitOneStep:        {"wait-one-step", "the receiver waits for one step of a slice of two"},
	EmptyNotPosted:     {"empty-not-posted", "an empty slice is not posted"},
	HeadNotRounded:     {"head-not-rounded", "credits of skipped steps are not given back"},
	StepNotRounded:     {"step-not-rounded", "a slice of two steps starts at an odd step"},
	HalfUnchecked:      {"half-unchecked", "one of a line's two flags is not looked at"},
	FlagBeforeData:     {"flag-before-data", "a flag can be seen before its data"},
	FlagMissing:        {"flag-missing", "one flag is never written"},
	ConstantFlag:       {"constant-flag", "the flag depends on the slot only"},
	NoCleaning:         {"no-cleaning", "unused lines are not cleaned before the flags wrap"},
	CleaningLate:       {"cleaning-late", "a cleaned line is still unseen when the flags wrap"},
	LengthDisagreement: {"length-disagreement", "the receiver expects a longer message"},
	NoVote:             {"no-vote", "lanes without a flag do not wait for the vote"},
	NoSecondLoad:       {"no-second-load", "data loaded together with the flag is used"},
}

func (f Fault) String() string {
	if f < numFaults {
		return faults[f].name
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Text is the fault in words.
func (f Fault) Text() string { return faults[f].text }

// MarshalText gives the name, for JSON.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a name.
func (f *Fault) UnmarshalText(b []byte) error {
	for i := range faults {
		if faults[i].name == string(b) {
			*f = Fault(i)
			return nil
		}
	}
	return fmt.Errorf("unknown fault %q", b)
}

// of reports whether the protocol has the part that the fault breaks.
func (f Fault) of(p allreduce.Proto) bool {
	switch f {
	case None, HeadNever, HeadEarly, EmptyNotPosted:
		return true
	case TailNever, TailEarly, NoFence, NoBarrier, NoAcquire, WaitOneStep, HeadNotRounded, StepNotRounded:
		return p == allreduce.Simple
	case FlagBeforeData, FlagMissing, ConstantFlag:
		return p == allreduce.LL || p == allreduce.LL128
	case HalfUnchecked, NoCleaning, CleaningLate, LengthDisagreement:
		return p == allreduce.LL
	case NoVote, NoSecondLoad:
		return p == allreduce.LL128
	}
	return false
}
