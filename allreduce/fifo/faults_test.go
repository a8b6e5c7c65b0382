package fifo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
)

// symptom is how a fault harms: the only end besides a good one, what the
// shortest trace to it says, and how far the receiver gets at least.
type symptom struct {
	proto allreduce.Proto
	fault Fault
	most  int // slots that are searched in well under a second
	kind  EndKind
	why   func(slots int) string
	least func(slots int) int
}

const unwritten = "receiver reads memory never written in place of message 0"

func always(s string) func(int) string { return func(int) string { return s } }
func steps(n int) func(int) int        { return func(int) int { return n } }
func ofSlots(format string) func(int) string {
	return func(n int) string { return fmt.Sprintf(format, n) }
}

// waits is a sender that stands before step n, short of one credit.
func waits(given int) func(int) string {
	return func(n int) string {
		return fmt.Sprintf("sender waits after %d steps: has credit: head >= %d, it is %d", n+given, given+1, given)
	}
}

func all(n int) int { return n }

var symptoms = []symptom{
	{allreduce.Simple, HeadNever, 8, Stuck, waits(0), all},
	{allreduce.Simple, TailNever, 8, Stuck, waits(0), steps(0)},
	{allreduce.Simple, HeadEarly, 8, Corrupt, ofSlots("receiver reads message %d in place of message 0"), steps(0)},
	{allreduce.Simple, TailEarly, 4, Corrupt, always(unwritten), steps(0)},
	{allreduce.Simple, NoFence, 4, Corrupt, always(unwritten), steps(0)},
	{allreduce.Simple, NoBarrier, 4, Corrupt, always(unwritten), steps(0)},
	{allreduce.Simple, NoAcquire, 4, Corrupt, always(unwritten), steps(0)},
	{allreduce.LL, HeadNever, 4, Stuck, waits(0), all},
	{allreduce.LL, FlagMissing, 4, Stuck, waits(1), steps(1)},
	{allreduce.LL, LengthDisagreement, 4, Stuck, waits(1), steps(1)},
	{allreduce.LL, ConstantFlag, 4, Corrupt, ofSlots("receiver reads message 0 in place of message %d"), all},
	{allreduce.LL, HalfUnchecked, 4, Corrupt, always(unwritten), steps(0)},
	{allreduce.LL, FlagBeforeData, 2, Corrupt, always(unwritten), steps(0)},
	{allreduce.LL128, HeadNever, 8, Stuck, waits(0), all},
	{allreduce.LL128, FlagMissing, 8, Stuck, waits(1), steps(1)},
	{allreduce.LL128, ConstantFlag, 8, Corrupt, ofSlots("receiver reads message 0 in place of message %d"), all},
	{allreduce.LL128, FlagBeforeData, 4, Corrupt, always(unwritten), steps(0)},
	{allreduce.LL128, NoVote, 8, Corrupt, always(unwritten), steps(0)},
	{allreduce.LL128, NoSecondLoad, 4, Corrupt, always(unwritten), steps(0)},
}

// Every fault shows its own harm, in words that name the step, at each depth of
// the FIFO.
func TestSymptoms(t *testing.T) {
	for _, s := range symptoms {
		for slots := 2; slots <= s.most; slots *= 2 {
			e := entry(s.proto, slots, s.fault, -1)
			r, err := Explore(e.Case)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.Index(r.Kinds(), s.kind)
			if i < 0 {
				t.Errorf("%s: runs end %v, want %s among them", e.Name(), r.Kinds(), s.kind)
				continue
			}
			for _, k := range r.Kinds() {
				// A run that gets stuck does so in every interleaving; harm to
				// data depends on luck.
				if k != s.kind && (s.kind == Stuck || k != Finished) {
					t.Errorf("%s: a run ends %s", e.Name(), k)
				}
			}
			end := r.Ends[i]
			if !strings.HasPrefix(end.Why, s.why(slots)) {
				t.Errorf("%s: %q, want %q", e.Name(), end.Why, s.why(slots))
			}
			if end.Receiver[0] != s.least(slots) {
				t.Errorf("%s: the receiver gets %v steps far, want %d at least", e.Name(), end.Receiver, s.least(slots))
			}
		}
	}
}

// A step whose flag never comes keeps its credit: the sender fills what is left
// of the FIFO and stops at most as many steps later as it has slots.
func TestALostFlagStopsTheSenderAFIFOLater(t *testing.T) {
	for _, p := range []allreduce.Proto{allreduce.LL, allreduce.LL128} {
		for _, slots := range []int{2, 4} {
			r, err := Explore(entry(p, slots, FlagMissing, -1).Case)
			if err != nil {
				t.Fatal(err)
			}
			want := [2]int{1 + slots, 1 + slots}
			if got := r.Ends[0]; got.Sender != want || got.Receiver != [2]int{1, 1} {
				t.Errorf("%v/%d: sender %v, receiver %v, want %v and 1", p, slots, got.Sender, got.Receiver, want)
			}
		}
	}
}

// An empty slice that one side does not count puts the sides out of step. With
// two slots the flag of the next round stands where an older one is awaited:
// nobody reads a wrong message, all wait.
func TestEmptySliceNotPostedEndsInAHangOrWrongData(t *testing.T) {
	for _, p := range []allreduce.Proto{allreduce.LL, allreduce.LL128} {
		for slots, want := range map[int]EndKind{2: Stuck, 4: Corrupt} {
			r, err := Explore(entry(p, slots, EmptyNotPosted, -1).Case)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Kinds(), []EndKind{want}) {
				t.Errorf("%v/%d slots: ends %v, want only %s", p, slots, r.Kinds(), want)
			}
			if e := r.Ends[0]; e.Receiver != [2]int{3, 3} {
				t.Errorf("%v/%d slots: the receiver stops after %v steps, want 3: the message behind the empty one", p, slots, e.Receiver)
			}
		}
	}
}

// misread runs at random until something wrong is read: what, and in place of
// which message. Both are -1 when the run ends otherwise.
func misread(t *testing.T, c Case, r *rand.Rand) (got, want int) {
	m := newMachine(t, c)
	if m.run(r) != Corrupt {
		return -1, -1
	}
	in := m.code[receiver][m.pc[receiver]]
	v := m.memory[in.at].data
	if in.kind == use {
		v = m.seen
	}
	return int(v) - 1, int(in.want.data) - 1
}

// A reader that is too early sees what the slot held a round ago, or memory
// never written; one whose slot is given back too early sees the round to come.
func TestWrongDataIsOneRoundOff(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range symptoms {
		if s.kind != Corrupt || s.fault == NoBarrier {
			continue
		}
		seen := 0
		for range 300 {
			c := entry(s.proto, 2, s.fault, -1).Case
			got, want := misread(t, c, r)
			if want < 0 {
				continue
			}
			seen++
			stale := got == want-c.Slots || got == -1 && want < c.Slots
			if s.fault == HeadEarly {
				stale = got == want+c.Slots
			}
			if !stale {
				t.Errorf("%v/%v: message %d in place of %d", s.proto, s.fault, got, want)
			}
		}
		if seen == 0 {
			t.Errorf("%v/%v: 300 random runs, none shows the fault", s.proto, s.fault)
		}
	}
}

// Flags that wrap: a line of a long message is taken for the next long one's
// when nothing has been written over it for a whole round of flags.
func TestWithoutCleaningTheOldLineIsTakenForTheNew(t *testing.T) {
	for _, f := range []Fault{NoCleaning, CleaningLate} {
		c := wrapping(entry(allreduce.LL, 2, f, -1)).Case
		r, err := Explore(c)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.Index(r.Kinds(), Corrupt)
		if i < 0 {
			t.Fatalf("%v: ends %v", f, r.Kinds())
		}
		if got, want := r.Ends[i].Why, "receiver reads message 0 in place of message 4"; got != want && f == NoCleaning {
			t.Errorf("%v: %s, want %s: the flags repeat after 4 steps", f, got, want)
		}
		if least := r.Ends[i].Receiver[0]; least < 4 {
			t.Errorf("%v: wrong after %d steps, before any flag has come again", f, least)
		}
	}
}

// Cleaning happens on the last round through the slots before flags start anew.
func TestStepsThatClean(t *testing.T) {
	c := wrapping(entry(allreduce.LL, 4, None, -1)).Case
	if c.FlagBits != 3 {
		t.Fatalf("%d bits, want 3 for twice 4 slots", c.FlagBits)
	}
	for step := range 24 {
		if got, want := c.cleans(step), step%8 >= 4; got != want {
			t.Errorf("step %d: cleans %v, want %v", step, got, want)
		}
		if got, want := c.flag(step), uint8(step%8+1); got != want {
			t.Errorf("step %d: flag %d, want %d", step, got, want)
		}
	}
	c.Fault = NoCleaning
	if c.cleans(7) {
		t.Error("cleans without cleaning")
	}
	c = Case{Slots: 4, FlagBits: 0, Proto: allreduce.LL}
	if c.cleans(7) || c.flag(100) != 101 {
		t.Error("flags wide enough neither wrap nor need cleaning")
	}
	c.Fault = ConstantFlag
	for step := range 12 {
		if got, want := c.flag(step), uint8(step%4+1); got != want {
			t.Errorf("constant flag of step %d: %d, want %d", step, got, want)
		}
	}
}
