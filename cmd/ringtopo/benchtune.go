package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// tuneTie is how much slower than the best a choice may be so that a table does
// not change hands for nothing; tuneCut is who need not be measured further.
const (
	tuneTie = 0.02
	tuneCut = 1.5
)

// benchTune finds the best choice for each size and keeps it.
func (a *app) benchTune(cmd *cobra.Command, c *benchCommand) error {
	format := orWord(c.out.format, "table") // --out names the file of tables
	if format != "table" && format != "json" {
		return usage("-o %s: --tune writes table or json", format)
	}
	hows, err := c.turns.hows()
	if err != nil {
		return err
	}
	if len(hows) > 1 {
		return usage("--how %s: a table is tuned to one way of calling", c.turns.how)
	}
	rules, err := c.turns.rules()
	if err != nil {
		return err
	}
	rules.Cut = tuneCut
	if err := keepable(c); err != nil { // at once, not when all is measured
		return err
	}
	e, err := c.engine.choose(c.machine)
	if err != nil {
		return err
	}
	if e.name == "host" && cmd.Flags().Changed("how") {
		return usage("--how %s: on the CPU every run is awaited", c.turns.how)
	}
	if !cmd.Flags().Changed("bytes") {
		c.bytes = map[string]string{"host": "1KiB:16MiB:4"}[e.name]
		c.bytes = orWord(c.bytes, "1KiB:256MiB:4")
	}
	ar, err := a.tuningArena(c, e)
	if err != nil {
		return err
	}
	t, err := a.tune(c, ar, hows[0], rules)
	if err = errors.Join(err, ar.close()); err != nil {
		return failedRun(err)
	}
	path, err := keep(c, t)
	if err != nil {
		return err
	}
	return a.print(func(w io.Writer) error { return writeTuned(w, t, path, format) })
}

// tuningArena has the engine to be tuned, and on GPUs NCCL where there is one.
func (a *app) tuningArena(c *benchCommand, e engine) (ar *arena, err error) {
	ar = &arena{}
	defer func() {
		if err != nil {
			err = errors.Join(err, ar.close())
			ar = nil
		}
	}()
	opt, err := c.engine.options()
	if err != nil {
		return ar, err
	}
	if err := ar.lay(a, c); err != nil {
		return ar, err
	}
	switch e.name {
	case "gpu":
		if err := ar.enterGPUs(a, c, opt); err != nil {
			return ar, err
		}
		if ar.class.Ranks > 1 && !ar.class.Crowded() {
			if err := ar.enterNCCL(a, c, opt, true); err != nil {
				ar.plain, ar.symmetric, ar.library = nil, nil, contest.Library{}
				a.note("without NCCL: %v", err)
			}
		}
	case "host":
		ex, err := e.open(a, ar.planner.Layout(), opt)
		if err != nil {
			return ar, &codedError{exitFailed, err}
		}
		player := contest.ByRuns(ex)
		ar.enter(ex, func(best.Choice) contest.Player { return player })
		ar.host = thisHost()
	default:
		return ar, usage("--tune with --engine %s: it chooses itself", e.name)
	}
	return ar, nil
}

// tune measures all candidates for every size and makes a table of them.
func (a *app) tune(c *benchCommand, ar *arena, how contest.How, rules contest.Rules) (*best.Table, error) {
	if ar.class.Ranks < 2 {
		return nil, usage("--tune: one rank alone only copies; name a machine with more (-m)")
	}
	if ar.class.Engine == "host" {
		how = contest.Runs
	}
	sizes, err := parseSizes(c.bytes)
	if err != nil {
		return nil, err
	}
	t := &best.Table{Class: ar.class, Trial: best.Trial{Date: time.Now().UTC().Truncate(time.Second), Software: software(ar), How: string(how), Rounds: rules.Rounds}}
	bar := a.newProgress()
	defer bar.end()
	for i, bytes := range sizes {
		s, err := c.setting(c.dtype, bytes)
		if err != nil {
			return nil, &codedError{exitUsage, err}
		}
		if s.Bytes%int64(s.DType.Size()) != 0 {
			return nil, usage("--bytes %d: want a multiple of %d, the size of %s", bytes, s.DType.Size(), s.DType)
		}
		t.Trial.DType, t.Trial.Op = s.DType, s.Op
		s.World = ar.class.Ranks
		bar.show(i, len(sizes), s)
		size, err := ar.try(a.ctx, s, how, rules)
		if err != nil {
			return nil, fmt.Errorf("%d bytes: %w", bytes, err)
		}
		t.Trial.Sizes = append(t.Trial.Sizes, size)
	}
	t.Rows = best.Fit(t.Trial.Sizes, tuneTie)
	return t, nil
}

// software names the versions that a table belongs to.
func software(ar *arena) map[string]string {
	list := map[string]string{"ringtopo": ar.host.Ringtopo, "kernel": ar.host.Kernel, "go": ar.host.Go}
	if ar.host.Driver != "" {
		list["driver"] = ar.host.Driver
	}
	if ar.library.Version != "" {
		list["nccl"] = ar.library.Version
	}
	return list
}

// try has all candidates for a message take turns.
func (ar *arena) try(ctx context.Context, s bench.Setting, how contest.How, rules contest.Rules) (best.Size, error) {
	size, choices := best.Size{Bytes: s.Bytes}, []best.Choice(nil)
	m := contest.Match{Hows: []contest.How{how}, Rules: rules}
	for _, c := range best.Candidates(ar.class, s.Bytes) {
		if c.Engine == best.NCCL && (ar.plain == nil || c.Symmetric && ar.symmetric == nil) || c.Engine == best.Ours && ar.ex.Can(c.Algo, c.Proto) != nil {
			continue
		}
		force := plan.Force{Can: ar.ex.Can}
		if c.Engine == best.Ours {
			force.Algo, force.Proto = &c.Algo, &c.Proto
		}
		l, err := ar.machine.fitted(ar.ex, ar.planner, force, s)
		if err != nil {
			var skip *bench.SkipError
			if errors.As(err, &skip) {
				continue
			}
			return size, err
		}
		m.Entries = append(m.Entries, ar.entry(c.String(), c, l.Plan))
		choices = append(choices, c)
	}
	if len(m.Entries) == 0 {
		return size, fmt.Errorf("nothing can run on %s", ar.class)
	}
	outcomes, err := m.Play(ctx)
	if err != nil {
		return size, err
	}
	for i, x := range outcomes[0].Series {
		if x.Wrong == 0 { // NCCL's may have been
			size.Candidates = append(size.Candidates, best.Candidate{Choice: choices[i], Median: x.Median()})
		}
	}
	return size, nil
}
