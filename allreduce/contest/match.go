package contest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Entry is one way to do the AllReduce of a match.
type Entry struct {
	Name   string
	Player Player
	Plan   *allreduce.Plan
	// Memory is whose buffers it works on; nil: its player's. Entries on the
	// same memory share the buffers.
	Memory Player
	// Loose says that it is somebody else's: the order of its additions is its
	// own, so that the bits of averages over other than a power of two of ranks
	// cannot be told; and should it give wrong bits, that is counted and no error.
	Loose bool
}

func (e *Entry) memory() Player {
	if e.Memory != nil {
		return e.Memory
	}
	return e.Player
}

// Rules are how carefully a match is played.
type Rules struct {
	Rounds int // that count; one more warms up
	// Turn is about how long one turn of an entry should take; Launches is the
	// most launches in it.
	Turn     time.Duration
	Launches int
	// Cut, above 0, sends home who is slower than Cut times the fastest when
	// warm.
	Cut float64
	// CPU is the processor time that this process has used; nil: not asked.
	CPU func() time.Duration
}

// DefaultRules are those of comparisons that are to be published.
func DefaultRules() Rules { return Rules{Rounds: 5, Turn: 5 * time.Millisecond, Launches: 100} }

// callsPerLaunch are captured in one graph.
const callsPerLaunch = 10

// Match is one message, and who does it.
type Match struct {
	Entries []Entry
	InPlace bool
	Hows    []How
	Rules   Rules
}

// Sample is one turn of an entry; times are microseconds of one call.
type Sample struct {
	Device float64 `json:"us"`
	Host   float64 `json:"hostUs"`
	CPU    float64 `json:"cpuUs"` // of all threads; 0: not asked
}

// Series are the turns of an entry, one for each round.
type Series struct {
	Name    string   `json:"name"`
	Samples []Sample `json:"samples"`
	// Cut says that it was sent home after warming up, which is its sample.
	Cut bool `json:"cut,omitempty"`
	// Wrong is how many elements were wrong when it was checked.
	Wrong int64 `json:"wrong"`
	// Unchecked says that its bits are not known and were not compared.
	Unchecked bool `json:"unchecked,omitempty"`
}

// Outcome are the series of all entries, in their order.
type Outcome struct {
	How    How
	Series []Series
}

// Play lets all entries take turns for every way of calling, and checks what
// they give before the first and after the last. Wrong bits are a *WrongError;
// those of a loose entry are counted in its series.
func (m *Match) Play(ctx context.Context) (list []Outcome, err error) {
	s, err := m.stage()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.warm(ctx); err != nil {
		return nil, err
	}
	for i, how := range m.Hows {
		o, err := m.rounds(ctx, s, how, i == 0, i == len(m.Hows)-1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", how, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// rounds are the rounds of one way of calling, with a check before and after.
func (m *Match) rounds(ctx context.Context, s *stage, how How, before, after bool) (o Outcome, err error) {
	t := table{match: m, stage: s, how: how}
	defer func() { err = errors.Join(err, t.close()) }()
	for i := range m.Entries {
		r, err := s.ready(i, how)
		if err != nil {
			return o, fmt.Errorf("%s: %w", m.Entries[i].Name, err)
		}
		t.replays = append(t.replays, r)
		t.series = append(t.series, Series{Name: m.Entries[i].Name, Unchecked: !s.known(i)})
	}
	if before {
		if err := t.check(ctx, "before the rounds"); err != nil {
			return o, err
		}
	}
	launches, err := t.warm(ctx)
	if err != nil {
		return o, err
	}
	for round := range m.Rules.Rounds {
		if err := t.round(ctx, round, launches); err != nil {
			return o, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	if after {
		if err := t.check(ctx, "after the rounds"); err != nil {
			return o, err
		}
	}
	return Outcome{How: how, Series: t.series}, nil
}

// table is where the turns of one way of calling are written down.
type table struct {
	match   *Match
	stage   *stage
	how     How
	series  []Series
	replays []Replay
}

// check looks at the bits of everybody who was not sent home.
func (t *table) check(ctx context.Context, when string) error {
	for i := range t.replays {
		if t.series[i].Cut {
			continue
		}
		wrong, err := t.stage.check(ctx, i, t.replays[i], when)
		if err != nil {
			return err
		}
		t.series[i].Wrong = max(t.series[i].Wrong, wrong)
	}
	return nil
}

// warm has everybody play once and finds the number of launches in a turn.
func (t *table) warm(ctx context.Context) (launches int, err error) {
	paces := make([]float64, len(t.replays))
	fastest, slowest := 0.0, 0.0
	for i := range t.replays {
		first, err := t.turn(ctx, i, 1) // with what a driver does only once
		if err != nil {
			return 0, err
		}
		n := t.match.Rules.launches(first.Device)
		s, err := t.turn(ctx, i, n)
		if err != nil {
			return 0, err
		}
		paces[i], t.series[i].Samples = s.Device, []Sample{s}
		if i == 0 || s.Device < fastest {
			fastest = s.Device
		}
	}
	for i, p := range paces {
		if c := t.match.Rules.Cut; c > 0 && p > c*fastest {
			t.series[i].Cut = true
			continue
		}
		t.series[i].Samples = nil
		slowest = max(slowest, p)
	}
	return t.match.Rules.launches(slowest), nil
}

// launches that make a turn, when a call takes us microseconds.
func (r *Rules) launches(us float64) int {
	turn := float64(r.Turn.Nanoseconds()) / 1e3
	return int(min(max(1, turn/max(us*callsPerLaunch, 1e-3)), float64(max(r.Launches, 1))))
}

// round has everybody take a turn, every other round backwards.
func (t *table) round(ctx context.Context, round, launches int) error {
	for i := range t.replays {
		if round%2 == 1 {
			i = len(t.replays) - 1 - i
		}
		if t.series[i].Cut {
			continue
		}
		s, err := t.turn(ctx, i, launches)
		if err != nil {
			return err
		}
		t.series[i].Samples = append(t.series[i].Samples, s)
	}
	return nil
}

func (t *table) turn(ctx context.Context, i, launches int) (Sample, error) {
	if err := ctx.Err(); err != nil {
		return Sample{}, err
	}
	cpu := t.match.Rules.CPU
	if cpu == nil {
		cpu = func() time.Duration { return 0 }
	}
	used := cpu()
	p, err := t.replays[i].Run(ctx, launches)
	if err != nil {
		return Sample{}, fmt.Errorf("%s: %w", t.series[i].Name, err)
	}
	used = (cpu() - used) / time.Duration(launches*callsPerLaunch)
	return Sample{us(p.Device), us(p.Host), us(used)}, nil
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func (t *table) close() error {
	var errs []error
	for _, r := range t.replays {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
