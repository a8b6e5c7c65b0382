package bench_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// fakeMachine times settings by a formula and writes down what it was asked.
type fakeMachine struct {
	time   func(s bench.Setting, run int) time.Duration
	opened []bench.Setting
	open   int
	skip   func(s bench.Setting) string
	stop   func() // called after every run
}

func (f *fakeMachine) Open(_ context.Context, s bench.Setting) (bench.Session, error) {
	if f.skip != nil {
		if why := f.skip(s); why != "" {
			return nil, &bench.SkipError{Reason: why}
		}
	}
	f.opened = append(f.opened, s)
	f.open++
	return &fakeSession{f: f, s: s}, nil
}

func (f *fakeMachine) Estimate(s bench.Setting) time.Duration { return f.time(s, 0) }

type fakeSession struct {
	f   *fakeMachine
	s   bench.Setting
	run int
}

func (s *fakeSession) Run(context.Context) (time.Duration, error) {
	s.run++
	if s.f.stop != nil {
		s.f.stop()
	}
	return s.f.time(s.s, s.run), nil
}

func (s *fakeSession) Ran() bench.Ran {
	return bench.Ran{Algo: s.s.Algo, Proto: s.s.Proto, Channels: s.s.Channels, Threads: s.s.Threads}
}

func (s *fakeSession) Close() error { s.f.open--; return nil }

func recipe(t *testing.T, text string) *bench.Recipe {
	t.Helper()
	r, err := bench.ReadRecipe(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, m *fakeMachine, r *bench.Recipe) *bench.Result {
	t.Helper()
	res := &bench.Result{Schema: bench.Schema, Recipe: r}
	if err := bench.Run(context.Background(), m, res, nil); err != nil {
		t.Fatal(err)
	}
	if m.open != 0 {
		t.Errorf("%d sessions were left open", m.open)
	}
	return res
}

// channelsTime is twice as fast with every doubling of channels.
func channelsTime(s bench.Setting, _ int) time.Duration {
	return time.Duration(1e6/max(s.Channels, 1)) * time.Nanosecond
}

func TestEverySettingInBothOrders(t *testing.T) {
	m := &fakeMachine{time: channelsTime}
	r := recipe(t, `
baseline: {channels: "1"}
vary: {channels: ["1", "2", "4"], bytes: [4KiB]}
warmup: 2
cycles: 2
iterations: 3
`)
	res := run(t, m, r)
	if len(res.Points) != 4 {
		t.Fatalf("%d settings, want the baseline, two channel counts and one size: %v", len(res.Points), res.Points)
	}
	back := slices.Clone(m.opened[4:])
	slices.Reverse(back)
	if !slices.Equal(m.opened[:4], back) {
		t.Errorf("the second pass is not the first backwards:\n%v\n%v", m.opened[:4], m.opened[4:])
	}
	for _, p := range res.Points {
		if len(p.Passes) != 2 || len(p.Passes[0]) != 3 {
			t.Errorf("%v: passes %v, want 2 of 3 samples", p.Setting, p.Passes)
		}
	}
	if !res.Finished {
		t.Error("not marked as finished")
	}
}

func TestGridHasEveryCombinationOnce(t *testing.T) {
	r := recipe(t, `
baseline: {channels: "2", bytes: 1KiB}
grid: {channels: ["1", "2"], bytes: [1KiB, 2KiB, 4KiB]}
`)
	points, err := r.Points()
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 6 {
		t.Errorf("%d points, want 6: the baseline is one of them", len(points))
	}
}

func TestRatiosTiesAndNoise(t *testing.T) {
	m := &fakeMachine{time: func(s bench.Setting, run int) time.Duration {
		us := map[int]float64{1: 1000, 2: 500, 4: 1010, 8: 700}[s.Channels]
		if s.Channels == 8 && run%2 == 0 {
			us *= 3 // noisy
		}
		return time.Duration(us * 1e3)
	}}
	res := run(t, m, recipe(t, `
baseline: {channels: "1", world: "4", bytes: 1MiB}
vary: {channels: ["2", "4", "8"]}
cycles: 2
iterations: 4
`))
	a, err := bench.Analyse(res)
	if err != nil {
		t.Fatal(err)
	}
	by := map[int]bench.Finding{}
	for _, f := range a.Findings {
		by[f.Setting.Channels] = f
	}
	if f := by[2]; math.Abs(f.Ratio-2) > 1e-9 || f.Tie || !f.Usable {
		t.Errorf("2 channels: %+v, want a usable ratio of 2", f)
	}
	if f := by[4]; !f.Tie {
		t.Errorf("4 channels: %+v, want a tie", f)
	}
	if f := by[8]; f.Usable || f.Stats.CV < 0.4 {
		t.Errorf("8 channels: %+v, want it unusable", f)
	}
	want := 1.5 * (1 << 20) / 1000.0 / 1e3 // 2(n-1)/n x bytes / time
	if f := by[1]; math.Abs(f.BusBW-want) > 1e-9 {
		t.Errorf("bus bandwidth %v, want %v", f.BusBW, want)
	}
}

// TestRatiosCompareOnlyEqualSizes varies the size, too: a setting is set against
// the baseline of its own size.
func TestRatiosCompareOnlyEqualSizes(t *testing.T) {
	m := &fakeMachine{time: func(s bench.Setting, _ int) time.Duration {
		return time.Duration(s.Bytes) * time.Microsecond / time.Duration(s.Channels)
	}}
	res := run(t, m, recipe(t, `
baseline: {channels: "1", bytes: 1KiB}
grid: {channels: ["1", "2"], bytes: [1KiB, 4KiB]}
vary: {bytes: [8KiB]}
`))
	a, err := bench.Analyse(res)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Findings {
		if want := float64(f.Setting.Channels); math.Abs(f.Ratio-want) > 1e-9 {
			t.Errorf("%v: ratio %v, want %v", f.Setting, f.Ratio, want)
		}
	}
}

func TestInteractionResidual(t *testing.T) {
	m := &fakeMachine{time: func(s bench.Setting, _ int) time.Duration {
		us := 1000.0
		if s.Channels == 4 {
			us /= 2
		}
		if s.Proto == "LL" {
			us /= 4
		}
		if s.Channels == 4 && s.Proto == "LL" {
			us *= 1.5 // together they gain less
		}
		return time.Duration(us * 1e3)
	}}
	res := run(t, m, recipe(t, `
baseline: {channels: "1", proto: Simple}
vary: {channels: ["2", "4"], proto: [LL, LL128], threads: ["64"]}
interact: true
cycles: 2
iterations: 2
`))
	a, err := bench.Analyse(res)
	if err != nil {
		t.Fatal(err)
	}
	// Threads made no difference, so only one pair is left.
	if len(a.Interactions) != 1 {
		t.Fatalf("interactions %+v, want one pair", a.Interactions)
	}
	x := a.Interactions[0]
	if x.LevelA != "LL" || x.LevelB != "4" || math.Abs(x.Residual-50) > 1e-6 || !x.Usable {
		t.Errorf("%+v, want proto LL with 4 channels 50 %% slower than predicted", x)
	}
}

func TestInterruptKeepsWhatWasMeasuredAndResumes(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	runs := 0
	m := &fakeMachine{time: channelsTime, stop: func() {
		if runs++; runs == 12 {
			cancel()
		}
	}}
	r := recipe(t, `
vary: {channels: ["1", "2", "4"]}
warmup: 1
cycles: 2
iterations: 3
`)
	res := &bench.Result{Schema: bench.Schema, Recipe: r}
	if err := bench.Run(ctx, m, res, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the interrupt", err)
	}
	if res.Finished {
		t.Error("marked as finished")
	}
	kept := 0
	for _, p := range res.Points {
		kept += len(p.Passes)
		for _, pass := range p.Passes {
			if len(pass) != 3 {
				t.Errorf("kept a pass of %d samples", len(pass))
			}
		}
	}
	if kept == 0 {
		t.Fatal("nothing was kept")
	}
	before := len(m.opened)
	m.stop = nil
	if err := bench.Run(context.Background(), m, res, nil); err != nil {
		t.Fatal(err)
	}
	if again := len(m.opened) - before; again != 8-kept {
		t.Errorf("resuming measured %d passes, want the missing %d", again, 8-kept)
	}
	if !res.Finished || m.open != 0 {
		t.Error("not finished, or sessions left open")
	}
}

func TestSkippedSettingsSayWhy(t *testing.T) {
	m := &fakeMachine{time: channelsTime, skip: func(s bench.Setting) string {
		if s.World > 4 {
			return "the machine has 4 GPUs"
		}
		return ""
	}}
	res := run(t, m, recipe(t, `vary: {world: ["2", "8"]}`))
	a, err := bench.Analyse(res)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Findings {
		if (f.Setting.World == 8) != (f.Skipped != "") {
			t.Errorf("%v: skipped %q", f.Setting, f.Skipped)
		}
	}
}

func TestBadRecipes(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "is empty",
		`vary: {}`:                              "nothing is varied",
		`vary: {colour: [red]}`:                 `unknown setting "colour"`,
		`vary: {channels: []}`:                  "no levels",
		`vary: {channels: ["0"]}`:               "from 1 on",
		`vary: {bytes: [1TiBB]}`:                "size",
		`colour: red`:                           "colour",
		`{vary: {proto: [LL]}, cycles: 0}`:      "cycles",
		`{vary: {proto: [LL]}, interact: true}`: "two axes",
		`{vary: {proto: [Telepathy]}}`:          "Telepathy",
		`{baseline: {algo: Guess}, vary: {proto: [LL]}}`:                               "Guess",
		`{vary: {proto: [LL]}, iterations: 9000000}`:                                   "too many",
		`{vary: {proto: [LL]}, cycles: 4611686018427387904, iterations: 2, warmup: 2}`: "too many",
		`{vary: {proto: [LL]}, warmup: 9223372036854775807, iterations: 1}`:            "too many",
		`{vary: {proto: [LL]}, cvLimit: .nan}`:                                         "finite",
		`{vary: {proto: [LL]}, cvLimit: .inf}`:                                         "finite",
		`{vary: {proto: [LL]}, tie: .nan}`:                                             "finite",
		`{vary: {proto: [LL]}, tie: .inf}`:                                             "finite",
	} {
		_, err := bench.ReadRecipe(strings.NewReader(text), "r.yaml")
		if !errors.Is(err, bench.ErrRecipe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %q", text, err, want)
		}
	}
}

func TestShippedRecipes(t *testing.T) {
	names := bench.Shipped()
	if len(names) != 5 {
		t.Errorf("recipes %v, want five", names)
	}
	for _, name := range names {
		r, err := bench.OpenShipped(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.About == "" || r.Question == "" || r.Cycles%2 != 0 {
			t.Errorf("%s: wants a description, a question and both orders: %+v", name, r)
		}
	}
	if _, err := bench.OpenShipped("nonsense"); !errors.Is(err, bench.ErrRecipe) {
		t.Errorf("unknown recipe: %v", err)
	}
}

func TestCompare(t *testing.T) {
	r := recipe(t, `vary: {channels: ["1", "2", "4"]}`)
	old := run(t, &fakeMachine{time: channelsTime}, r)
	now := run(t, &fakeMachine{time: func(s bench.Setting, i int) time.Duration {
		d := channelsTime(s, i)
		switch s.Channels {
		case 2:
			return d * 2
		case 4:
			return d / 2
		}
		return d
	}}, r)
	now.Host.Kernel = "newer"
	c := bench.Compare(old, now, 0.03)
	got := map[int]bench.Verdict{}
	for _, ch := range c.Changes {
		got[ch.Setting.Channels] = ch.Verdict
	}
	if got[1] != bench.Same || got[2] != bench.Slower || got[4] != bench.Faster || !c.Slower() {
		t.Errorf("verdicts %v", got)
	}
	if len(c.Unlike) != 1 || !strings.Contains(c.Unlike[0], "kernel") {
		t.Errorf("unlike %v, want the kernel", c.Unlike)
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4KiB": 4096, "4 KiB": 4096, "64k": 65536, "2M": 2 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40, "1.5KB": 1500} {
		got, err := bench.ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
		if back, err := bench.ParseBytes(bench.FormatBytes(got)); err != nil || back != got {
			t.Errorf("%d is written as %q", got, bench.FormatBytes(got))
		}
	}
	for _, text := range []string{"", "0", "-1", "KiB", "1KK", "99999999999GiB"} {
		if n, err := bench.ParseBytes(text); err == nil {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}
