package schedule

import (
	"fmt"
	"slices"
)

// Check carries out rows of all ranks and says what is wrong with them: a
// message that is sent and not received or the other way round, that differs
// between its two ends, or an output that does not hold every rank's input once
// for every element. Elements are those of total consecutive ones from offset
// on.
func Check(r *Ring, rows []Row, offset, total int64) error {
	m := newMachine(r, rows)
	for !m.done() {
		if !m.turn() {
			return fmt.Errorf("nobody can go on: %s", m.waiting())
		}
	}
	if m.err != nil {
		return m.err
	}
	return m.outcome(offset, total)
}

// partial is a chunk under way: whose inputs are in it, in order.
type partial struct {
	row    Row
	inputs []Rank
}

// machine runs a schedule with a queue on every connection.
type machine struct {
	ring   *Ring
	todo   [][]Row     // of each rank
	wires  [][]partial // to each rank
	stored [][]partial // each rank's output
	err    error
}

func newMachine(r *Ring, rows []Row) *machine {
	m := &machine{ring: r, todo: make([][]Row, r.Len()), wires: make([][]partial, r.Len()), stored: make([][]partial, r.Len())}
	for _, row := range rows {
		m.todo[row.Rank] = append(m.todo[row.Rank], row)
	}
	return m
}

func (m *machine) done() bool {
	return m.err != nil || !slices.ContainsFunc(m.todo, func(rows []Row) bool { return len(rows) > 0 })
}

// turn lets every rank that can take one step.
func (m *machine) turn() (moved bool) {
	for rank := range m.todo {
		if len(m.todo[rank]) == 0 {
			continue
		}
		row := m.todo[rank][0]
		if row.Primitive.Receives() && len(m.wires[rank]) == 0 {
			continue
		}
		m.todo[rank] = m.todo[rank][1:]
		m.step(row)
		moved = true
	}
	return moved
}

func (m *machine) step(row Row) {
	data := partial{row: row}
	if row.Primitive.Receives() {
		got := m.wires[row.Rank][0]
		m.wires[row.Rank] = m.wires[row.Rank][1:]
		if s := got.row; s.Loop != row.Loop || s.Chunk != row.Chunk || s.Offset != row.Offset || s.Count != row.Count || s.Rank != row.From {
			m.err = fmt.Errorf("rank %d receives %+v, but %+v was sent", row.Rank, row, s)
		}
		data.inputs = got.inputs
	}
	if row.Primitive.Reduces() || row.Primitive == Send {
		data.inputs = append(slices.Clone(data.inputs), row.Rank)
	}
	if row.Primitive.Copies() {
		m.stored[row.Rank] = append(m.stored[row.Rank], data)
	}
	if row.Primitive.Sends() {
		m.wires[row.To] = append(m.wires[row.To], data)
	}
}

func (m *machine) waiting() string {
	var s string
	for rank, rows := range m.todo {
		if len(rows) > 0 {
			s += fmt.Sprintf("rank %d waits for rank %d with chunk %d; ", rank, rows[0].From, rows[0].Chunk)
		}
	}
	return s
}

// outcome looks at what every rank holds in the end.
func (m *machine) outcome(offset, total int64) error {
	for rank, stored := range m.stored {
		if len(m.wires[rank]) > 0 {
			return fmt.Errorf("%d messages to rank %d are never received", len(m.wires[rank]), rank)
		}
		slices.SortFunc(stored, func(a, b partial) int { return int(a.row.Offset - b.row.Offset) })
		at := offset
		for _, s := range stored {
			if s.row.Count == 0 {
				continue
			}
			if s.row.Offset != at {
				return fmt.Errorf("rank %d: output has a hole or an overlap at element %d: next chunk begins at %d", rank, at, s.row.Offset)
			}
			at += s.row.Count
			if want := FoldOrder(m.ring, s.row.Chunk); !slices.Equal(s.inputs, want) {
				return fmt.Errorf("rank %d chunk %d: adds inputs of ranks %v, want %v", rank, s.row.Chunk, s.inputs, want)
			}
		}
		if at != offset+total {
			return fmt.Errorf("rank %d: output ends at element %d, want %d", rank, at, offset+total)
		}
	}
	return nil
}

// FoldOrder is the order in which a chunk's inputs are added: from the rank
// after its owner round to the owner.
func FoldOrder(r *Ring, c Chunk) []Rank {
	order := make([]Rank, r.Len())
	for i := range order {
		order[i] = r.At(Position((int(c) + 1 + i) % r.Len()))
	}
	return order
}
