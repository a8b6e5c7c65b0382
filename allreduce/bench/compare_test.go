package bench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// two are results of one setting with these samples.
func two(t *testing.T, old, now []float64) *bench.Comparison {
	t.Helper()
	r := recipe(t, `{vary: {channels: ["2"]}, cvLimit: 0.2}`)
	s := bench.DefaultBaseline()
	res := func(samples []float64) *bench.Result {
		m := bench.Measurement{Point: bench.Point{Setting: s}}
		if samples != nil {
			m.Passes = [][]float64{samples}
		}
		return &bench.Result{Schema: bench.Schema, Recipe: r, Points: []bench.Measurement{m}}
	}
	return bench.Compare(res(old), res(now), 0.05)
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		old, now []float64
		want     bench.Verdict
		ratio    float64
	}{
		"the same":            {[]float64{100}, []float64{100}, bench.Same, 1},
		"faster within a tie": {[]float64{104}, []float64{100}, bench.Same, 1.04},
		"slower within a tie": {[]float64{96}, []float64{100}, bench.Same, 0.96},
		"faster":              {[]float64{110}, []float64{100}, bench.Faster, 1.1},
		"slower":              {[]float64{90}, []float64{100}, bench.Slower, 0.9},
		"old is noisy":        {[]float64{10, 100, 190}, []float64{200}, bench.Unusable, 0.5},
		"new is noisy":        {[]float64{50}, []float64{10, 100, 190}, bench.Unusable, 0.5},
		"no old samples":      {nil, []float64{100}, bench.Missing, 0},
		"no new samples":      {[]float64{100}, nil, bench.Missing, 0},
	} {
		cmp := two(t, c.old, c.now)
		if len(cmp.Changes) != 1 {
			t.Fatalf("%s: %d changes, want 1", name, len(cmp.Changes))
		}
		if got := cmp.Changes[0]; got.Verdict != c.want || !near(got.Ratio, c.ratio) {
			t.Errorf("%s: %s by %v, want %s by %v", name, got.Verdict, got.Ratio, c.want, c.ratio)
		}
		if cmp.Slower() != (c.want == bench.Slower) {
			t.Errorf("%s: Slower is %v", name, cmp.Slower())
		}
	}
}

// A setting of one result only is listed, whichever it is.
func TestSettingsOfOneResultOnly(t *testing.T) {
	a := run(t, &fakeMachine{time: channelsTime}, recipe(t, `{vary: {channels: ["2", "4"]}, iterations: 1}`))
	b := run(t, &fakeMachine{time: channelsTime}, recipe(t, `{vary: {channels: ["4", "8"]}, iterations: 1}`))
	got := map[int]bench.Verdict{}
	for _, ch := range bench.Compare(a, b, 0.03).Changes {
		got[ch.Setting.Channels] = ch.Verdict
		if ch.Verdict == bench.Missing && (ch.Old.N == 0) == (ch.New.N == 0) {
			t.Errorf("%d channels: %d samples then and %d now, want some on one side", ch.Setting.Channels, ch.Old.N, ch.New.N)
		}
	}
	for channels, want := range map[int]bench.Verdict{0: bench.Same, 2: bench.Missing, 4: bench.Same, 8: bench.Missing} {
		if got[channels] != want {
			t.Errorf("%d channels: %q, want %s", channels, got[channels], want)
		}
	}
}

// Everything that can explain a change of time is told.
func TestUnlikeMachines(t *testing.T) {
	r := recipe(t, `vary: {channels: ["2"]}`)
	old := &bench.Result{Recipe: r, Engine: "host", Host: bench.Host{CPU: "a", GPUs: "b", Driver: "c", Kernel: "d", Go: "e", Ringtopo: "f"}}
	now := &bench.Result{Recipe: r, Engine: "gpu", Host: bench.Host{CPU: "A", GPUs: "B", Driver: "C", Kernel: "D", Go: "E", Ringtopo: "F"}}
	want := []string{"engine: host then, gpu now", "CPU: a then, A now", "GPUs: b then, B now", "driver: c then, C now",
		"kernel: d then, D now", "Go: e then, E now", "ringtopo: f then, F now"}
	if got := bench.Compare(old, now, 0).Unlike; !slices.Equal(got, want) {
		t.Errorf("unlike %q, want %q", got, want)
	}
}

// What one of them does not tell is no empty text.
func TestUnlikeWhatIsNotTold(t *testing.T) {
	now := &bench.Result{Engine: "gpu", Host: bench.Host{GPUs: "2 x NVIDIA H200"}}
	if got := bench.Unlike(&bench.Result{Engine: "gpu"}, now); len(got) != 1 || got[0] != "GPUs: not told then, 2 x NVIDIA H200 now" {
		t.Errorf("unlike %q", got)
	}
}

// Figures are of the GPUs where the engine uses some, else of the processors.
func TestOn(t *testing.T) {
	cpu := bench.Host{CPU: "AMD EPYC", CPUs: 64}
	both := cpu
	both.GPUs = "2 x NVIDIA H200"
	for want, r := range map[string]bench.Result{
		"host: 64 x AMD EPYC":   {Engine: "host", Host: both},
		"gpu: 2 x NVIDIA H200":  {Engine: "gpu", Host: both},
		"nccl: 2 x NVIDIA H200": {Engine: "nccl", Host: both},
		"gpu: 64 x AMD EPYC":    {Engine: "gpu", Host: cpu}, // of before
		"gpu":                   {Engine: "gpu"},
	} {
		if got := r.On(); got != want {
			t.Errorf("on %q, want %q", got, want)
		}
	}
}

// The estimate counts warm-ups and every pass of every setting.
func TestEstimate(t *testing.T) {
	m := &fakeMachine{time: func(bench.Setting, int) time.Duration { return time.Millisecond }}
	r := recipe(t, `
vary: {channels: ["2", "4"], proto: [LL], threads: ["64"]}
interact: true
warmup: 3
cycles: 2
iterations: 7
`)
	d, points, joint, err := bench.Estimate(m, r)
	if err != nil {
		t.Fatal(err)
	}
	if points != 5 || joint != 3 || d != 5*2*10*time.Millisecond {
		t.Errorf("%v for %d settings and %d joint ones, want 100ms, 5 and 3", d, points, joint)
	}
	if len(m.opened) != 0 {
		t.Error("an estimate ran something")
	}
}

func TestProgressCountsUp(t *testing.T) {
	r := recipe(t, `{vary: {channels: ["2", "4"]}, warmup: 0, cycles: 2, iterations: 1}`)
	res := &bench.Result{Schema: bench.Schema, Recipe: r}
	next := 0
	progress := func(done, total int, s bench.Setting) {
		if done != next || total != 6 || s.World == 0 {
			t.Errorf("%d of %d at %v, want %d of 6", done, total, s, next)
		}
		next++
	}
	if err := bench.Run(context.Background(), &fakeMachine{time: channelsTime}, res, progress); err != nil || next != 6 {
		t.Errorf("told %d times of 6: %v", next, err)
	}
}

// failingSession fails after some runs.
type failingSession struct {
	bench.Session
	left int
}

var errBroken = errors.New("the link is down")

func (s *failingSession) Run(ctx context.Context) (time.Duration, error) {
	if s.left--; s.left < 0 {
		return 0, errBroken
	}
	return s.Session.Run(ctx)
}

type failingMachine struct{ *fakeMachine }

func (m failingMachine) Open(ctx context.Context, s bench.Setting) (bench.Session, error) {
	session, err := m.fakeMachine.Open(ctx, s)
	if s.Channels == 4 {
		return &failingSession{session, 2}, err
	}
	return session, err
}

// A failure says at which setting, keeps what was measured before, drops the
// pass that it cut short, and closes the session.
func TestFailureNamesTheSetting(t *testing.T) {
	m := failingMachine{&fakeMachine{time: channelsTime}}
	r := recipe(t, `{vary: {channels: ["2", "4"]}, warmup: 0, cycles: 1, iterations: 5}`)
	res := &bench.Result{Schema: bench.Schema, Recipe: r}
	err := bench.Run(context.Background(), m, res, nil)
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "channels=4") {
		t.Errorf("error %v, want the link's at channels=4", err)
	}
	if res.Finished || m.open != 0 {
		t.Errorf("finished %v, %d sessions open", res.Finished, m.open)
	}
	for _, p := range res.Points {
		if want := map[int]int{0: 5, 2: 5, 4: 0}[p.Setting.Channels]; len(p.Samples()) != want {
			t.Errorf("%d channels: %d samples, want %d", p.Setting.Channels, len(p.Samples()), want)
		}
	}
}

// Warm-ups are run before each pass, and their times thrown away.
func TestWarmupsDoNotCount(t *testing.T) {
	m := &fakeMachine{time: func(_ bench.Setting, run int) time.Duration {
		if run <= 3 {
			return time.Hour
		}
		return time.Microsecond
	}}
	res := run(t, m, recipe(t, `{vary: {channels: ["2"]}, warmup: 3, cycles: 2, iterations: 4}`))
	for _, p := range res.Points {
		if s := bench.Summarise(&p); s.N != 8 || s.Max != 1 {
			t.Errorf("%v: %+v, want 8 samples of 1 us", p.Setting, s)
		}
	}
}

// Every property can be read and written as text, and named wrongly.
func TestSettingsAsText(t *testing.T) {
	values := map[string][2]string{ // a value, and one that is refused
		"algo": {"Tree", "Guess"}, "proto": {"LL128", "Telepathy"}, "world": {"8", "0"}, "channels": {"auto", "-1"}, "threads": {"256", "many"},
		"buffsize": {"4MiB", "0"}, "dtype": {"bfloat16", "float7"}, "op": {"max", "guess"}, "inplace": {"true", "perhaps"}, "bytes": {"3KiB", "3 apples"},
	}
	for _, name := range bench.AxisNames() {
		v, ok := values[name]
		if !ok {
			t.Errorf("%s is not tried", name)
			continue
		}
		s, err := bench.DefaultBaseline().With(name, v[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := s.Get(name); err != nil || got != v[0] || !strings.Contains(s.String(), name+"="+v[0]) {
			t.Errorf("%s %s comes back as %q, %v: %v", name, v[0], got, err, s)
		}
		if _, err := s.With(name, v[1]); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s %s: error %v, want one that names the property", name, v[1], err)
		}
	}
	_, err := bench.DefaultBaseline().Get("colour")
	if err == nil || !strings.Contains(err.Error(), strings.Join(bench.AxisNames(), ", ")) {
		t.Errorf("error %v, want the names that there are", err)
	}
}
