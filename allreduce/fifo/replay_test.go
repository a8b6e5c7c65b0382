package fifo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
)

// storeText is the text of a side's n-th store.
func (m *machine) storeText(side, n int) string {
	for _, in := range m.code[side] {
		if in.kind != store {
			continue
		}
		if n == 0 {
			return in.text
		}
		n--
	}
	return ""
}

// follow makes the move that an event of a trace names.
func (m *machine) follow(ev Event) (EndKind, error) {
	for side, name := range sideNames {
		if ev.Who == "memory" {
			for i, p := range m.pending[side] {
				if "shows "+m.storeText(side, p.n) == ev.Does && m.mayShow(side, i) {
					m.memory[p.at] = p.v
					m.pending[side] = slices.Delete(m.pending[side], i, i+1)
					return "", nil
				}
			}
			continue
		}
		if ev.Who != name {
			continue
		}
		if !m.ready(side) {
			return "", fmt.Errorf("%s cannot move", name)
		}
		in := m.code[side][m.pc[side]]
		text := in.text
		if in.kind == store {
			text = "stores " + text
		}
		if text != ev.Does {
			return "", fmt.Errorf("%s does %q", name, text)
		}
		return m.step(side), nil
	}
	return "", fmt.Errorf("nothing of the kind is pending")
}

// over says how a run ends that has no move left.
func (m *machine) over() EndKind {
	if len(m.moves()) > 0 {
		return ""
	}
	if m.pc[0] == len(m.code[0]) && m.pc[1] == len(m.code[1]) {
		return Finished
	}
	return Stuck
}

// Every trace of the matrix can be followed move by move, and ends as it says.
func TestTracesCanBeFollowed(t *testing.T) {
	for _, e := range Matrix() {
		if e.Case.Slots == MaxSlots && e.Case.Proto != allreduce.Simple {
			continue
		}
		r, err := Explore(e.Case)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range r.Ends {
			m := newMachine(t, e.Case)
			var got EndKind
			for i, ev := range end.Trace {
				if got != "" {
					t.Fatalf("%s: the trace goes on after its end %s", e.Name(), got)
				}
				if got, err = m.follow(ev); err != nil {
					t.Fatalf("%s: event %d, %s %s: %v", e.Name(), i, ev.Who, ev.Does, err)
				}
			}
			if got == "" {
				got = m.over()
			}
			if got != end.Kind {
				t.Errorf("%s: the trace to %s ends %q", e.Name(), end.Kind, got)
			}
		}
	}
}

func (m *machine) clone() *machine {
	c := *m
	for side := range c.pending {
		c.pending[side] = slices.Clone(c.pending[side])
	}
	return &c
}

// key tells states apart. The code is the same in all.
func (m *machine) key() string { return fmt.Sprint(m.pc, m.memory, m.pending, m.seen) }

// shortest walks the naive machine breadth first: after how many moves each
// kind of end can first be reached.
func shortest(m *machine) map[EndKind]int {
	ends := map[EndKind]int{}
	note := func(k EndKind, depth int) {
		if _, ok := ends[k]; !ok && k != "" {
			ends[k] = depth
		}
	}
	seen := map[string]bool{m.key(): true}
	level := []*machine{m}
	for depth := 0; len(level) > 0; depth++ {
		var next []*machine
		for _, m := range level {
			n := len(m.moves())
			if n == 0 {
				note(m.over(), depth)
			}
			for i := range n {
				c := m.clone()
				if k := c.moves()[i](); k != "" {
					note(k, depth+1)
					continue
				}
				if k := c.key(); !seen[k] {
					seen[k] = true
					next = append(next, c)
				}
			}
		}
		level = next
	}
	return ends
}

// No trace could be shorter.
func TestTracesAreShortest(t *testing.T) {
	for _, e := range Matrix() {
		if e.Case.Slots != 2 || e.Case.FlagBits > 0 || e.Case.Fault == FlagBeforeData {
			continue
		}
		r, err := Explore(e.Case)
		if err != nil {
			t.Fatal(err)
		}
		got := map[EndKind]int{}
		for _, end := range r.Ends {
			got[end.Kind] = len(end.Trace)
		}
		if want := shortest(newMachine(t, e.Case)); !maps.Equal(got, want) {
			t.Errorf("%s: traces of %v moves, the shortest are %v", e.Name(), got, want)
		}
	}
}

// Counters never go back, and stay multiples of what one post moves them by.
func TestCountersOnlyGrow(t *testing.T) {
	for _, e := range Matrix() {
		long := e.Case.Proto != allreduce.Simple && (e.Case.Slots == MaxSlots || e.Case.FlagBits > 2)
		if e.Case.Fault != None || long {
			continue
		}
		s, err := newSearch(e.Case)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(nil); err != nil {
			t.Fatal(err)
		}
		for _, n := range s.nodes[1:] {
			before := s.nodes[n.parent].state
			for _, at := range []place{head, tail} {
				old, now := s.value(&before, at).data, s.value(&n.state, at).data
				if now < old || int(now)%e.Case.StepsPerPost != 0 {
					t.Fatalf("%s: counter %d goes from %d to %d", e.Name(), at, old, now)
				}
			}
		}
	}
}

// A whole protocol ends with both sides at the same step, all messages through.
func TestBothSidesEndAtTheSameStep(t *testing.T) {
	for _, p := range allreduce.Protos() {
		for _, slots := range []int{2, 4} {
			e := entry(p, slots, None, -1)
			r, err := Explore(e.Case)
			if err != nil {
				t.Fatal(err)
			}
			n := len(e.Case.Lines)
			if end := r.Ends[0]; end.Sender != [2]int{n, n} || end.Receiver != [2]int{n, n} || end.Why != "both sides are through" {
				t.Errorf("%s: %v and %v steps, want %d: %s", e.Name(), end.Sender, end.Receiver, n, end.Why)
			}
		}
	}
}

// A case is read back from its JSON as it was, faults by name.
func TestCaseJSON(t *testing.T) {
	c := Case{Proto: allreduce.LL, Slots: 4, StepsPerPost: 1, Fault: NoCleaning, Lines: []int{2, 0}, FlagBits: 3}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"proto":"LL","slots":4,"stepsPerPost":1,"fault":"no-cleaning","lines":[2,0],"flagBits":3}`
	if string(b) != want {
		t.Errorf("%s\nwant %s", b, want)
	}
	var back Case
	if err := json.Unmarshal(b, &back); err != nil || back.Fault != NoCleaning || back.Proto != allreduce.LL || !slices.Equal(back.Lines, c.Lines) {
		t.Errorf("comes back as %+v: %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"fault":"rust"}`), &back); err == nil {
		t.Error("an unknown fault is read")
	}
}

// The limits of a case, on both sides of each.
func TestLimitsOfACase(t *testing.T) {
	ll := func(change func(*Case)) Case {
		c := Case{Proto: allreduce.LL, Slots: 4, StepsPerPost: 1, Lines: []int{1}}
		change(&c)
		return c
	}
	for i, c := range []struct {
		c  Case
		ok bool
	}{
		{ll(func(c *Case) { c.Lines = ones(maxMessages) }), true},
		{ll(func(c *Case) { c.Lines = ones(maxMessages + 1) }), false},
		{ll(func(c *Case) { c.FlagBits = 3 }), true},
		{ll(func(c *Case) { c.FlagBits = 7 }), true},
		{ll(func(c *Case) { c.FlagBits = 8 }), false},
		{ll(func(c *Case) { c.FlagBits = -1 }), false},
		{ll(func(c *Case) { c.Start = 3 }), true},
		{ll(func(c *Case) { c.Start = -1 }), false},
		{ll(func(c *Case) { c.Lines = []int{0} }), true},
		{ll(func(c *Case) { c.Lines = []int{-1} }), false},
		{ll(func(c *Case) { c.StepsPerPost = 0 }), false},
		{ll(func(c *Case) { c.Proto, c.StepsPerPost = allreduce.Simple, 2 }), true},
		{ll(func(c *Case) { c.Proto, c.StepsPerPost = allreduce.Simple, 3 }), false},
		{ll(func(c *Case) { c.Proto, c.Lines = allreduce.Simple, []int{2} }), false},
		{ll(func(c *Case) { c.Fault = numFaults }), false},
	} {
		if err := c.c.Validate(); (err == nil) != c.ok {
			t.Errorf("case %d, %+v: error %v", i, c.c, err)
		}
	}
	long := ll(func(c *Case) { c.Lines = ones(5) })
	if long.Short() || !ll(func(c *Case) { c.Lines = ones(4) }).Short() {
		t.Error("a FIFO of 4 slots takes 4 messages without credit, not 5")
	}
}
