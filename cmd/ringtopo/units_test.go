package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// TestExitCodes: what a user has to mend decides the code, however deep the
// cause lies.
func TestExitCodes(t *testing.T) {
	_, unknown := machines.Open("v100x5")
	for _, c := range []struct {
		err     error
		running bool
		want    int
	}{
		{errors.New("unknown flag"), false, exitUsage},
		{errors.New("broken machine"), true, exitTopology},
		{usage("no"), true, exitUsage},
		{unknown, true, exitUsage},
		{&ncclxml.DeviceError{Dev: 9}, true, exitUsage},
		{&probe.DeviceError{Dev: 9}, true, exitUsage},
		{&probe.SaveError{Dir: "here", Err: fs.ErrExist}, true, exitUsage},
		{newOutputError("x.json", syscall.ENOSPC), true, exitUsage},
		{noGPU(fmt.Errorf("asking: %w", probe.ErrNoGPU)), true, exitNoGPU},
		{noGPU(errors.New("another")), true, exitTopology},
		{&codedError{exitFailed, errors.New("wrong")}, true, exitFailed},
		{syscall.ENOMEM, true, exitUsage},
		{fs.ErrNotExist, true, exitTopology},
	} {
		if got := exitCode(fmt.Errorf("command: %w", c.err), c.running); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestOutputErrorsNameWhatTheUserNamed, not the file beside it in the making.
func TestOutputErrorsNameWhatTheUserNamed(t *testing.T) {
	err := newOutputError("out.json", fmt.Errorf("saving: %w", &fs.PathError{Op: "open", Path: "/tmp/.out.json.123", Err: syscall.EACCES}))
	if err.Error() != "writing out.json: permission denied" || !errors.Is(err, syscall.EACCES) {
		t.Errorf("got %v", err)
	}
}

// TestListsComeBack: what numbers are written as, they are read from.
func TestListsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 1, 30, rapid.ID).Draw(t, "numbers")
		slices.Sort(want)
		channels, err := parseChannels(runs(want))
		if err != nil || !slices.Equal(channels, want) {
			t.Errorf("%v is written as %s and read as %v, %v", want, runs(want), channels, err)
		}
		gpus, err := parseGPUs(runs(want))
		if err != nil || !slices.Equal(gpus, want) {
			t.Errorf("%v is written as %s and read as GPUs %v, %v", want, runs(want), gpus, err)
		}
	})
}

// TestListsRefuse any text that is none, in time and with the flag's name.
func TestListsRefuse(t *testing.T) {
	for _, text := range []string{",", "1,", "1-", "-1", "2-1", "x", "1 2", "1-2-3", "0x1", "9999999999999999999", "1-9999999999"} {
		if got, err := parseGPUs(text); err == nil || !strings.Contains(err.Error(), "--gpus") {
			t.Errorf("GPUs %q: %v, %v", text, got, err)
		}
		if got, err := parseChannels(text); err == nil {
			t.Errorf("channels %q: %v", text, got)
		}
	}
	if got, err := parseGPUs(""); got != nil || err != nil {
		t.Errorf("no list is %v, %v", got, err)
	}
	if got, err := parseGPUs(" 3, 1 ,0-1"); err != nil || !slices.Equal(got, []int{3, 1, 0, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestFlagsSayWhatTheyWant, in words and not in those of a language's library.
func TestFlagsSayWhatTheyWant(t *testing.T) {
	for line, want := range map[string]string{
		"rings --nodes x":                    `--nodes "x": want a whole number`,
		"rings --nodes 1.5":                  `--nodes "1.5": want a whole number`,
		"rings --nodes 99999999999999999999": `--nodes 99999999999999999999: the number is out of range`,
		"rings -q=maybe":                     `--quiet "maybe": want true or false`,
		"rings --full=2x":                    `--full "2x": want true or false`,
		"topo --sm nine":                     `--sm "nine": want a whole number`,
		"rings --frobnicate":                 `unknown flag: --frobnicate`,
		"rings --machines v100x4":            `unknown flag: --machines; did you mean --machine?`,
		"plan --chan 0":                      `unknown flag: --chan; did you mean --channels?`,
		"rings -z":                           `unknown shorthand flag: 'z' in -z`,
		"rings --rank":                       `flag needs an argument: --rank`,
		"schedule --loop later":              `--loop "later": want a whole number`,
		"topo --nic-gbps -5 -m v100x4":       `--nic-gbps -5: want a speed in Gb/s, 1 to 100000`,
		"topo --nic-gbps 0 -m v100x4":        `--nic-gbps 0: want a speed in Gb/s, 1 to 100000`,
		"topo --nic-gbps 999999999 -m box":   `--nic-gbps 999999999: want a speed in Gb/s, 1 to 100000`,
		"topo --sm 9 -m v100x4":              `--sm 9: give a compute capability without the dot, for example 90 for 9.0`,
		"topo --pcie 9 -m v100x4":            `--pcie 9: there are generations 1 to 6`,
		"topo --nvswitch perhaps -m v100x4":  `--nvswitch perhaps: say yes or no`,
		"plan -m v100x4 --nchannels 99":      `--nchannels 99: want 1 to 32`,
		"plan -m v100x4 --op xor":            `--op: unknown operation "xor": want one of sum, prod, max, min, avg`,
		"model --slots 3":                    `no case has --slots 3: ringtopo model lists them all`,
	} {
		var out, notes bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &notes}
		args := strings.Fields(line)
		if code := a.run(t.Context(), args); code != exitUsage {
			t.Errorf("%s: exit code %d", line, code)
		}
		got := strings.Split(notes.String(), "\n")
		if got[0] != "ringtopo: "+want || got[1] != "See 'ringtopo "+args[0]+" --help'." || out.Len() > 0 {
			t.Errorf("%s: %q and %q on stdout, want %q", line, notes.String(), out.String(), want)
		}
	}
}

// TestQuietIsQuiet: -q leaves the result and takes the notes, at any place.
func TestQuietIsQuiet(t *testing.T) {
	line := []string{"rings", "-m", "v100x4", "-m", "a100x4", "--set", "NCCL_MIN_NCHANNELS=2", "--set", "NCCL_FOO=1"}
	run := func(args ...string) (string, string) {
		var out, notes bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &notes}
		if code := a.run(context.Background(), args); code != exitGood {
			t.Fatalf("%q: exit code %d: %s", args, code, notes.String())
		}
		return out.String(), notes.String()
	}
	loud, notes := run(line...)
	for _, want := range []string{"note: NCCL_MIN_NCHANNELS=2 acts\n", "no network", "NCCL_FOO has no influence"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
	for _, args := range [][]string{append([]string{"-q"}, line...), append(slices.Clone(line), "--quiet")} {
		out, notes := run(args...)
		if out != loud || notes != "" {
			t.Errorf("%q: notes %q, the same result: %v", args, notes, out == loud)
		}
	}
}

func TestLinesAreBroken(t *testing.T) {
	cells := []string{"a", "b", "c", "d", "e"}
	for perLine, want := range map[int]string{1: "a\nb\nc\nd\ne", 2: "a  b\nc  d\ne", 5: "a  b  c  d  e", 9: "a  b  c  d  e"} {
		if got := lines(cells, perLine); got != want {
			t.Errorf("%d on a line: %q", perLine, got)
		}
	}
	if got := more([]string{"a"}, 3); !slices.Equal(got, []string{"a", "3 more"}) {
		t.Errorf("got %q", got)
	}
	if got := more([]string{"a"}, 0); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q", got)
	}
}
