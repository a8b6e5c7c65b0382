package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// proof says how a message is proved.
type proof struct {
	patterns []verify.Pattern
	rounds   int  // with the first pattern
	measured bool // --min-busbw counts
}

// prove plans one message, runs it, and adds it to the report.
func (v *validator) prove(ctx context.Context, planner *plan.Planner, force plan.Force, t plan.Task, r allreduce.Run, how proof) error {
	force.Can = v.ex.Can
	launches, err := planner.Plan([]plan.Task{t}, force)
	if err != nil || len(launches) != 1 {
		return usage("%s of %s: %v", sizeText(t.Bytes()), t.DType, err)
	}
	l := launches[0]
	if re := l.Details[0].Choice.Replaced; re != nil {
		v.remark("%s", re)
	}
	l.Plan.Layout = v.ex.Layout() // alike, but its own
	v.describe(&r, l)
	err = v.measure(ctx, l.Plan, &r, how)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.report.Runs = append(v.report.Runs, r)
	return v.judge(&r, err, how)
}

// describe fills in what is known of a run before it.
func (v *validator) describe(r *allreduce.Run, l *plan.Launch) {
	w := &l.Plan.Works[0]
	r.Algo, r.Proto, r.DType, r.Op, r.Bytes = w.Algo, w.Proto, w.DType, w.Op, w.Bytes()
	if r.Ring != nil {
		return
	}
	r.Channels = l.Plan.Channels()
	bw := v.comm.Ring.BWIntra
	if v.comm.NNodes > 1 {
		bw = min(bw, v.comm.Ring.BWInter)
	}
	if w.Algo == allreduce.Ring {
		r.PredictedBusBW = float64(bw) * float64(len(r.Channels))
	}
	r.SlowestHop = v.slowestOf(r.Channels)
}

// measure runs a plan with every pattern and looks at all data.
func (v *validator) measure(ctx context.Context, p *allreduce.Plan, r *allreduce.Run, how proof) error {
	best := time.Duration(math.MaxInt64)
	for i, pattern := range how.patterns {
		rounds := 1
		if i == 0 {
			rounds = how.rounds
		}
		trial, err := verify.NewTrial(v.ex, p, verify.Options{Pattern: pattern, Seed: uint64(len(v.report.Runs) + 1), InPlace: r.InPlace})
		if err != nil {
			return err
		}
		for range rounds {
			took, err := proveOnce(ctx, trial, r)
			if err != nil {
				return errors.Join(err, trial.Close())
			}
			best = min(best, took)
		}
		if err := trial.Close(); err != nil {
			return err
		}
	}
	r.TimeUs = float64(best.Nanoseconds()) / 1e3
	r.AlgBW = float64(r.Bytes) / float64(max(best.Nanoseconds(), 1))
	r.BusBW = allreduce.BusBW(v.comm.NRanks, r.Bytes, r.TimeUs)
	return nil
}

func proveOnce(ctx context.Context, trial *verify.Trial, r *allreduce.Run) (time.Duration, error) {
	if err := trial.Fill(); err != nil {
		return 0, err
	}
	t, err := trial.Run(ctx)
	if err != nil {
		return 0, err
	}
	found, err := trial.Check()
	r.Wrong += found.Wrong
	if r.FirstWrong == nil {
		r.FirstWrong = found.First
	}
	return t.Elapsed, err
}

// judge notes what was wrong with a run. After one that did not end, the rest
// goes on with a new executor.
func (v *validator) judge(r *allreduce.Run, err error, how proof) error {
	var stuck *allreduce.StuckError
	var dead *launch.DeathError
	switch {
	case errors.As(err, &stuck):
		v.report.Runs[len(v.report.Runs)-1].Stuck = stuck.Stalls
		v.fail(r, stuck.Error())
	case errors.As(err, &dead):
		v.fail(r, dead.Error())
	case err != nil:
		return err
	case r.Wrong > 0:
		v.fail(r, fmt.Sprintf("%d wrong elements, the first: %v", r.Wrong, r.FirstWrong))
	case how.measured && r.BusBW < v.command.minBusBW:
		v.fail(r, fmt.Sprintf("bus bandwidth %.2f GB/s, want at least %.2f", r.BusBW, v.command.minBusBW))
	}
	if len(v.failures) >= maxFailures || len(v.failures) > 0 && v.options.fault.Kind != allreduce.NoFault {
		return errEnough
	}
	if stuck == nil && dead == nil {
		return nil
	}
	if err := v.close(); err != nil {
		return err
	}
	return v.open()
}

func (v *validator) fail(r *allreduce.Run, why string) {
	v.failures = append(v.failures, fmt.Sprintf("%s: %s", runText(r), why))
	v.report.Notes = append(v.report.Notes, v.failures[len(v.failures)-1])
}

// remark adds a note to the report, once.
func (v *validator) remark(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if !slices.Contains(v.report.Notes, note) {
		v.report.Notes = append(v.report.Notes, note)
	}
}
