package fifo

import (
	"fmt"
	"slices"
	"strings"
)

// stopped records the end of a run in which nothing can move any more.
func (s *search) stopped(at int32, st state) {
	kind := Finished
	for side := range s.side {
		if int(st.pc[side]) < len(s.side[side].code) {
			kind = Stuck
		}
	}
	n := s.nodes[at]
	s.end(n.parent, st, n.by, kind, 0)
}

// end records that st, reached from parent, ends a run.
func (s *search) end(parent int32, st state, by action, kind EndKind, found uint8) {
	done := [2]int{s.done(st, sender), s.done(st, receiver)}
	e := s.found[kind]
	if e == nil {
		e = &End{Kind: kind, Trace: []Event{}, Sender: [2]int{done[0], done[0]}, Receiver: [2]int{done[1], done[1]}}
		if parent >= 0 { // else nothing could move from the beginning
			e.Trace = append(s.trace(parent), s.event(by, s.nodes[parent].state))
		}
		e.Why = s.why(st, by, kind, found)
		s.found[kind] = e
	}
	e.Runs++
	e.Sender = [2]int{min(e.Sender[0], done[0]), max(e.Sender[1], done[0])}
	e.Receiver = [2]int{min(e.Receiver[0], done[1]), max(e.Receiver[1], done[1])}
}

// done is how many steps a side has completed.
func (s *search) done(st state, side int) int {
	p := &s.side[side]
	if int(st.pc[side]) == len(p.code) {
		return p.steps
	}
	return p.code[st.pc[side]].done
}

// trace is the way to a node.
func (s *search) trace(i int32) []Event {
	var events []Event
	for ; i > 0; i = s.nodes[i].parent {
		events = append(events, s.event(s.nodes[i].by, s.nodes[s.nodes[i].parent].state))
	}
	slices.Reverse(events)
	return events
}

var sideNames = [2]string{"sender", "receiver"}

// event puts an action from a state into words.
func (s *search) event(by action, from state) Event {
	if by >= firstStore {
		side, i := int(by-firstStore)/64, int(by-firstStore)%64
		p := &s.side[side]
		return Event{"memory", "shows " + p.code[p.stores[i]].text}
	}
	in := &s.side[by].code[from.pc[by]]
	if in.kind == store {
		return Event{sideNames[by], "stores " + in.text}
	}
	return Event{sideNames[by], in.text}
}

func (s *search) why(st state, by action, kind EndKind, found uint8) string {
	switch kind {
	case Stuck:
		var waits []string
		for side := range s.side {
			if p := &s.side[side]; int(st.pc[side]) < len(p.code) {
				in := &p.code[st.pc[side]]
				waits = append(waits, fmt.Sprintf("%s waits after %d steps: %s, it is %s",
					sideNames[side], in.done, in.text, s.value(&st, in.at).of(in.kind)))
			}
		}
		return strings.Join(waits, "; ")
	case Corrupt:
		in := &s.side[by].code[st.pc[by]-1]
		what := "memory never written"
		if found != 0 {
			what = fmt.Sprintf("message %d", found-1)
		}
		return fmt.Sprintf("%s reads %s in place of message %d", sideNames[by], what, in.want.data-1)
	case Overrun:
		return sideNames[by] + " " + s.side[by].code[st.pc[by]-1].text
	}
	return "both sides are through"
}

// of names the part of a value that an instruction waits for.
func (v value) of(k kind) string {
	if k == awaitAtLeast {
		return fmt.Sprint(v.data)
	}
	return fmt.Sprintf("flag %d", v.flag)
}

// result puts the ends in order.
func (s *search) result(c Case) *Result {
	r := &Result{Case: c, States: len(s.nodes)}
	for _, kind := range []EndKind{Finished, Stuck, Corrupt, Overrun} {
		if e := s.found[kind]; e != nil {
			r.Ends = append(r.Ends, *e)
		}
	}
	return r
}
