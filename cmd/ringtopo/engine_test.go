package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
)

// narrow has room for a few channels only, as a GPU with many ranks has.
type narrow struct {
	allreduce.Executor
	most int
	err  error
}

func (n narrow) MostChannels(*allreduce.Plan) (int, error) { return n.most, n.err }

// validateWith runs validate on engines of the test's own. It gives the result
// as it is printed.
func validateWith(t *testing.T, list []engine, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: io.Discard, ctx: context.Background()}
	c, cmd := &validateCommand{}, &cobra.Command{}
	a.addValidateFlags(cmd, c)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	c.hasM, c.hasBytes, c.engine.engines = cmd.Flags().Changed("machine"), cmd.Flags().Changed("bytes"), list
	err := a.validate(c)
	return out.String(), err
}

// usable is an engine that is there.
func usable(*engineFlags) error { return nil }

// engineOf is the CPU engine, changed.
func engineOf(name string, change func(allreduce.Executor) allreduce.Executor) []engine {
	return []engine{{name: name, usable: usable, open: func(a *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
		ex, err := openHost(a, l, o)
		if err != nil {
			return nil, err
		}
		return change(ex), nil
	}}}
}

// Where not all channels fit, messages are planned on those that do, a note says
// so, and every ring is proved all the same.
func TestFewerChannels(t *testing.T) {
	list := engineOf("narrow", func(ex allreduce.Executor) allreduce.Executor { return narrow{ex, 3, nil} })
	out, err := validateWith(t, list, "--engine", "narrow", "-m", "v100x4", "--bytes", "1MiB", "--algo", "Ring", "--proto", "Simple", "--rounds", "1", "--stress=false")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ran on 3 of 12 channels: ", "--ranks-per-gpu", "\n 0-2      │", " 4        │ 0 3 1 2", "PASSED: 14 runs"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q in\n%s", want, out)
		}
	}
	full := errors.New("no block fits")
	list = engineOf("narrow", func(ex allreduce.Executor) allreduce.Executor { return narrow{ex, 0, full} })
	if _, err := validateWith(t, list, "--engine", "narrow", "-m", "v100x4", "--bytes", "1KiB"); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// picky cannot run one protocol.
type picky struct{ allreduce.Executor }

func (p picky) Can(a allreduce.Algo, proto allreduce.Proto) error {
	if proto == allreduce.LL128 {
		return &allreduce.UnsupportedError{Executor: "picky", Algo: a, Proto: proto, Reason: "lines may break"}
	}
	return p.Executor.Can(a, proto)
}

// What an engine cannot run is left out of a list, with the reason, and is an
// error where nothing else was asked for.
func TestLeavesOut(t *testing.T) {
	list := engineOf("picky", func(ex allreduce.Executor) allreduce.Executor { return picky{ex} })
	args := []string{"--engine", "picky", "--ring", "0 1 2", "--bytes", "1KiB", "--rounds", "1"}
	out, err := validateWith(t, list, append(args, "--proto", "LL,LL128,Simple")...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "left out: picky does not run Ring/LL128: lines may break") || !strings.Contains(out, "PASSED: 4 runs") {
		t.Errorf("got\n%s", out)
	}
	_, err = validateWith(t, list, append(args, "--proto", "LL128")...)
	var coded *codedError
	if !errors.As(err, &coded) || coded.code != exitUsage || !strings.Contains(err.Error(), "lines may break") {
		t.Errorf("got %v", err)
	}
}

// What cannot be about ranks on GPUs is told before any GPU is asked.
func TestRanksOnGPUs(t *testing.T) {
	for name, o := range map[string]engineOptions{
		"on the GPUs of -m auto": {perGPU: 2, devices: []int{0, 1}}, "as processes": {perGPU: 2, procs: true},
	} {
		_, err := openGPU(&app{err: io.Discard}, nil, o)
		var coded *codedError
		if !errors.As(err, &coded) || coded.code != exitUsage || !strings.Contains(err.Error(), "name a machine (-m) and leave out --procs") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
