package fifo

import (
	"fmt"
	"math/bits"

	"github.com/ringtopo/ringtopo/allreduce"
)

// The two sides of a connection.
const (
	sender = iota
	receiver
)

// maxStates bounds a search; every case that Validate accepts stays below, or
// ends with an error.
const maxStates = 20_000_000

// state is everything that the future of a run depends on. What memory holds
// follows from which stores are visible, as each place has one writer.
type state struct {
	visible [2]uint64 // per side, its stores that all can see
	pc      [2]uint8
	seen    uint8 // the receiver's register
}

// action is one transition: a side's next instruction (0, 1), or a store that
// becomes visible (2 + 64*side + index).
type action uint8

const firstStore = 2

// node is a state that was reached, and how.
type node struct {
	state
	parent int32
	by     action
}

type search struct {
	side  [2]program
	nodes []node // in the order in which they were reached
	index index
	found map[EndKind]*End
}

// Explore walks every interleaving of a case. Its error says what is impossible
// about the case.
func Explore(c Case) (*Result, error) {
	s, err := newSearch(c)
	if err != nil {
		return nil, fmt.Errorf("fifo model of %v: %w", c.Proto, err)
	}
	if err := s.run(nil); err != nil {
		return nil, fmt.Errorf("fifo model of %v: %w", c.Proto, err)
	}
	return s.result(c), nil
}

func newSearch(c Case) (*search, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	write := map[allreduce.Proto][2]func(Case, *builder){
		allreduce.Simple: {Case.simpleSender, Case.simpleReceiver},
		allreduce.LL:     {Case.llSender, Case.llReceiver},
		allreduce.LL128:  {Case.ll128Sender, Case.ll128Receiver},
	}[c.Proto]
	s := &search{index: newIndex(), found: map[EndKind]*End{}}
	for i := range write {
		var b builder
		write[i](c, &b)
		p, err := b.finish()
		if err != nil {
			return nil, err
		}
		s.side[i] = p
	}
	return s, nil
}

// run visits all states, nearest first, so that the first end of a kind has the
// shortest trace. visit, if any, sees each state.
func (s *search) run(visit func(state)) error {
	s.reach(state{}, -1, 0)
	for i := int32(0); int(i) < len(s.nodes); i++ {
		if len(s.nodes) > maxStates {
			return fmt.Errorf("more than %d states", maxStates)
		}
		st := s.nodes[i].state
		if visit != nil {
			visit(st)
		}
		moved := s.step(i, st, sender)
		moved = s.step(i, st, receiver) || moved
		moved = s.show(i, st, sender) || moved
		moved = s.show(i, st, receiver) || moved
		if !moved {
			s.stopped(i, st)
		}
	}
	return nil
}

func (s *search) reach(st state, parent int32, by action) {
	if s.index.add(st, s.nodes) {
		s.nodes = append(s.nodes, node{st, parent, by})
	}
}

// show makes each store of a side visible that may become so now.
func (s *search) show(at int32, st state, side int) bool {
	p := &s.side[side]
	moved := false
	for i, code := range p.stores {
		if code >= int(st.pc[side]) {
			break
		}
		if st.visible[side]>>i&1 == 1 || p.after[i]&^st.visible[side] != 0 {
			continue
		}
		next := st
		next.visible[side] |= 1 << i
		s.reach(next, at, action(firstStore+64*side+i))
		moved = true
	}
	return moved
}

// step runs a side's next instruction, unless that is blocked or there is none.
func (s *search) step(at int32, st state, side int) bool {
	p := &s.side[side]
	if int(st.pc[side]) == len(p.code) {
		return false
	}
	in := &p.code[st.pc[side]]
	next := st
	next.pc[side]++
	got := s.value(&st, in.at)
	switch in.kind {
	case awaitAtLeast:
		if got.data < in.want.data || in.order&^st.visible[side] != 0 {
			return false
		}
	case awaitFlag, loadFlagged:
		if got.flag != in.want.flag {
			return false
		}
	case fence:
		if !p.allVisible(&st, side) {
			return false
		}
	case peek:
		next.seen = got.data
	case use:
		got.data, next.seen = st.seen, 0
	case overrun:
		s.end(at, next, action(side), Overrun, 0)
		return true
	}
	if (in.kind == load || in.kind == loadFlagged || in.kind == use) && got.data != in.want.data {
		s.end(at, next, action(side), Corrupt, got.data)
		return true
	}
	s.reach(next, at, action(side))
	return true
}

// allVisible reports whether every store that a side has issued can be seen.
func (p *program) allVisible(st *state, side int) bool {
	seen := bits.OnesCount64(st.visible[side])
	return seen == len(p.stores) || p.stores[seen] >= int(st.pc[side])
}

// value is what a place holds: the last of its stores that is visible.
func (s *search) value(st *state, at place) value {
	side := sender
	if at == head {
		side = receiver
	}
	p := &s.side[side]
	v := st.visible[side] & p.to[at]
	if v == 0 {
		return value{}
	}
	return p.code[p.stores[63-bits.LeadingZeros64(v)]].want
}
