package fifo

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
)

// machine runs two programs naively: memory and store buffers are what they
// are called. It shares nothing with the search but the programs.
type machine struct {
	code    [2][]instr
	pc      [2]int
	memory  [64]value
	pending [2][]pendingStore
	seen    uint8
}

type pendingStore struct {
	n      int // number of the store in its program
	at     place
	v      value
	behind uint64 // numbers of stores that must go first
}

func newMachine(t *testing.T, c Case) *machine {
	t.Helper()
	s, err := newSearch(c)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{code: [2][]instr{s.side[0].code, s.side[1].code}}
}

// moves lists what can happen next; each move returns how the run ends, if so.
func (m *machine) moves() []func() EndKind {
	var moves []func() EndKind
	for side := range m.code {
		if m.ready(side) {
			moves = append(moves, func() EndKind { return m.step(side) })
		}
		for i, p := range m.pending[side] {
			if m.mayShow(side, i) {
				moves = append(moves, func() EndKind {
					m.memory[p.at] = p.v
					m.pending[side] = slices.Delete(m.pending[side], i, i+1)
					return ""
				})
			}
		}
	}
	return moves
}

func (m *machine) mayShow(side, i int) bool {
	p := m.pending[side][i]
	return !slices.ContainsFunc(m.pending[side][:i], func(q pendingStore) bool {
		return q.at == p.at || p.behind>>q.n&1 == 1
	})
}

func (m *machine) ready(side int) bool {
	if m.pc[side] == len(m.code[side]) {
		return false
	}
	in := m.code[side][m.pc[side]]
	switch in.kind {
	case awaitAtLeast:
		unseen := slices.ContainsFunc(m.pending[side], func(q pendingStore) bool { return in.order>>q.n&1 == 1 })
		return m.memory[in.at].data >= in.want.data && !unseen
	case awaitFlag, loadFlagged:
		return m.memory[in.at].flag == in.want.flag
	case fence:
		return len(m.pending[side]) == 0
	}
	return true
}

func (m *machine) step(side int) EndKind {
	in := m.code[side][m.pc[side]]
	got := m.memory[in.at].data
	switch in.kind {
	case store:
		n := 0
		for _, before := range m.code[side][:m.pc[side]] {
			if before.kind == store {
				n++
			}
		}
		m.pending[side] = append(m.pending[side], pendingStore{n, in.at, in.want, in.order})
	case peek:
		m.seen = got
	case overrun:
		return Overrun
	case load, loadFlagged, use:
		if in.kind == use {
			got = m.seen
		}
		if got != in.want.data {
			return Corrupt
		}
	}
	m.pc[side]++
	return ""
}

// run makes random moves until the end.
func (m *machine) run(r *rand.Rand) EndKind {
	for {
		moves := m.moves()
		if len(moves) == 0 {
			break
		}
		if end := moves[r.IntN(len(moves))](); end != "" {
			return end
		}
	}
	if m.pc[0] == len(m.code[0]) && m.pc[1] == len(m.code[1]) {
		return Finished
	}
	return Stuck
}

// Random runs end only as the search says, and one of the ends is seen.
func TestRandomRunsAgreeWithTheSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range Matrix() {
		seen := map[EndKind]bool{}
		for range 200 {
			seen[newMachine(t, e.Case).run(r)] = true
		}
		for kind := range seen {
			if !slices.Contains(e.Want, kind) {
				t.Errorf("%s: a random run ends %s, the search says %v", e.Name(), kind, e.Want)
			}
		}
	}
}

// The invariants of a whole protocol hold in every state:
// head <= R <= tail <= S <= head + slots, without tail for LL and LL128. (An
// empty slice of those is received without waiting, and a step can be received
// while its unused lines are still being cleaned: there R may pass S.)
func TestInvariants(t *testing.T) {
	for _, e := range Matrix() {
		if e.Case.Fault != None || e.Case.Slots == 8 || e.Case.Start > 0 || e.Case.FlagBits > 0 {
			continue
		}
		if e.Case.Proto != allreduce.Simple {
			e.Case.Lines = ones(len(e.Case.Lines))
		}
		s, err := newSearch(e.Case)
		if err != nil {
			t.Fatal(err)
		}
		err = s.run(func(st state) {
			sent, got := s.done(st, sender), s.done(st, receiver)
			h, tl := int(s.value(&st, head).data), int(s.value(&st, tail).data)
			if e.Case.Proto != allreduce.Simple {
				tl = sent
			}
			if h > got || got > tl || tl > sent || sent > h+e.Case.Slots {
				t.Fatalf("%s: head %d, received %d, tail %d, sent %d", e.Name(), h, got, tl, sent)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestShortestTrace(t *testing.T) {
	r, err := Explore(entry(allreduce.Simple, 2, NoFence, -1).Case)
	if err != nil {
		t.Fatal(err)
	}
	end := r.Ends[slices.Index(r.Kinds(), Corrupt)]
	var got strings.Builder
	for _, ev := range end.Trace {
		got.WriteString(ev.Who + " " + ev.Does + "\n")
	}
	const want = `sender has credit: head >= 0
sender stores word 0 of slot 0 := message 0
sender stores word 1 of slot 0 := message 0
sender stores tail := 1
memory shows tail := 1
receiver sees tail >= 1
receiver loads word 0 of slot 0 for message 0
`
	if got.String() != want {
		t.Errorf("trace\n%swant\n%s", got.String(), want)
	}
	if end.Why != "receiver reads memory never written in place of message 0" {
		t.Errorf("why: %s", end.Why)
	}
}

func TestImpossibleCases(t *testing.T) {
	good := Case{Proto: allreduce.LL, Slots: 4, StepsPerPost: 1, Lines: []int{1, 2}}
	if _, err := Explore(good); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Case){
		"slots":          func(c *Case) { c.Slots = 3 },
		"steps per post": func(c *Case) { c.StepsPerPost = 2 },
		"messages":       func(c *Case) { c.Lines = nil },
		"message 1":      func(c *Case) { c.Lines = []int{1, 3} },
		"start":          func(c *Case) { c.Start = 4 },
		"flag bits":      func(c *Case) { c.FlagBits = 2 },
		"no-fence":       func(c *Case) { c.Fault = NoFence },
		"too long":       func(c *Case) { c.Lines = slices.Repeat([]int{2}, 20) },
	} {
		c := good
		spoil(&c)
		if _, err := Explore(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func TestFaultNames(t *testing.T) {
	for f := range numFaults {
		b, _ := f.MarshalText()
		var back Fault
		if err := back.UnmarshalText(b); err != nil || back != f || f.Text() == "" {
			t.Errorf("%v comes back as %v: %v", f, back, err)
		}
	}
	if err := new(Fault).UnmarshalText([]byte("rust")); err == nil {
		t.Error("an unknown fault is read")
	}
	if got := numFaults.String(); got != "Fault(21)" {
		t.Errorf("past the last: %s", got)
	}
}

func BenchmarkExplore(b *testing.B) {
	c := entry(allreduce.LL, 8, None, -1).Case
	for b.Loop() {
		if _, err := Explore(c); err != nil {
			b.Fatal(err)
		}
	}
}
