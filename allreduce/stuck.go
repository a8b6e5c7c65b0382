package allreduce

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Wait is what a rank waits for on a connection.
type Wait uint8

// Waits.
const (
	WaitData   Wait = iota // the sender's tail or flag
	WaitCredit             // the receiver's head: room in the FIFO
)

var waitNames = []string{"data", "credit"}

func (w Wait) String() string { return name("Wait", int(w), waitNames) }

// MarshalText gives the name.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a name.
func (w *Wait) UnmarshalText(b []byte) error {
	i, err := parse("wait", string(b), waitNames)
	*w = Wait(i)
	return err
}

// Stall is one rank's endless wait on one channel.
type Stall struct {
	Rank    int   `json:"rank"`
	Channel int   `json:"channel"`
	Peer    int   `json:"peer"`
	For     Wait  `json:"for"`
	Algo    Algo  `json:"algo"`
	Proto   Proto `json:"proto"`
	// Steps count slots of the FIFO from the connection's set-up on. The wait
	// ends when the peer's counter (tail, head, or the step that the flag names)
	// reaches Want; it stood at Seen. The run had begun at step Base.
	Want uint64 `json:"want"`
	Seen uint64 `json:"seen"`
	Base uint64 `json:"base"`
}

func (s Stall) String() string {
	return fmt.Sprintf("rank %d on channel %d waited for %s from rank %d (%s/%s): wanted step %d, saw %d, run began at %d",
		s.Rank, s.Channel, s.For, s.Peer, s.Algo, s.Proto, s.Want, s.Seen, s.Base)
}

// Meaning says what a stall of this shape usually comes from.
func (s Stall) Meaning() string {
	moved := int64(s.Seen) - int64(s.Base)
	switch {
	case s.For == WaitCredit && moved <= 0:
		return fmt.Sprintf("the FIFO's %d steps were filled and no credit came back: rank %d never returned its head", FIFODepth, s.Peer)
	case s.For == WaitCredit:
		return fmt.Sprintf("rank %d stopped consuming after %d steps", s.Peer, moved)
	case moved <= 0 && s.Proto == Simple:
		return fmt.Sprintf("the first tail of rank %d never came: it did not start, or does not send here", s.Peer)
	case moved <= 0:
		return fmt.Sprintf("the first flag of rank %d never came: it did not start, or does not send here", s.Peer)
	}
	return fmt.Sprintf("rank %d stopped sending after %d steps", s.Peer, moved)
}

// StuckError is a run that ended at its time limit. Stalls are all waits that
// were found; there are none where the limit passed before any rank waited.
type StuckError struct {
	Stalls []Stall
	After  time.Duration
}

func (e *StuckError) Error() string {
	if len(e.Stalls) == 0 {
		return fmt.Sprintf("stuck after %v, in which no rank came to wait for another: the limit is too short, or the machine too busy", e.After)
	}
	root := e.Root()
	var b strings.Builder
	fmt.Fprintf(&b, "stuck after %v: %v; %s", e.After, root, root.Meaning())
	if idle := e.Silent(); len(idle) > 0 {
		fmt.Fprintf(&b, "; waited for but not waiting: rank %v", idle)
	}
	if more := len(e.Stalls) - 1; more > 0 {
		fmt.Fprintf(&b, " (and %d more waits)", more)
	}
	return b.String()
}

// Root is the wait that the others most likely follow from: one for a rank that
// does not wait itself, else the one that had come least far; nothing where no
// wait was found.
func (e *StuckError) Root() Stall {
	if len(e.Stalls) == 0 {
		return Stall{}
	}
	silent := e.Silent()
	best := slices.MinFunc(e.Stalls, func(a, b Stall) int {
		if x, y := slices.Contains(silent, a.Peer), slices.Contains(silent, b.Peer); x != y {
			if x {
				return -1
			}
			return 1
		}
		return int(int64(a.Seen-a.Base) - int64(b.Seen-b.Base))
	})
	return best
}

// Silent lists the ranks that others wait for and that wait for nobody: they
// stopped, died, or have left already.
func (e *StuckError) Silent() []int {
	var silent []int
	for _, s := range e.Stalls {
		waits := slices.ContainsFunc(e.Stalls, func(o Stall) bool { return o.Rank == s.Peer && o.Channel == s.Channel })
		if !waits && !slices.Contains(silent, s.Peer) {
			silent = append(silent, s.Peer)
		}
	}
	slices.Sort(silent)
	return silent
}
