package contest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
)

var update = flag.Bool("update", false, "write golden files anew")

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

func series(name string, us ...float64) contest.Series {
	s := contest.Series{Name: name}
	for _, v := range us {
		s.Samples = append(s.Samples, contest.Sample{Device: v, Host: v / 2, CPU: 2 * v})
	}
	return s
}

func written() *contest.Report {
	r := &contest.Report{Schema: contest.Schema, Machine: []string{"auto"}, Rounds: 3, Finished: true,
		Started: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Class:   best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: 2, Ranks: 2, Link: best.NVLink},
		NCCL:    contest.Library{Version: "2.28.9", Path: "libnccl.so.2", Env: map[string]string{"NCCL_NVLS_ENABLE": "0"}}}
	one := contest.Result{Bytes: 1 << 20, Count: 1 << 18, DType: allreduce.Float32, Op: allreduce.Sum, Ranks: 2, How: contest.Graph,
		Choice: best.Choice{Engine: best.Ours, Algo: allreduce.TwoShot, Proto: allreduce.Simple, Blocks: 32},
		From:   best.Origin{Kind: best.FromSeed, Name: "two H200 over NVLink"},
		Series: []contest.Series{series(contest.Ours, 10, 8, 9), series(contest.Plain, 18, 16, 20), series(contest.Symmetric, 14, 12, 13)}}
	two := one
	two.InPlace, two.How = true, contest.Stream
	two.Series = []contest.Series{series(contest.Ours, 10), series(contest.Plain, 5)}
	r.Results = []contest.Result{one, two}
	for i := range r.Results {
		r.Results[i].Judge()
	}
	return r
}

// Figures worked out by hand: the middle of three, the better of NCCL's.
func TestJudge(t *testing.T) {
	r := written()
	one, two := &r.Results[0], &r.Results[1]
	if one.Ours.Median != 9 || one.NCCLBy != contest.Symmetric || one.NCCL.Median != 13 || one.Ratio != 13.0/9 {
		t.Errorf("%+v", one)
	}
	if one.Ours.Host != 4.5 || one.Ours.CPU != 18 || math.Abs(one.Ours.BusBW-float64(1<<20)/9e3) > 1e-9 {
		t.Errorf("%+v", one.Ours)
	}
	if two.NCCLBy != contest.Plain || two.Ratio != 0.5 {
		t.Errorf("%+v", two)
	}
	if b := r.Below(1); len(b) != 1 || !b[0].InPlace {
		t.Errorf("below 1: %+v", b)
	}
	if b := r.Below(1.5); len(b) != 2 {
		t.Errorf("below 1.5: %+v", b)
	}
	if one.Find("nobody") != nil {
		t.Error("found nobody")
	}
	var none contest.Result
	none.Judge()
	if none.Ratio != 0 || none.NCCLBy != "" {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestReportForms(t *testing.T) {
	r := written()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", append(text, '\n'))
	var b bytes.Buffer
	if err := contest.WriteCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.csv", b.Bytes())
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, l := range lines {
		if n := strings.Count(l, ","); n != strings.Count(lines[0], ",") {
			t.Errorf("%d commas in %s", n, l)
		}
	}
}

// Where NCCL is the choice nobody knows what it runs.
func TestRowsOfNCCLNameNoAlgorithm(t *testing.T) {
	r := &contest.Report{Results: []contest.Result{
		{Choice: best.Choice{Engine: best.NCCL, Algo: allreduce.Ring, Proto: allreduce.LL}},
		{Choice: best.Choice{Engine: best.Ours, Algo: allreduce.Ring, Proto: allreduce.LL}},
	}}
	var b bytes.Buffer
	if err := contest.WriteCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.Contains(lines[1], ",nccl,,,0,") || !strings.Contains(lines[2], ",ours,Ring,LL,0,") {
		t.Errorf("rows\n%s", b.String())
	}
}

// Whatever the samples: the better of NCCL's series counts, and a ratio above 1
// means that ours is faster.
func TestJudgeOfAnySamples(t *testing.T) {
	times := rapid.SliceOfN(rapid.Float64Range(1, 1e4), 1, 9)
	rapid.Check(t, func(rt *rapid.T) {
		r := contest.Result{Bytes: 1000, Ranks: 2, Series: []contest.Series{series(contest.Ours, times.Draw(rt, "ours")...),
			series(contest.Plain, times.Draw(rt, "plain")...), series(contest.Symmetric, times.Draw(rt, "symmetric")...)}}
		r.Judge()
		for i := range r.Series {
			m := r.Series[i].Median()
			below, above := 0, 0
			for _, s := range r.Series[i].Samples {
				if s.Device <= m {
					below++
				}
				if s.Device >= m {
					above++
				}
			}
			if n := len(r.Series[i].Samples); 2*below < n || 2*above < n {
				rt.Fatalf("%v is not the middle of %v", m, r.Series[i].Samples)
			}
		}
		if r.NCCL.Median != min(r.Series[1].Median(), r.Series[2].Median()) || r.Find(r.NCCLBy).Median() != r.NCCL.Median {
			rt.Fatalf("NCCL's figure is %+v by %s", r.NCCL, r.NCCLBy)
		}
		if (r.Ratio > 1) != (r.Ours.Median < r.NCCL.Median) {
			rt.Fatalf("ratio %v of %v and %v", r.Ratio, r.NCCL.Median, r.Ours.Median)
		}
	})
}
