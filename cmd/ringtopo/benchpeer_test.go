package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/host"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// paced runs on the CPU, for real bits, and says that a call took what a test
// wants.
type paced struct {
	allreduce.Executor
	pace contest.Pace
	lie  bool
	turn func()
	fail error
}

func (p *paced) Ready(pl *allreduce.Plan, args []allreduce.Args, _ int, _ contest.How) (contest.Replay, error) {
	return &pacedReplay{p, pl, args}, nil
}

type pacedReplay struct {
	p    *paced
	plan *allreduce.Plan
	args []allreduce.Args
}

func (r *pacedReplay) Run(ctx context.Context, _ int) (contest.Pace, error) {
	if r.p.turn != nil {
		r.p.turn()
	}
	if r.p.fail != nil || r.p.lie {
		return r.p.pace, r.p.fail
	}
	_, err := r.p.Run(ctx, r.plan, r.args)
	return r.p.pace, err
}

func (r *pacedReplay) Close() error { return nil }

// eager is an executor on the CPU that lets itself be taken for one on GPUs: it
// runs the direct algorithms with every protocol.
type eager struct{ allreduce.Executor }

func (e eager) Can(a allreduce.Algo, p allreduce.Proto) error {
	if a.Direct() {
		p = allreduce.Simple
	}
	return e.Executor.Can(a, p)
}

func (e eager) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	plain := *p
	plain.Works = slices.Clone(p.Works)
	for i := range plain.Works {
		if plain.Works[i].Algo.Direct() {
			plain.Works[i].Proto = allreduce.Simple
		}
	}
	return e.Executor.Run(ctx, &plain, args)
}

var h200x2 = best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: 2, Ranks: 2, Link: best.NVLink}

// twoGPUs is an arena that looks like two H200 with NCCL: ours takes 4 us, plain
// NCCL 8, with symmetric windows 6.
func twoGPUs(t *testing.T) (ar *arena, ours, plain, symmetric *paced) {
	t.Helper()
	l := &allreduce.Layout{NRanks: 2, Rings: [][]int{{0, 1}}, BuffSize: allreduce.DefaultBuffSize()}
	pl, err := plan.New(plan.Nominal(l), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := host.New(pl.Layout(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cpu.Close() })
	ex := eager{cpu}
	at := func(us int) *paced {
		return &paced{Executor: ex, pace: contest.Pace{Device: time.Duration(us) * time.Microsecond, Host: time.Microsecond}}
	}
	ours, plain, symmetric = at(4), at(8), at(6)
	ar = &arena{planner: pl, class: h200x2, ex: ex, player: func(best.Choice) contest.Player { return ours }, memory: ours, plain: plain, symmetric: symmetric,
		library: contest.Library{Version: "2.28.9", Env: map[string]string{"NCCL_NVLS_ENABLE": "0"}}, host: bench.Host{Driver: "580", Ringtopo: "v1"}}
	return ar, ours, plain, symmetric
}

// contestWith plays with the flags and gives what went to stdout and stderr.
func contestWith(t *testing.T, ar *arena, change func(*benchCommand)) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{out: &stdout, err: &stderr, ctx: context.Background()}
	c := &benchCommand{machine: &machineFlags{machines: []string{"auto"}}, engine: &engineFlags{engine: engineAuto}, bytes: "1KiB:4KiB", algo: "best", proto: "auto", dtype: "float32", op: "sum", buffsize: "4MiB",
		out: &output{formats: []string{"table", "csv", "json", "svg"}}, turns: turnFlags{peer: "nccl", how: "graph,stream", place: "both", rounds: 2}}
	if change != nil {
		change(c)
	}
	p, err := c.comparison()
	if err != nil {
		return "", "", err
	}
	err = a.compete(c, p, ar)
	return stdout.String(), stderr.String(), err
}

// Every size, place and way of calling has a line with both and the ratio to the
// better of NCCL's, our choice and where it comes from.
func TestPeerTable(t *testing.T) {
	ar, _, _, _ := twoGPUs(t)
	out, errs, err := contestWith(t, ar, nil)
	if err != nil || errs != "" {
		t.Fatalf("%v, %q", err, errs)
	}
	var lines []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 3*2*2 {
		t.Fatalf("%d lines, want 3 sizes in 2 places by 2 ways:\n%s", len(lines), out)
	}
	for i, line := range lines {
		f := strings.Fields(line)
		want := []string{[]string{"1024", "2048", "4096"}[i/4], []string{"256", "512", "1024"}[i/4], "float32", "sum", []string{"out", "in"}[i/2%2], []string{"graph", "stream"}[i%2], "|", "4.00"}
		for j, w := range want {
			if f[j] != w {
				t.Errorf("line %d: %q, want %q: %s", i, f[j], w, line)
			}
		}
		if !strings.Contains(line, "8.00      6.00") || !strings.Contains(line, "1.50  TwoShot/Simple") && !strings.Contains(line, "1.50  OneShot/") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	for _, want := range []string{"beside NCCL 2.28.9", "2 ranks on 2 x NVIDIA H200 over nvlink", "NCCL_NVLS_ENABLE=0", "medians of 2 rounds"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A table may name NCCL, which is then our choice; a forced algorithm and NCCL's
// model are named as such.
func TestPeerSaysWhereChoicesComeFrom(t *testing.T) {
	two := best.Choice{Engine: best.Ours, Algo: allreduce.TwoShot, Proto: allreduce.Simple}
	tables := &best.File{Name: "t.json"}
	tables.Put(best.Table{Class: h200x2, Trial: best.Trial{Date: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
		Rows: []best.Row{{UpTo: 1024, Choice: best.Choice{Engine: best.NCCL, Symmetric: true}}, {UpTo: 2048, Choice: best.Choice{Engine: best.NCCL}}, {Choice: two}}})
	for name, c := range map[string]struct {
		change func(*benchCommand)
		want   []string // by size
		us     []string
		window bool
	}{
		"table":  {func(*benchCommand) {}, []string{"NCCL with symmetric windows (table t.json of 2026-11-30)", "NCCL (table t.json", "TwoShot/Simple (table"}, []string{"6.00", "8.00", "4.00"}, true},
		"old":    {func(*benchCommand) {}, []string{"NCCL (table t.json of 2026-11-30)", "NCCL (table t.json", "TwoShot/Simple (table"}, []string{"8.00", "8.00", "4.00"}, false},
		"forced": {func(c *benchCommand) { c.algo, c.proto = "ring", "LL" }, []string{"Ring/LL x 1 channels (forced)", "Ring/LL", "Ring/LL"}, []string{"4.00", "4.00", "4.00"}, true},
		"model":  {func(c *benchCommand) { c.algo = "auto" }, []string{"(NCCL's model)", "(NCCL's model)", "(NCCL's model)"}, []string{"4.00", "4.00", "4.00"}, true},
	} {
		ar, _, _, _ := twoGPUs(t)
		ar.tables = tables
		if !c.window {
			ar.symmetric = nil
		}
		out, _, err := contestWith(t, ar, func(b *benchCommand) {
			b.turns.how, b.turns.place = "graph", "out"
			c.change(b)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for i, line := range lines[len(lines)-3:] {
			if f := strings.Fields(line); !strings.Contains(line, c.want[i]) || f[7] != c.us[i] {
				t.Errorf("%s: %s\nwant %s and %s us", name, line, c.want[i], c.us[i])
			}
		}
	}
}

func TestPeerFiles(t *testing.T) {
	ar, _, _, _ := twoGPUs(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "r.json")
	out, errs, err := contestWith(t, ar, func(c *benchCommand) {
		c.out.file, c.dtype = name, "bfloat16,float16"
	})
	if err != nil || out != "" || !strings.Contains(errs, "bfloat16") {
		t.Fatalf("%v, stdout %q, progress %q", err, out, errs)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var r contest.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != contest.Schema || !r.Finished || len(r.Results) != 2*3*2*2 || r.NCCL.Version != "2.28.9" || r.Class != h200x2 {
		t.Errorf("%d results of %+v", len(r.Results), r)
	}
	for _, x := range r.Results {
		if len(x.Series) != 3 || len(x.Series[2].Samples) != 2 || x.Ratio != 1.5 || x.NCCLBy != contest.Symmetric || x.From.Kind != best.FromSeed {
			t.Fatalf("%+v", x)
		}
	}
	out, _, err = contestWith(t, ar, func(c *benchCommand) { c.out.format = "csv" })
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 13 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if out, _, err = contestWith(t, ar, func(c *benchCommand) { c.out.format = "svg" }); err != nil || !strings.Contains(out, "<svg") {
		t.Errorf("no picture: %v", err)
	}
}

func TestPeerEnds(t *testing.T) {
	exit := func(err error) int {
		if err == nil {
			return exitGood
		}
		return exitCode(err, true)
	}
	t.Run("too slow", func(t *testing.T) {
		ar, _, _, _ := twoGPUs(t)
		_, _, err := contestWith(t, ar, func(c *benchCommand) { c.turns.minRatio = 1.6 })
		if exit(err) != exitFailed || !strings.Contains(err.Error(), "below --min-ratio 1.6: 1024 bytes of float32 out by graph 1.50") || !strings.Contains(err.Error(), "and 7 more") {
			t.Errorf("error %v", err)
		}
		if _, _, err := contestWith(t, ar, func(c *benchCommand) { c.turns.minRatio = 1.5 }); err != nil {
			t.Errorf("fast enough: %v", err)
		}
	})
	t.Run("wrong bits of ours", func(t *testing.T) {
		ar, ours, _, _ := twoGPUs(t)
		ours.lie = true
		_, _, err := contestWith(t, ar, nil)
		if exit(err) != exitFailed || !strings.Contains(err.Error(), "1024 bytes of float32: graph: ours: ") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("wrong bits of NCCL's", func(t *testing.T) {
		ar, _, plain, _ := twoGPUs(t)
		plain.lie = true
		out, _, err := contestWith(t, ar, func(c *benchCommand) { c.turns.how, c.turns.place = "graph", "out" })
		if exit(err) != exitFailed || !strings.Contains(err.Error(), "NCCL gave wrong bits (marked !): 1024 bytes of float32 out by graph; 2048") {
			t.Errorf("error %v", err)
		}
		if strings.Count(out, " 8.00! ") != 3 {
			t.Errorf("lines\n%s", out)
		}
	})
	t.Run("broken", func(t *testing.T) {
		ar, _, _, symmetric := twoGPUs(t)
		symmetric.fail = errors.New("unhandled cuda error")
		_, _, err := contestWith(t, ar, nil)
		if exit(err) != exitFailed || !strings.Contains(err.Error(), "symmetric: unhandled cuda error") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ar, ours, _, _ := twoGPUs(t)
		ctx, cancel := context.WithCancel(context.Background())
		turns := 0
		ours.turn = func() {
			if turns++; turns == 30 {
				cancel()
			}
		}
		var stdout, stderr bytes.Buffer
		a := &app{out: &stdout, err: &stderr, ctx: ctx}
		c := &benchCommand{machine: &machineFlags{}, engine: &engineFlags{engine: engineAuto}, bytes: "1KiB:1MiB", algo: "best", proto: "auto", dtype: "float32", op: "sum", buffsize: "4MiB",
			out: &output{formats: []string{"table", "json"}, format: "json"}, turns: turnFlags{peer: "nccl", how: "graph", place: "out", rounds: 3}}
		p, err := c.comparison()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.compete(c, p, ar); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		var r contest.Report
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Finished || len(r.Results) == 0 || len(r.Results) == 11 {
			t.Errorf("%v: kept %d results, finished %v", err, len(r.Results), r.Finished)
		}
	})
}

// What --set and a forced ring say reaches NCCL through the environment.
func TestNCCLIsTold(t *testing.T) {
	for _, name := range []string{"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS"} {
		t.Setenv(name, "")
	}
	var stderr bytes.Buffer
	a := &app{err: &stderr, ctx: context.Background()}
	c := &benchCommand{machine: &machineFlags{set: []string{"NCCL_MAX_NCHANNELS=8"}}, algo: "ring", proto: "LL128"}
	if err := a.tellNCCL(c); err != nil {
		t.Fatal(err)
	}
	env := ncclVariables(os.Environ())
	if env["NCCL_ALGO"] != "Ring" || env["NCCL_PROTO"] != "LL128" || env["NCCL_MAX_NCHANNELS"] != "8" {
		t.Errorf("NCCL would see %v", env)
	}
	if !strings.Contains(stderr.String(), "NCCL_ALGO=Ring NCCL_MAX_NCHANNELS=8 NCCL_PROTO=LL128") {
		t.Errorf("the user was told %q", stderr.String())
	}
}
