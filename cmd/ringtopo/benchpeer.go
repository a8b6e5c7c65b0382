package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
)

// benchPeer compares with NCCL.
func (a *app) benchPeer(c *benchCommand) error {
	p, err := c.comparison()
	if err != nil {
		return err
	}
	if err := c.engine.named("gpu").usable(c.engine); err != nil {
		return &codedError{exitNoGPU, fmt.Errorf("--peer nccl compares on this machine's GPUs: %w", err)}
	}
	if err := a.tellNCCL(c); err != nil {
		return err
	}
	ar, err := a.newArena(c)
	if err != nil {
		return err
	}
	err = a.compete(c, p, ar)
	return errors.Join(err, ar.close())
}

// tellNCCL sets variables of this process, which NCCL reads when it starts:
// those of --set, and for a ring that is forced NCCL's own ring.
func (a *app) tellNCCL(c *benchCommand) error {
	told := map[string]string{}
	for _, text := range c.machine.set {
		name, value, err := ncclenv.ParseSetting(text)
		if err != nil {
			return usage("%v", err)
		}
		told[name] = value
	}
	if strings.EqualFold(c.algo, allreduce.Ring.String()) {
		told["NCCL_ALGO"] = allreduce.Ring.String()
		if !strings.EqualFold(c.proto, bench.Auto) {
			told["NCCL_PROTO"] = c.proto
		}
		a.note("NCCL runs a ring, too: %s", describeEnv(told))
	}
	for name, value := range told {
		if err := os.Setenv(name, value); err != nil {
			return usage("--set %s=%s: %v", name, value, err)
		}
	}
	return nil
}

// compete plays all matches and shows them, also those before an interrupt or an
// error.
func (a *app) compete(c *benchCommand, p *comparison, ar *arena) error {
	report := ar.report(c.machine.machines, p.rules.Rounds)
	show := a.show(c, p, report)
	runErr := a.playAll(p, ar, report, show)
	report.Finished = runErr == nil
	switch {
	case runErr == nil:
	case len(report.Results) == 0:
		return failedRun(runErr)
	case errors.Is(runErr, context.Canceled):
		a.note("interrupted: what was measured is kept")
		a.ctx = context.WithoutCancel(a.ctx)
	default:
		a.note("ended by an error: what was measured before it is kept")
	}
	var err error
	if p.format != "table" || c.out.file != "" {
		err = a.emit(c.out, func(w io.Writer) error { return writePeer(w, report, p.format) })
	}
	if runErr != nil {
		return errors.Join(failedRun(runErr), err)
	}
	if err != nil {
		return err
	}
	if wrong := report.Wrong(); len(wrong) > 0 {
		return &codedError{exitFailed, fmt.Errorf("NCCL gave wrong bits (marked !): %s", listResults(wrong, func(contest.Result) string { return "" }))}
	}
	return tooSlow(report.Below(p.minRatio), p.minRatio)
}

// failedRun is the error of a measurement that did not come to its end.
func failedRun(err error) error {
	var coded *codedError
	var output *outputError
	if errors.As(err, &coded) || errors.As(err, &output) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, context.Canceled) {
		return tooLarge(err)
	}
	return &codedError{exitFailed, err}
}

// show prints the table line by line as it grows: to stdout where that is what
// was asked for, else as progress to stderr.
func (a *app) show(c *benchCommand, p *comparison, r *contest.Report) func(string) error {
	if p.format == "table" && c.out.file == "" {
		return func(line string) error {
			return a.print(func(w io.Writer) error { _, err := io.WriteString(w, line); return err })
		}
	}
	return func(line string) error {
		if !a.quiet {
			fmt.Fprint(a.err, line)
		}
		return nil
	}
}

func (a *app) playAll(p *comparison, ar *arena, report *contest.Report, show func(string) error) error {
	if err := show(peerHead(report)); err != nil {
		return err
	}
	for _, s := range p.settings {
		results, err := ar.play(a.ctx, s, p)
		if err != nil {
			return fmt.Errorf("%d bytes of %s: %w", s.Bytes, s.DType, err)
		}
		report.Results = append(report.Results, results...)
		for i := range results {
			if err := show(peerLine(&results[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// tooSlow is the error of results below the limit.
func tooSlow(below []contest.Result, limit float64) error {
	if len(below) == 0 {
		return nil
	}
	list := listResults(below, func(r contest.Result) string { return fmt.Sprintf(" %.2f", r.Ratio) })
	return &codedError{exitFailed, fmt.Errorf("below --min-ratio %v: %s", limit, list)}
}

// shownResults are named in a message.
const shownResults = 5

func listResults(list []contest.Result, more func(contest.Result) string) string {
	var names []string
	for i, r := range list {
		if i == shownResults {
			names = append(names, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		names = append(names, fmt.Sprintf("%d bytes of %s %s by %s%s", r.Bytes, r.DType, placeWord(r.InPlace), r.How, more(r)))
	}
	return strings.Join(names, "; ")
}
