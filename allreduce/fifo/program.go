package fifo

import "fmt"

// value is what one place in memory holds. Counters use data only; a half line
// of LL carries both at once.
type value struct{ data, flag uint8 }

// place is an index of memory: what becomes visible as one.
type place uint8

const (
	head place = iota
	tail
	cells // the slots, from here on
)

// kind is what an instruction does.
type kind uint8

const (
	awaitAtLeast kind = iota // blocks until data >= want.data
	awaitFlag                // blocks until flag == want.flag
	load                     // reads; data other than want.data is corruption
	loadFlagged              // blocks until flag == want.flag, and reads in the same access
	peek                     // reads into a register, to be used later
	use                      // data other than want.data in the register is corruption
	store                    // becomes visible some time later
	fence                    // blocks until every earlier store is visible
	overrun                  // touches memory behind the last slot
)

// instr is one instruction of a side's program.
type instr struct {
	kind  kind
	at    place
	want  value
	order uint64 // of a store or an await: earlier stores of this side that become visible first
	done  int    // steps that this side had completed before
	text  string
}

// program is what one side runs, from first to last.
type program struct {
	code   []instr
	stores []int      // index in code of each store
	after  []uint64   // per store: the stores that must be visible before it
	to     [64]uint64 // per place: the stores that write it
	steps  int        // steps completed at the end
}

// builder writes one side's program.
type builder struct {
	program
	done int
}

// maxStores is what the set of visible stores of one side can hold.
const maxStores = 64

func (b *builder) emit(in instr) {
	in.done = b.done
	if in.kind == store {
		i := len(b.stores)
		b.after = append(b.after, b.to[in.at]|in.order)
		b.to[in.at] |= 1 << i
		b.stores = append(b.stores, len(b.code))
	}
	b.code = append(b.code, in)
}

func (b *builder) await(at place, least int, format string, args ...any) {
	b.emit(instr{kind: awaitAtLeast, at: at, want: value{data: uint8(max(least, 0))}, text: fmt.Sprintf(format, args...)})
}

func (b *builder) store(at place, v value, format string, args ...any) {
	b.emit(instr{kind: store, at: at, want: v, text: fmt.Sprintf(format, args...)})
}

func (b *builder) publish(at place, steps int) {
	name := "tail"
	if at == head {
		name = "head"
	}
	b.store(at, value{data: uint8(steps)}, "%s := %d", name, steps)
}

func (b *builder) load(k kind, at place, v value, format string, args ...any) {
	b.emit(instr{kind: k, at: at, want: v, text: fmt.Sprintf(format, args...)})
}

func (b *builder) fence() { b.emit(instr{kind: fence, text: "fence"}) }

func (b *builder) finish() (program, error) {
	b.steps = b.done
	if len(b.stores) > maxStores || len(b.code) > 255 {
		return program{}, fmt.Errorf("case too long: %d stores of one side, at most %d", len(b.stores), maxStores)
	}
	return b.program, nil
}

// message i of a case is the data i+1: 0 is memory never written.
func message(i int) uint8 { return uint8(i + 1) }
