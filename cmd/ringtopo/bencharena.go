package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/internal/job"
)

// arena is where ways to do an AllReduce meet, on one set of devices.
type arena struct {
	machine *benchMachine
	planner *plan.Planner
	class   best.Class
	tables  *best.File
	library contest.Library
	host    bench.Host
	spread  int // of rings on GPUs

	ex     allreduce.Executor
	player func(best.Choice) contest.Player // ours, launched as chosen
	memory contest.Player                   // whose buffers ours and plain NCCL use
	// NCCL's, nil where it does not take part.
	plain, symmetric contest.Player
	closers          []func() error
}

func (ar *arena) close() error {
	var errs []error
	for _, f := range slices.Backward(ar.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// newArena has our engine and NCCL on the GPUs of this machine.
func (a *app) newArena(c *benchCommand) (ar *arena, err error) {
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
	if ar.machine.whole < 2 {
		return ar, &codedError{exitNoGPU, errors.New("NCCL needs a GPU for each of at least two ranks: there is one GPU here")}
	}
	if err := ar.enterGPUs(a, c, opt); err != nil {
		return ar, err
	}
	if ar.class.Crowded() {
		return ar, usage("%d ranks on %d GPUs: NCCL needs a GPU for each; name a machine with %d GPUs (-m), or take fewer ranks (--gpus)", ar.class.Ranks, ar.class.Devices, ar.class.Devices)
	}
	if err := ar.enterNCCL(a, c, opt, !strings.EqualFold(c.algo, allreduce.Ring.String())); err != nil {
		return ar, cannotOpen(err)
	}
	return ar, nil
}

// lay finds the rings of the machine and plans for them.
func (ar *arena) lay(a *app, c *benchCommand) error {
	ms, gpus, env, err := a.open(c.machine)
	if err != nil {
		return noGPU(err)
	}
	if ar.machine, err = newBenchMachine(ms, gpus, env, nil); err != nil {
		return err
	}
	if ar.machine.devs == nil {
		return usage("--peer and --tune run on one node: leave out --nodes and give -m once")
	}
	if c.best() {
		if ar.tables, err = openTuning(c.turns.tuning); err != nil {
			return err
		}
	}
	s, err := c.setting(strings.Split(c.dtype, ",")[0], 1)
	if err != nil {
		return &codedError{exitUsage, err}
	}
	s.World = ar.machine.whole
	if ar.planner, _, err = ar.machine.planner(s); err != nil {
		return usage("%v", err)
	}
	return nil
}

// enterGPUs opens our engine on GPUs.
func (ar *arena) enterGPUs(a *app, c *benchCommand, opt engineOptions) error {
	if slices.Equal(c.machine.machines, []string{job.Auto}) {
		opt.devices = ar.machine.devs
	}
	opt.tuned(true)
	ar.spread = opt.spread
	ex, err := c.engine.named("gpu").open(a, ar.planner.Layout(), opt)
	if err != nil {
		return cannotOpen(err)
	}
	g, ok := ex.(*gpu.Executor)
	if !ok {
		return errors.Join(usage("--peer and --tune drive all GPUs from one process: leave out --procs"), ex.Close())
	}
	ar.enter(ex, func(c best.Choice) contest.Player { return contest.OnGPUs(g, tuning(c)) })
	ar.host = gpuHost(g.Hardware())
	return nil
}

// enter makes an executor the arena's own.
func (ar *arena) enter(ex allreduce.Executor, player func(best.Choice) contest.Player) {
	ar.ex, ar.player, ar.class = ex, player, classOf(ex)
	ar.memory = player(best.Choice{})
	ar.closers = append(ar.closers, ex.Close)
}

// enterNCCL opens NCCL on the same GPUs, with symmetric windows too where it has
// them and they are wanted: a ring that is forced is not theirs.
func (ar *arena) enterNCCL(a *app, c *benchCommand, opt engineOptions, windows bool) error {
	at := ar.ex.(*gpu.Executor).Placement()
	opt.devices = nil
	for rank := range ar.class.Ranks {
		opt.devices = append(opt.devices, at[rank])
	}
	plain, err := ar.openNCCL(a, c, opt)
	if err != nil {
		return err
	}
	if ar.library.Version, err = plain.Version(); err != nil {
		return err
	}
	ar.library.Path, ar.library.Env = opt.nccl, ncclVariables(os.Environ())
	ar.plain = contest.ByNCCL(plain, false)
	if !windows {
		ar.library.NoSymmetric = "NCCL_ALGO and NCCL_PROTO do not hold for them"
		return nil
	}
	opt.symmetric = true
	sym, err := ar.openNCCL(a, c, opt)
	if errors.Is(err, nccl.ErrNoWindows) {
		ar.library.NoSymmetric = err.Error()
		return nil
	}
	if err == nil {
		ar.symmetric = contest.ByNCCL(sym, true)
	}
	return err
}

func (ar *arena) openNCCL(a *app, c *benchCommand, opt engineOptions) (*nccl.Executor, error) {
	ex, err := c.engine.named("nccl").open(a, ar.planner.Layout(), opt)
	if err != nil {
		return nil, err
	}
	ar.closers = append(ar.closers, ex.Close)
	return ex.(*nccl.Executor), nil
}

// report is one without results.
func (ar *arena) report(machine []string, rounds int) *contest.Report {
	return &contest.Report{Schema: contest.Schema, Machine: machine, Class: ar.class, Host: ar.host, NCCL: ar.library,
		Started: time.Now().UTC().Truncate(time.Second), Rounds: rounds, Spread: ar.spread}
}

// play compares one message by all ways of calling.
func (ar *arena) play(ctx context.Context, s bench.Setting, p *comparison) ([]contest.Result, error) {
	ours, pl, err := ar.choose(s)
	if err != nil {
		return nil, err
	}
	m := contest.Match{InPlace: s.InPlace, Hows: p.hows, Rules: p.rules, Entries: []contest.Entry{ar.entry(contest.Ours, ours.Choice, pl)}}
	for _, x := range []struct {
		name   string
		player contest.Player
		choice best.Choice
	}{{contest.Plain, ar.plain, best.Choice{Engine: best.NCCL}}, {contest.Symmetric, ar.symmetric, best.Choice{Engine: best.NCCL, Symmetric: true}}} {
		if x.player != nil {
			m.Entries = append(m.Entries, ar.entry(x.name, x.choice, pl))
		}
	}
	outcomes, err := m.Play(ctx)
	if err != nil {
		return nil, err
	}
	var list []contest.Result
	for _, o := range outcomes {
		r := contest.Result{Bytes: s.Bytes, Count: pl.Works[0].Count, DType: s.DType, Op: s.Op, Ranks: ar.class.Ranks, InPlace: s.InPlace,
			How: o.How, Choice: ours.Choice, From: ours.From, Series: o.Series}
		if ours.Engine == best.Ours && !ours.Algo.Direct() {
			r.Channels, r.Threads = len(pl.Channels()), pl.Threads
		}
		r.Judge()
		list = append(list, r)
	}
	return list, nil
}

// choose decides and plans what ours does with a message.
func (ar *arena) choose(s bench.Setting) (chosen, *allreduce.Plan, error) {
	s.World = ar.class.Ranks
	force, err := forced(s)
	if err != nil {
		return chosen{}, nil, err
	}
	var sel *best.Selector
	if s.Algo == bench.Best {
		sel = best.For(ar.class, ar.tables)
	}
	c := choose(sel, ar.ex, s.Bytes, force)
	c.Symmetric = c.Symmetric && ar.symmetric != nil
	l, err := ar.machine.fitted(ar.ex, ar.planner, c.Force, s)
	if err != nil {
		return c, nil, err
	}
	c.planned(l.Plan)
	return c, l.Plan, nil
}

// entry has a choice take part: by our engine, or by NCCL, on our buffers where
// it can.
func (ar *arena) entry(name string, c best.Choice, p *allreduce.Plan) contest.Entry {
	e := contest.Entry{Name: name, Plan: p, Memory: ar.memory, Loose: c.Engine == best.NCCL}
	switch {
	case c.Engine == best.Ours:
		e.Player = ar.player(c)
	case c.Symmetric && ar.symmetric != nil:
		e.Player, e.Memory = ar.symmetric, ar.symmetric
	default:
		e.Player = ar.plain
	}
	return e
}
