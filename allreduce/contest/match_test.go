package contest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/host"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// scripted plays on the CPU, so that bits are real, and takes the times that a
// test wants.
type scripted struct {
	allreduce.Executor
	name       string
	pace       contest.Pace
	log        *[]string // of turns, shared
	lie        bool      // does nothing when replayed
	breakAfter int       // turns after which replays damage the output; 0: never
	fail       error     // of a turn
	failReady  error
	registered int
	open       int
}

func (s *scripted) Ready(p *allreduce.Plan, args []allreduce.Args, calls int, how contest.How) (contest.Replay, error) {
	if s.failReady != nil {
		return nil, s.failReady
	}
	s.open++
	return &scriptedReplay{s: s, plan: p, args: args, how: how}, nil
}

type scriptedReplay struct {
	s     *scripted
	plan  *allreduce.Plan
	args  []allreduce.Args
	how   contest.How
	turns int
}

func (r *scriptedReplay) Run(ctx context.Context, n int) (contest.Pace, error) {
	r.turns++
	*r.s.log = append(*r.s.log, fmt.Sprintf("%s %s %d", r.s.name, r.how, n))
	if r.s.fail != nil {
		return contest.Pace{}, r.s.fail
	}
	if !r.s.lie {
		if _, err := r.s.Run(ctx, r.plan, r.args); err != nil {
			return contest.Pace{}, err
		}
	}
	if r.s.breakAfter > 0 && r.turns > r.s.breakAfter {
		if err := r.args[0].Recv[0].Buf.Write([]byte{1}, r.args[0].Recv[0].Off); err != nil {
			return contest.Pace{}, err
		}
	}
	return r.s.pace, nil
}

func (r *scriptedReplay) Close() error { r.s.open--; return nil }

// windowed must know its buffers.
type windowed struct{ *scripted }

func (w windowed) Register(list []allreduce.Buffer) error {
	for r, b := range list {
		if b.Rank() != r {
			return fmt.Errorf("buffer %d is rank %d's", r, b.Rank())
		}
	}
	w.registered += len(list)
	return nil
}

func planner(t *testing.T, ranks int) *plan.Planner {
	t.Helper()
	l := &allreduce.Layout{NRanks: ranks, BuffSize: allreduce.DefaultBuffSize()}
	order := make([]int, ranks)
	for i := range order {
		order[i] = i
	}
	l.Rings = append(l.Rings, order)
	p, err := plan.New(plan.Nominal(l), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func executor(t *testing.T, pl *plan.Planner) allreduce.Executor {
	t.Helper()
	ex, err := host.New(pl.Layout(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	})
	return ex
}

func planOne(t *testing.T, p *plan.Planner, task plan.Task, a allreduce.Algo) *allreduce.Plan {
	t.Helper()
	proto := allreduce.Simple
	launches, err := p.Plan([]plan.Task{task}, plan.Force{Algo: &a, Proto: &proto})
	if err != nil {
		t.Fatal(err)
	}
	return launches[0].Plan
}

// three are ours and NCCL's two, of which one has memory of its own.
func three(t *testing.T, log *[]string) (players []*scripted, m *contest.Match) {
	t.Helper()
	pl := planner(t, 2)
	shared, own := executor(t, pl), executor(t, pl)
	p := planOne(t, pl, plan.Task{Count: 1003, DType: allreduce.Float32}, allreduce.TwoShot)
	ours := &scripted{Executor: shared, name: contest.Ours, log: log, pace: contest.Pace{Device: 4 * time.Microsecond, Host: time.Microsecond}}
	plain := &scripted{Executor: shared, name: contest.Plain, log: log, pace: contest.Pace{Device: 8 * time.Microsecond, Host: 2 * time.Microsecond}}
	symmetric := &scripted{Executor: own, name: contest.Symmetric, log: log, pace: contest.Pace{Device: 6 * time.Microsecond, Host: 3 * time.Microsecond}}
	m = &contest.Match{Hows: []contest.How{contest.Graph}, Rules: contest.Rules{Rounds: 5, Turn: 400 * time.Microsecond, Launches: 100}}
	m.Entries = []contest.Entry{
		{Name: contest.Ours, Player: ours, Plan: p},
		{Name: contest.Plain, Player: plain, Plan: p, Memory: ours, Loose: true},
		{Name: contest.Symmetric, Player: windowed{symmetric}, Plan: p, Loose: true},
	}
	return []*scripted{ours, plain, symmetric}, m
}

func play(t *testing.T, m *contest.Match) []contest.Outcome {
	t.Helper()
	list, err := m.Play(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Everybody takes a turn in every round, every other round backwards, with the
// same number of launches; checks and warm turns do not count.
func TestRoundsInChangingOrder(t *testing.T) {
	var log []string
	players, m := three(t, &log)
	m.Hows = []contest.How{contest.Graph, contest.Stream}
	list := play(t, m)
	if len(list) != 2 || list[0].How != contest.Graph || list[1].How != contest.Stream {
		t.Fatalf("outcomes %+v", list)
	}
	// Of 8 us a call, ten calls a launch, 5 launches make 400 us.
	forth := []string{"ours graph 5", "plain graph 5", "symmetric graph 5"}
	back := []string{"symmetric graph 5", "plain graph 5", "ours graph 5"}
	begin := 3 + 2*3 // a check of each, then warm with one launch and with many
	if got := log[begin:][:15]; !slices.Equal(got, slices.Concat(forth, back, forth, back, forth)) {
		t.Errorf("turns %q", got)
	}
	if checks := []string{"ours graph 1", "plain graph 1", "symmetric graph 1"}; !slices.Equal(log[:3], checks) {
		t.Errorf("checked first by %q", log[:3])
	}
	if checks := []string{"ours stream 1", "plain stream 1", "symmetric stream 1"}; !slices.Equal(log[len(log)-3:], checks) {
		t.Errorf("checked last by %q", log[len(log)-3:])
	}
	for _, o := range list {
		for i, s := range o.Series {
			if len(s.Samples) != 5 || s.Name != players[i].name || s.Unchecked || s.Cut {
				t.Errorf("%s: series %+v", o.How, s)
			}
			if got, want := s.Median(), float64(players[i].pace.Device.Nanoseconds())/1e3; got != want {
				t.Errorf("%s: median %v, want %v", s.Name, got, want)
			}
		}
	}
	for _, p := range players {
		if p.open != 0 {
			t.Errorf("%s: %d replays were left open", p.name, p.open)
		}
	}
	if n := players[2].registered; n != 4 {
		t.Errorf("%d buffers were registered, want 2 of each rank", n)
	}
}

// In place there is one buffer a rank, and it is checked by single runs.
func TestInPlace(t *testing.T) {
	var log []string
	players, m := three(t, &log)
	m.InPlace = true
	play(t, m)
	if n := players[2].registered; n != 2 {
		t.Errorf("%d buffers were registered, want 1 of each rank", n)
	}
	if len(log) != 6+15 {
		t.Errorf("%d turns: a check in place must not sum again and again", len(log))
	}
}

// The processor time of a turn is shared among its calls.
func TestProcessorTime(t *testing.T) {
	var log []string
	_, m := three(t, &log)
	used := time.Duration(0)
	m.Rules.CPU = func() time.Duration { used += 500 * time.Microsecond; return used }
	for _, s := range play(t, m)[0].Series {
		for _, x := range s.Samples {
			if x.CPU != 10 { // 500 us for 5 launches of 10 calls
				t.Errorf("%s: %v us of processor time a call, want 10", s.Name, x.CPU)
			}
		}
	}
}

// Wrong bits end a match, whenever they come and whose they are.
func TestWrongBits(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(p []*scripted)
		entry  string
		when   string
	}{
		"ours does nothing":      {func(p []*scripted) { p[0].lie = true }, contest.Ours, "before"},
		"ours breaks later":      {func(p []*scripted) { p[0].breakAfter = 4 }, contest.Ours, "after"},
		"symmetric does nothing": {func(p []*scripted) { p[2].lie = true }, contest.Symmetric, "before"},
		"symmetric breaks later": {func(p []*scripted) { p[2].breakAfter = 4 }, contest.Symmetric, "after"},
	} {
		var log []string
		players, m := three(t, &log)
		m.Entries[2].Loose = false
		c.damage(players)
		_, err := m.Play(context.Background())
		var wrong *contest.WrongError
		if !errors.As(err, &wrong) || wrong.Entry != c.entry || !strings.HasPrefix(wrong.When, c.when) || wrong.Result.Wrong == 0 {
			t.Errorf("%s: error %v", name, err)
		}
		for _, p := range players {
			if p.open != 0 {
				t.Errorf("%s: %d replays of %s were left open", name, p.open, p.name)
			}
		}
	}
}

// Wrong bits of others are counted; the match goes on.
func TestWrongBitsOfOthers(t *testing.T) {
	for name, damage := range map[string]func(p *scripted){
		"does nothing": func(p *scripted) { p.lie = true },
		"breaks later": func(p *scripted) { p.breakAfter = 4 },
	} {
		var log []string
		players, m := three(t, &log)
		damage(players[1])
		s := play(t, m)[0].Series
		if s[0].Wrong != 0 || s[1].Wrong == 0 || s[2].Wrong != 0 || len(s[1].Samples) != 5 {
			t.Errorf("plain %s: series %+v", name, s)
		}
		r := contest.Report{Results: []contest.Result{{Bytes: 1, Series: s}, {Bytes: 2, Series: s[2:]}}}
		if w := r.Wrong(); len(w) != 1 || w[0].Bytes != 1 {
			t.Errorf("plain %s: wrong results %+v", name, w)
		}
	}
}

// Who is much slower than the fastest when warm takes no further turn.
func TestCut(t *testing.T) {
	var log []string
	_, m := three(t, &log)
	m.Rules.Cut = 1.6
	o := play(t, m)[0]
	if o.Series[0].Cut || !o.Series[1].Cut || o.Series[2].Cut {
		t.Errorf("series %+v, want plain alone sent home", o.Series)
	}
	if s := o.Series[1].Samples; len(s) != 1 || s[0].Device != 8 {
		t.Errorf("samples %+v, want the warm one", s)
	}
	// Turns are then as long as the slowest that is left allows, and who was sent
	// home is not checked again.
	if last := log[len(log)-3:]; !slices.Equal(last, []string{"symmetric graph 6", "ours graph 1", "symmetric graph 1"}) {
		t.Errorf("last turns %q", last)
	}
}

func TestFailuresNameTheEntry(t *testing.T) {
	broken := errors.New("the wire is cut")
	for name, damage := range map[string]func(p []*scripted){
		contest.Plain:     func(p []*scripted) { p[1].fail = broken },
		contest.Symmetric: func(p []*scripted) { p[2].failReady = broken },
	} {
		var log []string
		players, m := three(t, &log)
		damage(players)
		if _, err := m.Play(context.Background()); !errors.Is(err, broken) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var log []string
	_, m := three(t, &log)
	if _, err := m.Play(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Entries with plans of their own and the CPU's real times: several ranks, every
// type and operation, on shared buffers.
func TestEveryWorkIsChecked(t *testing.T) {
	for _, ranks := range []int{2, 3, 4} {
		pl := planner(t, ranks)
		ex := executor(t, pl)
		for _, d := range allreduce.DTypes() {
			for _, op := range allreduce.Ops() {
				player := contest.ByRuns(ex)
				m := &contest.Match{Hows: []contest.How{contest.Runs}, InPlace: int(d)%2 == 0, Rules: contest.Rules{Rounds: 1, Launches: 1}}
				for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.OneShot, allreduce.TwoShot} {
					m.Entries = append(m.Entries, contest.Entry{Name: a.String(), Player: player,
						Plan: planOne(t, pl, plan.Task{Count: 515, DType: d, Op: op}, a)})
				}
				o, err := m.Play(context.Background())
				if err != nil {
					t.Fatalf("%d ranks, %s %s: %v", ranks, d, op, err)
				}
				for i, s := range o[0].Series {
					unknown := i > 0 && ranks == 3 && op == allreduce.Avg && d.IsFloat()
					if s.Unchecked != unknown || s.Median() <= 0 {
						t.Errorf("%d ranks, %s %s: %+v", ranks, d, op, s)
					}
				}
			}
		}
	}
}
