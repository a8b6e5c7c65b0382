package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// openTuning reads the tables that --algo best goes by: those of a file, or
// without one the user's own, which need not exist.
func openTuning(file string) (*best.File, error) {
	path := file
	if path == "" {
		var err error
		if path, err = best.DefaultPath(); err != nil {
			return nil, nil // without a home there is nothing to find
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	f, err := best.Open(path)
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	return f, nil
}

// classOf says to which class of machines an executor belongs.
func classOf(ex allreduce.Executor) best.Class {
	if g, ok := ex.(*gpu.Executor); ok {
		h := g.Hardware()
		return best.Class{Engine: g.Name(), Device: h.Device, Devices: h.Devices, Ranks: g.Layout().NRanks, Link: best.Link(h.Link)}
	}
	if ex.Name() != "host" { // what GPUs do in several processes, or NCCL, has no tables
		return best.Class{Engine: ex.Name(), Ranks: ex.Layout().NRanks}
	}
	h := thisHost()
	return best.Class{Engine: ex.Name(), Device: h.CPU, Devices: h.CPUs, Ranks: ex.Layout().NRanks, Link: best.Memory}
}

// chosen is how a message will be run, and why.
type chosen struct {
	best.Choice
	From  best.Origin
	Force plan.Force // what the planner must be told
}

// choose decides how an executor runs a message of bytes: by a selector, or
// without one by what is forced already, or by NCCL's model. What the executor
// cannot run is left to the model. The executor is tuned to the choice; one that
// names NCCL is for the caller to follow.
func choose(sel *best.Selector, ex allreduce.Executor, bytes int64, force plan.Force) chosen {
	force.Can = ex.Can
	c := chosen{Choice: best.Choice{Engine: best.Ours}, From: best.Origin{Kind: best.FromModel}, Force: force}
	switch {
	case sel != nil:
		choice, from, ok := sel.Choose(bytes)
		switch {
		case ok && choice.Engine == best.NCCL:
			c.Choice, c.From = choice, from
		case ok && ex.Can(choice.Algo, choice.Proto) == nil:
			c.Choice, c.From = choice, from
			c.Force.Algo, c.Force.Proto = &choice.Algo, &choice.Proto
		}
	case force.Algo != nil || force.Proto != nil:
		c.From.Kind = best.Forced
	}
	if g, ok := ex.(*gpu.Executor); ok {
		g.Tune(tuning(c.Choice))
	}
	return c
}

// decide says how a step's message is run. NCCL, should a table name it, proves
// nothing of ours.
func (v *validator) decide(force plan.Force, s *step) plan.Force {
	if !s.flags.best() {
		return choose(nil, v.ex, s.task.Bytes(), force).Force
	}
	c := choose(best.For(classOf(v.ex), v.tables), v.ex, s.task.Bytes(), force)
	switch {
	case c.Engine == best.NCCL:
		v.remark("%s: the best is %s (%s): instead of it what NCCL's model chooses of ours was run", sizeText(s.task.Bytes()), c.Choice, c.From)
		return choose(nil, v.ex, s.task.Bytes(), force).Force
	case c.From.Kind == best.FromModel:
		v.remark("nothing is known to be the best here: NCCL's model chose")
	default:
		v.remark("%s is the best choice (%s)", c.Choice, c.From)
	}
	return c.Force
}

// tuning is the launch that a choice asks for.
func tuning(c best.Choice) gpu.DirectTuning {
	return gpu.DirectTuning{Blocks: c.Blocks, Threads: c.Threads, Pieces: c.Pieces}
}

// planned fills in what the planner made of a choice that left it to it.
func (c *chosen) planned(p *allreduce.Plan) {
	if c.Engine == best.Ours {
		c.Algo, c.Proto = p.Works[0].Algo, p.Works[0].Proto
	}
}
