package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/host"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
)

// flaky runs on the CPU until it has run so many times.
type flaky struct {
	allreduce.Executor
	left *int
}

func (f flaky) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	if *f.left--; *f.left < 0 {
		return allreduce.Timing{}, errors.New("the machine is on fire")
	}
	return f.Executor.Run(ctx, p, args)
}

// benchOn runs the command on a CPU that runs so many times, or cannot be opened.
func benchOn(t *testing.T, runs int, open error, args ...string) (out, notes string, err error) {
	t.Helper()
	var stdout, stderr strings.Builder
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, ctx: context.Background()}
	c, cmd := &benchCommand{}, &cobra.Command{}
	a.addBenchFlags(cmd, c)
	if err := cmd.ParseFlags(append(args, "--engine", "host")); err != nil {
		t.Fatal(err)
	}
	c.engine.engines = []engine{{name: "host", usable: usable, open: func(_ *app, l *allreduce.Layout, _ engineOptions) (allreduce.Executor, error) {
		if open != nil {
			return nil, open
		}
		ex, err := host.New(l, host.Options{})
		return flaky{ex, &runs}, err
	}}}
	err = a.bench(cmd, c)
	return stdout.String(), stderr.String(), err
}

var sweepOfTwo = []string{"-m", "v100x4", "--nchannels", "1", "--bytes", "1KiB:2KiB", "--cycles", "1", "--iters", "2", "--warmup", "0"}

// What was measured before an error is kept, can be gone on with, and ends as if
// nothing had been.
func TestBenchKeepsWhatCameBeforeAnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	_, notes, err := benchOn(t, 2*3+1, nil, append(sweepOfTwo, "--out", name)...) // two settings, each checked once
	if err == nil || exitCode(err, true) != exitFailed || !strings.Contains(err.Error(), "the machine is on fire") || !strings.Contains(notes, "go on with --resume") {
		t.Fatalf("%v, notes %q", err, notes)
	}
	begun, err := readResult("resume", name)
	if err != nil || begun.Finished || !begun.Begun() || len(begun.Points[0].Passes) != 1 || len(begun.Points[1].Passes) != 1 || len(begun.Points[2].Passes) != 0 {
		t.Fatalf("%v, kept %+v", err, begun)
	}
	out, _, err := benchOn(t, 0, nil, append(sweepOfTwo, "--resume", name)...)
	if err == nil || !strings.Contains(out, "sweep: AllReduce by size (not finished: incomplete)") {
		t.Errorf("%v in\n%s", err, out)
	}
	if out, _, err = benchOn(t, 100, nil, append(sweepOfTwo, "--resume", name)...); err != nil || strings.Contains(out, "incomplete") {
		t.Errorf("%v in\n%s", err, out)
	}
}

// Samples of other rings are not mixed; those of another host are the user's to
// judge.
func TestBenchGoesOnWhereItCan(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	if _, _, err := benchOn(t, 4, nil, append(sweepOfTwo, "--out", name)...); err == nil {
		t.Fatal("no error")
	}
	_, _, err := benchOn(t, 100, nil, "--resume", name, "-m", "a100x4")
	if exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), "was measured on rings of v100x4, not of a100x4") {
		t.Errorf("error %v", err)
	}
	res, err := readResult("resume", name)
	if err != nil {
		t.Fatal(err)
	}
	res.Host.Kernel = "Linux 2.6"
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, notes, err := benchOn(t, 100, nil, "--resume", name, "-m", "v100x4"); err != nil || !strings.Contains(notes, "gone on with elsewhere: kernel: Linux 2.6 then") {
		t.Errorf("%v, notes %q", err, notes)
	}
}

// Where nothing was measured nothing is written.
func TestBenchWritesNothingOfNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	out, _, err := benchOn(t, 0, nil, append(sweepOfTwo, "--out", name)...)
	if exitCode(err, true) != exitFailed || out != "" {
		t.Errorf("%v, printed %q", err, out)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

// An interrupt keeps what there is: nothing of nothing.
func TestBenchInterrupted(t *testing.T) {
	for _, c := range []struct{ runs, points int }{{0, 0}, {3, 1}, {7, 2}} {
		ctx, cancel := context.WithCancel(context.Background())
		left := c.runs
		ex := func(l *allreduce.Layout) (allreduce.Executor, error) {
			e, err := host.New(l, host.Options{})
			return interrupted{e, &left, cancel}, err
		}
		var stdout, stderr strings.Builder
		a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, ctx: ctx}
		b, cmd := &benchCommand{}, &cobra.Command{}
		a.addBenchFlags(cmd, b)
		if err := cmd.ParseFlags(append(sweepOfTwo, "--engine", "host", "-o", "json")); err != nil {
			t.Fatal(err)
		}
		b.engine.engines = []engine{{name: "host", usable: usable, open: func(_ *app, l *allreduce.Layout, _ engineOptions) (allreduce.Executor, error) { return ex(l) }}}
		if err := a.bench(cmd, b); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d runs: %v", c.runs, err)
		}
		if c.points == 0 {
			if stdout.Len() > 0 || stderr.Len() > 0 {
				t.Errorf("of nothing: %q, %q", stdout.String(), stderr.String())
			}
			continue
		}
		res, err := bench.ReadResult(strings.NewReader(stdout.String()), "printed")
		if err != nil || res.Finished || !strings.Contains(stderr.String(), "interrupted: what was measured is kept") {
			t.Fatalf("%v, %+v, notes %q", err, res, stderr.String())
		}
		whole := 0
		for _, p := range res.Points {
			whole += len(p.Passes)
		}
		if whole != c.points {
			t.Errorf("after %d runs: %d settings, want %d", c.runs, whole, c.points)
		}
	}
}

// interrupted runs on the CPU until it has run so many times; then comes Ctrl-C.
type interrupted struct {
	allreduce.Executor
	left   *int
	cancel context.CancelFunc
}

func (i interrupted) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	if *i.left--; *i.left < 0 {
		i.cancel()
		return allreduce.Timing{}, context.Canceled
	}
	return i.Executor.Run(ctx, p, args)
}

// An engine that cannot be opened ends with the code of the reason.
func TestBenchOnWhatCannotBeOpened(t *testing.T) {
	for code, reason := range map[int]error{
		exitFailed: errors.New("no memory for threads"),
		exitNoGPU:  fmt.Errorf("GPU 0: %w", allreduce.ErrNoDevice),
		exitUsage:  fmt.Errorf("FIFOs: %w", syscall.ENOMEM),
	} {
		if _, _, err := benchOn(t, 0, reason, sweepOfTwo...); !errors.Is(err, reason) || exitCode(err, true) != code {
			t.Errorf("%v: exit code %d, want %d", err, exitCode(err, true), code)
		}
	}
	err := cannotOpen(nccl.ErrNoLibrary)
	if exitCode(err, true) != exitNoGPU || !strings.Contains(err.Error(), "name the library with --libnccl") {
		t.Errorf("%v", err)
	}
}

// A result without samples is not begun.
func TestBegun(t *testing.T) {
	r := &bench.Result{}
	if r.Begun() {
		t.Error("begun without a point")
	}
	r.Points = append(r.Points, bench.Measurement{Skipped: "too large"})
	if r.Begun() {
		t.Error("begun with a setting that was skipped")
	}
	r.Points = append(r.Points, bench.Measurement{Passes: [][]float64{{1}}})
	if !r.Begun() {
		t.Error("not begun with a pass")
	}
}

// A comparison that ends in an error keeps the sizes before it.
func TestPeerKeepsWhatCameBeforeAnError(t *testing.T) {
	ar, ours, _, _ := twoGPUs(t)
	turns := 0
	ours.turn = func() {
		if turns++; turns == 30 {
			ours.fail = errors.New("the link is down")
		}
	}
	name := filepath.Join(t.TempDir(), "r.csv")
	_, notes, err := contestWith(t, ar, func(c *benchCommand) {
		c.bytes, c.out.file, c.turns.how, c.turns.place = "1KiB:1MiB", name, "graph", "out"
	})
	if exitCode(err, true) != exitFailed || !strings.Contains(err.Error(), "ours: the link is down") || !strings.Contains(notes, "before it is kept") {
		t.Errorf("%v, notes %q", err, notes)
	}
	text, err := os.ReadFile(name)
	if n := strings.Count(string(text), "\n"); err != nil || n < 2 || n > 11 {
		t.Errorf("%v, %d lines", err, n)
	}
	for _, format := range []string{"json", "svg"} { // an error at once leaves nothing to show
		out, _, err := contestWith(t, ar, func(c *benchCommand) { c.out.format = format })
		if exitCode(err, true) != exitFailed || out != "" {
			t.Errorf("%s: %v, printed %q", format, err, out)
		}
	}
	if r := (&contest.Report{}); r.Wrong() != nil || r.Below(1) != nil {
		t.Error("results of nothing")
	}
}

// wrong adds up other things than it is given.
type wrong struct{ allreduce.Executor }

func (w wrong) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	t, err := w.Executor.Run(ctx, p, args)
	at := args[0].Recv[1]
	return t, errors.Join(err, at.Buf.Write([]byte{0x55, 0x55, 0x55, 0x55}, at.Off))
}

// What is wrong is not timed: the run ends, and says where.
func TestBenchTimesNothingWrong(t *testing.T) {
	var stdout, stderr strings.Builder
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, ctx: t.Context()}
	c, cmd := &benchCommand{}, &cobra.Command{}
	a.addBenchFlags(cmd, c)
	if err := cmd.ParseFlags(append(sweepOfTwo, "--engine", "wrong")); err != nil {
		t.Fatal(err)
	}
	c.engine.engines = engineOf("wrong", func(ex allreduce.Executor) allreduce.Executor { return wrong{ex} })
	err := a.bench(cmd, c)
	if exitCode(err, true) != exitFailed || !strings.Contains(err.Error(), "the result is wrong in 1 places: rank 1") || stdout.Len() > 0 {
		t.Errorf("%v with %q", err, stdout.String())
	}
}

// On an engine with room for fewer channels a setting is planned on those.
func TestBenchOnFewerChannels(t *testing.T) {
	var stdout, stderr strings.Builder
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, ctx: t.Context()}
	c, cmd := &benchCommand{}, &cobra.Command{}
	a.addBenchFlags(cmd, c)
	line := "--engine narrow -m v100x4 --bytes 1MiB --algo Ring --proto Simple --cycles 1 --iters 1 --warmup 0"
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	c.engine.engines = engineOf("narrow", func(ex allreduce.Executor) allreduce.Executor { return narrow{ex, 3, nil} })
	if err := a.bench(cmd, c); err != nil || !strings.Contains(stdout.String(), "Ring/Simple x 3") {
		t.Errorf("%v in\n%s", err, stdout.String())
	}
}
