package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// Open sets up executor, buffers and data, and checks one run to the bit.
func (m *benchMachine) Open(ctx context.Context, s bench.Setting) (_ bench.Session, err error) {
	p, force, err := m.planner(s)
	if err != nil {
		return nil, err
	}
	b := &benchSession{}
	if b.ex, err = m.open(p.Layout()); err != nil {
		return nil, cannotOpen(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	var sel *best.Selector
	if s.Algo == bench.Best {
		sel = best.For(classOf(b.ex), m.tables)
	}
	b.chosen = choose(sel, b.ex, s.Bytes, force)
	l, err := m.fitted(b.ex, p, b.chosen.Force, s)
	if err != nil {
		return nil, err
	}
	b.plan = l.Plan
	b.chosen.planned(b.plan)
	if b.chosen.Engine == best.NCCL {
		if err := b.follow(m); err != nil {
			return nil, err
		}
	}
	if b.trial, err = verify.NewTrial(b.ex, l.Plan, verify.Options{InPlace: s.InPlace}); err != nil {
		return nil, err
	}
	if b.chosen.Symmetric {
		if err := contest.Adopt(contest.ByNCCL(b.ex.(*nccl.Executor), true), b.trial, s.InPlace); err != nil {
			return nil, err
		}
	}
	return b, b.check(ctx)
}

// follow goes over to NCCL, which a table chose.
func (b *benchSession) follow(m *benchMachine) error {
	ex, err := m.nccl(b.plan.Layout, b.chosen.Symmetric)
	if err != nil {
		return &bench.SkipError{Reason: fmt.Sprintf("%s is the best by %s: %v", b.chosen.Choice, b.chosen.From, err)}
	}
	err = b.ex.Close()
	b.ex = ex
	return err
}

// benchSession is a setting that is ready to run.
type benchSession struct {
	ex     allreduce.Executor
	plan   *allreduce.Plan
	trial  *verify.Trial
	chosen chosen
}

// check makes sure that what is going to be timed is right.
func (b *benchSession) check(ctx context.Context) error {
	if err := b.trial.Fill(); err != nil {
		return err
	}
	if _, err := b.trial.Run(ctx); err != nil {
		return err
	}
	res, err := b.trial.Check()
	if err != nil {
		return err
	}
	if !res.OK() {
		return fmt.Errorf("the result is wrong in %d places: %v", res.Wrong, res.First)
	}
	return nil
}

// Run times one AllReduce.
func (b *benchSession) Run(ctx context.Context) (time.Duration, error) {
	t, err := b.trial.Run(ctx)
	return t.Elapsed, err
}

// Ran says what was planned.
func (b *benchSession) Ran() bench.Ran {
	if b.chosen.Engine == best.NCCL {
		return bench.Ran{By: b.ex.Name(), From: b.chosen.From.String()}
	}
	w := &b.plan.Works[0]
	return bench.Ran{Algo: w.Algo.String(), Proto: w.Proto.String(), Channels: len(b.plan.Channels()), Threads: b.plan.Threads, From: b.chosen.From.String()}
}

// Close frees everything.
func (b *benchSession) Close() error {
	var err error
	if b.trial != nil {
		err = b.trial.Close()
	}
	return errors.Join(err, b.ex.Close())
}
