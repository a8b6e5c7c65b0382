package bench_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

var update = flag.Bool("update", false, "write golden files anew")

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// Statistics worked out by hand.
func TestStatistics(t *testing.T) {
	upTo := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = float64(n - i) // unsorted: backwards
		}
		return list
	}
	for name, c := range map[string]struct {
		passes [][]float64
		want   bench.Stats
	}{
		"no samples":   {nil, bench.Stats{}},
		"empty passes": {[][]float64{{}, {}}, bench.Stats{}},
		"one sample":   {[][]float64{{7}}, bench.Stats{N: 1, Median: 7, P95: 7, Min: 7, Max: 7, Mean: 7}},
		// Deviations from 5 are -3, -1, 1, 3: a variance of 20/3.
		"an even number": {[][]float64{{8, 2, 6, 4}},
			bench.Stats{N: 4, Median: 5, P95: 8, Min: 2, Max: 8, Mean: 5, CV: math.Sqrt(20.0/3) / 5}},
		// Deviations from 4 are -3, -2, 5: a variance of 38/2.
		"an odd number": {[][]float64{{9, 1, 2}},
			bench.Stats{N: 3, Median: 2, P95: 9, Min: 1, Max: 9, Mean: 4, CV: math.Sqrt(19) / 4}},
		// 95 of 100 samples are 95 or less. The variance of 1..n is n(n+1)/12.
		"a hundred": {[][]float64{upTo(100)},
			bench.Stats{N: 100, Median: 50.5, P95: 95, Min: 1, Max: 100, Mean: 50.5, CV: math.Sqrt(100*101/12.0) / 50.5}},
		"twenty": {[][]float64{upTo(20)},
			bench.Stats{N: 20, Median: 10.5, P95: 19, Min: 1, Max: 20, Mean: 10.5, CV: math.Sqrt(35) / 10.5}},
		// Forth 10 and 10, back 14 and 14: 4 apart, of 12.
		"drift": {[][]float64{{10, 10}, {14, 14}},
			bench.Stats{N: 4, Median: 12, P95: 14, Min: 10, Max: 14, Mean: 12, CV: math.Sqrt(16.0/3) / 12, Drift: 4.0 / 12}},
		// Passes 0 and 2 are forth: 1, 3 make 2; pass 1 is back: 2.
		"a trend that both orders share": {[][]float64{{1}, {2}, {3}},
			bench.Stats{N: 3, Median: 2, P95: 3, Min: 1, Max: 3, Mean: 2, CV: 0.5}},
	} {
		got := bench.Summarise(&bench.Measurement{Passes: c.passes})
		for _, v := range []struct {
			what      string
			got, want float64
		}{
			{"number", float64(got.N), float64(c.want.N)}, {"median", got.Median, c.want.Median}, {"P95", got.P95, c.want.P95},
			{"least", got.Min, c.want.Min}, {"most", got.Max, c.want.Max}, {"mean", got.Mean, c.want.Mean},
			{"CV", got.CV, c.want.CV}, {"drift", got.Drift, c.want.Drift},
		} {
			if !near(v.got, v.want) {
				t.Errorf("%s: %s %v, want %v", name, v.what, v.got, v.want)
			}
		}
	}
}

// Whatever the samples: the figures are in order, the order of samples within a
// pass does not count, and another unit of time changes no relative figure.
func TestStatisticsOfAnySamples(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		passes := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(1, 1e6), 1, 12), 1, 4).Draw(rt, "passes")
		s := bench.Summarise(&bench.Measurement{Passes: passes})
		if s.Min > s.Median || s.Median > s.P95 && s.N > 2 || s.P95 > s.Max || s.Mean < s.Min*(1-1e-9) || s.Mean > s.Max*(1+1e-9) {
			rt.Fatalf("out of order: %+v", s)
		}
		if s.Drift < 0 || s.Drift >= 2 || s.CV < 0 {
			rt.Fatalf("out of range: %+v", s)
		}
		other := make([][]float64, len(passes))
		for i, p := range passes {
			for _, v := range rapid.Permutation(p).Draw(rt, "order") {
				other[i] = append(other[i], 4*v)
			}
		}
		o := bench.Summarise(&bench.Measurement{Passes: other})
		if !near(o.Median, 4*s.Median) || !near(o.P95, 4*s.P95) || !near(o.CV, s.CV) || !near(o.Drift, s.Drift) {
			rt.Fatalf("%+v becomes %+v in another unit", s, o)
		}
	})
}

// Summarise leaves the samples in the order in which they were taken.
func TestSummariseKeepsTheOrder(t *testing.T) {
	m := bench.Measurement{Passes: [][]float64{{3, 1, 2}}}
	bench.Summarise(&m)
	if !slices.Equal(m.Passes[0], []float64{3, 1, 2}) {
		t.Errorf("samples are now %v", m.Passes[0])
	}
}

// Bandwidths by the formulas of nccl-tests.
func TestBandwidths(t *testing.T) {
	s := bench.Setting{Bytes: 8_000_000, World: 8}
	for _, c := range []struct{ us, alg, bus float64 }{
		{100, 80, 140}, // 8 MB in 100 us; 2 x 7/8 of that
		{1000, 8, 14},
		{0, 0, 0},
		{-5, 0, 0},
	} {
		if a, b := s.AlgBW(c.us), s.BusBW(c.us); !near(a, c.alg) || !near(b, c.bus) {
			t.Errorf("%v us: %v and %v GB/s, want %v and %v", c.us, a, b, c.alg, c.bus)
		}
	}
	one := bench.Setting{Bytes: 1000, World: 1}
	if one.BusBW(1) != 0 || !near(one.AlgBW(1), 1) {
		t.Error("a rank alone sends nothing")
	}
}

// written is a result without a machine: samples put in by hand.
func written(t *testing.T) *bench.Result {
	t.Helper()
	r := recipe(t, `
name: golden
baseline: {channels: "1", bytes: 1MiB}
vary: {channels: ["2"], world: ["16"], proto: [LL]}
cvLimit: 0.1
tie: 0.05
`)
	points, err := r.Points()
	if err != nil {
		t.Fatal(err)
	}
	res := &bench.Result{Schema: bench.Schema, Engine: "host", Recipe: r}
	samples := map[string][][]float64{
		"":         {{100, 100}, {100, 100}},
		"channels": {{50, 52}, {50, 48}},
		"proto":    {{10, 200}, {10, 200}}, // noisy
	}
	for _, p := range points {
		m := bench.Measurement{Point: p, Passes: samples[strings.Join(p.Axes, "")]}
		if m.Passes == nil {
			m.Skipped = `the machine has 8 GPUs, "enough"`
		} else {
			m.Ran = &bench.Ran{Algo: "Ring", Proto: p.Setting.Proto, Channels: p.Setting.Channels, Threads: 512}
		}
		res.Points = append(res.Points, m)
	}
	return res
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestCSV(t *testing.T) {
	a, err := bench.Analyse(written(t))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := bench.WriteCSV(&b, a); err != nil {
		t.Fatal(err)
	}
	golden(t, "analysis.csv", b.Bytes())
}

func TestAnalysisJSON(t *testing.T) {
	res := written(t)
	a, err := bench.Analyse(res)
	if err != nil {
		t.Fatal(err)
	}
	a.Findings = a.Findings[1:2]
	a.Interactions = []bench.Interaction{{A: "proto", B: "channels", LevelA: "LL", LevelB: "2", Predicted: 50, Measured: 75, Residual: 50, Usable: true}}
	later := written(t)
	later.Host.Driver = "new"
	later.Points = later.Points[:1]
	b, err := json.MarshalIndent(struct {
		Analysis   *bench.Analysis   `json:"analysis"`
		Comparison *bench.Comparison `json:"comparison"`
	}{a, bench.Compare(later, later, 0.05)}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "analysis.json", append(b, '\n'))
}

// A result is read back with every sample.
func TestResultIsReadBack(t *testing.T) {
	res := written(t)
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	back, err := bench.ReadResult(bytes.NewReader(b), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Points {
		p, q := res.Points[i], back.Points[i]
		if p.Setting != q.Setting || !slices.Equal(p.Samples(), q.Samples()) || p.Skipped != q.Skipped {
			t.Errorf("point %d: %+v comes back as %+v", i, p, q)
		}
	}
	if c := bench.Compare(res, back, 0); c.Slower() || len(c.Unlike) != 0 {
		t.Errorf("differs from itself: %+v", c)
	}
}

func TestBadResults(t *testing.T) {
	const head, recipe = `{"schema":"` + bench.Schema + `"`, `,"recipe":{"vary":{"proto":["LL"]},"cycles":1,"iterations":3,"cvLimit":1}`
	for text, want := range map[string]string{
		``:                                  "r.json is no result of bench -o json: it is empty; measure anew, and write with --out",
		" \n":                               "it is empty",
		head:                                "r.json is no result of bench -o json: it ends in the middle; measure anew",
		head + recipe + `,"points":[{"sett`: "it ends in the middle",
		head + recipe + `}{}`:               "something follows the result",
		head + recipe + `} and more`:        "something follows the result",
		`no JSON`:                           "r.json is no result of bench -o json: invalid character",
		`[]`:                                "cannot unmarshal array",
		`{"schema":"other/v1"}`:             `its schema is "other/v1", not "ringtopo.bench/v1"`,
		head + `}`:                          "r.json: it has no recipe",
		head + recipe + `,"points":[{"setting":{}}]}`:                                             "point 0: it has no size or no ranks",
		head + recipe + `,"points":[{"setting":{"bytes":8,"world":2},"samplesUs":[[1],[2,-3]]}]}`: "point 0: a sample of -3 us",
		head + recipe + `,"points":[{"setting":{"dtype":"float7"}}]}`:                             "float7",
		head + `,"recipe":{"vary":{"proto":["LL"]},"cycles":1,"iterations":-3,"cvLimit":1}}`:      "r.json: its recipe: want warmup from 0, cycles and iterations from 1 on",
		head + `,"recipe":{"cycles":1,"iterations":1,"cvLimit":1}}`:                               "nothing is varied",
	} {
		if _, err := bench.ReadResult(strings.NewReader(text), "r.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
