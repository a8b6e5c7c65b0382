package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
)

// tuneWith tunes the fake machine and gives its table.
func tuneWith(t *testing.T, ar *arena, sizes string) *best.Table {
	t.Helper()
	var stderr bytes.Buffer
	a := &app{err: &stderr, ctx: context.Background()}
	c := &benchCommand{machine: &machineFlags{machines: []string{"auto"}}, bytes: sizes, algo: "auto", proto: "auto", dtype: "float32", op: "sum", buffsize: "4MiB"}
	table, err := a.tune(c, ar, contest.Graph, contest.Rules{Rounds: 2, Launches: 2, Cut: tuneCut})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The fastest is chosen by size, whoever it is; NCCL takes part where it is.
func TestTuneFindsTheFastest(t *testing.T) {
	ar, ours, plain, symmetric := twoGPUs(t)
	fast := func(c best.Choice) int { // us of our choices
		switch {
		case c.Algo == allreduce.OneShot && c.Proto == allreduce.LL && c.Blocks == 32:
			return 3
		case c.Algo == allreduce.TwoShot && c.Pieces == 2:
			return 2
		}
		return 7
	}
	ar.player = func(c best.Choice) contest.Player {
		return &paced{Executor: ours.Executor, pace: contest.Pace{Device: time.Duration(fast(c)) * time.Microsecond}}
	}
	ar.memory = ar.player(best.Choice{})
	table := tuneWith(t, ar, "1KiB:256KiB:16")
	if table.Class != h200x2 || table.Trial.How != "graph" || table.Trial.Rounds != 2 || table.Trial.Software["nccl"] != "2.28.9" || len(table.Trial.Sizes) != 3 {
		t.Errorf("%+v", table)
	}
	for bytes, want := range map[int64]string{1 << 10: "OneShot/LL x 32 blocks", 16 << 10: "OneShot/LL x 32 blocks", 256 << 10: "TwoShot/Simple x 128 blocks, 2 pieces"} {
		if c := table.Choose(bytes); c.String() != want {
			t.Errorf("%d bytes: %s, want %s", bytes, c, want)
		}
	}
	if rows := table.Rows; len(rows) != 2 || rows[0].UpTo != 64<<10 {
		t.Errorf("rows %+v, want the second from 64 KiB on", rows)
	}

	plain.pace.Device, symmetric.pace.Device = 1800*time.Nanosecond, time.Microsecond
	table = tuneWith(t, ar, "256KiB")
	if c := table.Choose(1); c != (best.Choice{Engine: best.NCCL, Symmetric: true}) {
		t.Errorf("%s, want NCCL's windows", c)
	}
	if out := shown(t, table); !strings.Contains(out, "NCCL with symmetric windows │ 1.00") || !strings.Contains(out, "NCCL 1.80; TwoShot/Simple x 128 blocks, 2 pieces 2.00") {
		t.Errorf("shown as\n%s", out)
	}
	symmetric.lie = true // fast and wrong
	if c := tuneWith(t, ar, "256KiB").Choose(1); c != (best.Choice{Engine: best.NCCL}) {
		t.Errorf("%s, want NCCL: its windows give wrong bits", c)
	}
	ar.symmetric = nil
	if c := tuneWith(t, ar, "256KiB").Choose(1); c != (best.Choice{Engine: best.NCCL}) {
		t.Errorf("%s, want NCCL", c)
	}
	ar.plain = nil
	if c := tuneWith(t, ar, "256KiB").Choose(1); c.Engine != best.Ours {
		t.Errorf("%s, without NCCL", c)
	}
}

func shown(t *testing.T, table *best.Table) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeTuned(&b, table, "t.json", "table"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Wrong bits end a tuning, and nothing is kept.
func TestTuneRefusesWrongBits(t *testing.T) {
	ar, ours, _, _ := twoGPUs(t)
	ours.lie = true
	a := &app{err: &bytes.Buffer{}, ctx: context.Background()}
	c := &benchCommand{machine: &machineFlags{}, bytes: "1KiB", algo: "auto", proto: "auto", dtype: "float32", op: "sum", buffsize: "4MiB"}
	_, err := a.tune(c, ar, contest.Graph, contest.Rules{Rounds: 1, Launches: 1})
	if err == nil || exitCode(failedRun(err), true) != exitFailed || !strings.Contains(err.Error(), "OneShot/LL: ") {
		t.Errorf("error %v", err)
	}
}

// Tables go into one file, through one beside it; folders are made for it.
func TestTablesAreKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "tuning.json")
	file := &best.File{}
	for ranks := range 3 {
		class := h200x2
		class.Ranks = ranks + 2
		file.Put(best.Table{Class: class, Rows: []best.Row{{Choice: best.Choice{Engine: best.NCCL}}}})
		if err := writeTables(path, file); err != nil {
			t.Fatal(err)
		}
		back, err := best.Open(path)
		if err != nil || len(back.Tables) != ranks+1 {
			t.Fatalf("%v, %d tables", err, len(back.Tables))
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, beside it %v", err, entries)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, folder's mode %v", err, info.Mode())
	}
	var output *outputError
	if err := writeTables(filepath.Join(path, "c", "t.json"), file); err == nil || !errors.As(err, &output) {
		t.Errorf("below a file: %v", err)
	}
}

// Two that tune at once lose none of their tables: each puts its own beside what
// is there when it is done.
func TestTablesOfOthersStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tuning.json")
	c := &benchCommand{out: &output{file: path}}
	row := []best.Row{{Choice: best.Choice{Engine: best.NCCL}}}
	_, before, err := tuned(c) // as the first looks before it measures
	if err != nil || len(before.Tables) != 0 {
		t.Fatalf("%v, %d tables", err, len(before.Tables))
	}
	other := h200x2
	other.Device = "NVIDIA L4"
	for _, class := range []best.Class{other, h200x2, h200x2} {
		if at, err := keep(c, &best.Table{Class: class, Rows: row}); err != nil || at != path {
			t.Fatalf("%v, kept in %s", err, at)
		}
	}
	back, err := best.Open(path)
	if err != nil || len(back.Tables) != 2 || back.Tables[0].Class != other || back.Tables[1].Class != h200x2 {
		t.Errorf("%v, %+v", err, back)
	}
	if err := os.WriteFile(path, []byte("no JSON"), 0o600); err != nil { // meanwhile
		t.Fatal(err)
	}
	if _, err := keep(c, &best.Table{Class: h200x2, Rows: row}); exitCode(err, true) != exitUsage {
		t.Errorf("over what is not understood: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "no JSON" {
		t.Errorf("%v, the file is %q", err, text)
	}
}

// What -o json prints is a file of tables itself.
func TestTunedAsJSONIsAFile(t *testing.T) {
	table := best.Table{Class: h200x2, Rows: []best.Row{{Choice: best.Choice{Engine: best.NCCL}}}}
	var b bytes.Buffer
	if err := writeTuned(&b, &table, "t.json", "json"); err != nil {
		t.Fatal(err)
	}
	f, err := best.Read(&b, "printed")
	if err != nil || f.Schema != best.Schema || len(f.Tables) != 1 || f.Tables[0].Class != h200x2 {
		t.Errorf("%v, %+v", err, f)
	}
}

// An NCCL that has plain calls and fails with windows is left out as a whole, as
// the note says.
func TestTuneWithoutNCCLThatFails(t *testing.T) {
	m := newFakeMachine(t, 2)
	m.windowTrouble = errors.New("unhandled cuda error")
	_, notes, err := m.bench("--tune", "--engine", "gpu", "-m", "h200x2", "--bytes", "4KiB")
	if !strings.Contains(notes, "without NCCL: unhandled cuda error") {
		t.Errorf("notes %q", notes)
	}
	if err == nil || len(m.calls[0])+len(m.calls[1]) > 0 || m.plays > 0 { // fake kernels are found out
		t.Errorf("%v, NCCL was called %d times", err, m.plays)
	}
}
