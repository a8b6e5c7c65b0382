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

// patternBytes is the most that is sent with each pattern. Random data shows
// every wrong bit, at the size that was asked for; patterns show by their values
// what went wrong, and that needs no large message.
const patternBytes = 8 << 20

// prove plans a step's message, runs it, and adds it to the report.
func (v *validator) prove(ctx context.Context, s *step) error {
	planner, force, err := s.flags.planner(v.comm)
	if err != nil {
		return err
	}
	l, err := v.fitted(planner, v.decide(force, s), s)
	if err != nil {
		return err
	}
	if re := l.Details[0].Choice.Replaced; re != nil {
		v.remark("%s", re)
	}
	r := s.run
	v.describe(&r, l)
	if err = v.measure(ctx, l.Plan, &r, s.rounds); err == nil && s.patterns {
		err = v.mark(ctx, l.Plan, &r, s)
	}
	err = v.agree(ctx, &r, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.report.Runs = append(v.report.Runs, r)
	return v.judge(&r, err, s.measured)
}

// fitted plans a message, on fewer channels where the blocks of all do not fit.
func (v *validator) fitted(planner *plan.Planner, force plan.Force, s *step) (*plan.Launch, error) {
	l, err := v.planned(planner, force, s.task)
	if err != nil {
		return nil, err
	}
	list, note, err := fitChannels(v.ex, l.Plan)
	if err != nil || note == "" {
		return l, err
	}
	v.remark("%s", note)
	if planner, err = plan.New(v.comm, s.flags.settings, plan.OnChannels(list)); err != nil {
		return nil, err
	}
	return v.planned(planner, force, s.task)
}

// planned is the one launch of a message, for the executor at hand.
func (v *validator) planned(planner *plan.Planner, force plan.Force, t plan.Task) (*plan.Launch, error) {
	launches, err := planner.Plan([]plan.Task{t}, force)
	if err != nil || len(launches) != 1 {
		return nil, usage("%s of %s: %v", sizeText(t.Bytes()), t.DType, err)
	}
	launches[0].Plan.Layout = v.ex.Layout() // alike, but its own
	return launches[0], nil
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

// measure runs a plan with random data, new in every round, and looks at all of
// it.
func (v *validator) measure(ctx context.Context, p *allreduce.Plan, r *allreduce.Run, rounds int) error {
	best, err := v.rounds(ctx, p, r, slices.Repeat([]verify.Pattern{verify.Random}, rounds))
	if err != nil {
		return err
	}
	r.TimeUs = float64(best.Nanoseconds()) / 1e3
	v.rate(r)
	return nil
}

// rate works out bandwidths from a run's time.
func (v *validator) rate(r *allreduce.Run) {
	r.AlgBW = float64(r.Bytes) / max(r.TimeUs*1e3, 1)
	r.BusBW = allreduce.BusBW(v.comm.NRanks, r.Bytes, r.TimeUs)
}

// mark runs the message, or a shorter one by the same algorithm, protocol and
// channels, with every pattern.
func (v *validator) mark(ctx context.Context, p *allreduce.Plan, r *allreduce.Run, s *step) error {
	t := s.task
	if most := patternBytes / int64(t.DType.Size()); t.Count > most {
		t.Count = most
		planner, err := plan.New(v.comm, s.flags.settings, plan.OnChannels(p.Channels()))
		if err != nil {
			return err
		}
		l, err := v.planned(planner, plan.Force{Algo: &r.Algo, Proto: &r.Proto, Can: v.ex.Can}, t)
		if err != nil {
			return err
		}
		p = l.Plan
	}
	_, err := v.rounds(ctx, p, r, verify.Patterns()[1:])
	return err
}

// rounds runs a plan with one pattern after the other and gives the shortest
// time.
func (v *validator) rounds(ctx context.Context, p *allreduce.Plan, r *allreduce.Run, patterns []verify.Pattern) (time.Duration, error) {
	trial, err := verify.NewTrial(v.ex, p, verify.Options{Seed: uint64(len(v.report.Runs) + 1), InPlace: r.InPlace})
	if err != nil {
		return 0, err
	}
	best := time.Duration(math.MaxInt64)
	for _, pattern := range patterns {
		trial.Use(pattern)
		took, err := proveOnce(ctx, trial, r)
		if err != nil {
			return 0, errors.Join(err, trial.Close())
		}
		best = min(best, took)
	}
	return best, errors.Join(v.checkBlocks(p), trial.Close())
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
// goes on with a new executor; but not without a process that a launcher has
// started, which nobody starts again.
func (v *validator) judge(r *allreduce.Run, err error, measured bool) error {
	var stuck *allreduce.StuckError
	var dead *launch.DeathError
	var shape *geometryError
	switch {
	case errors.As(err, &stuck):
		v.report.Runs[len(v.report.Runs)-1].Stuck = stuck.Stalls
		v.fail(r, stuck.Error())
	case errors.As(err, &dead):
		v.fail(r, dead.Error())
	case errors.As(err, &shape):
		v.fail(r, shape.Error())
	case err != nil:
		return err
	case r.Wrong > 0:
		v.fail(r, fmt.Sprintf("%d wrong elements, the first: %v", r.Wrong, r.FirstWrong))
	case measured && r.BusBW < v.command.minBusBW:
		v.fail(r, fmt.Sprintf("bus bandwidth %.2f GB/s, want at least %.2f", r.BusBW, v.command.minBusBW))
	}
	alone := dead != nil && v.options.world != nil
	if len(v.failures) >= maxFailures || len(v.failures) > 0 && v.options.fault.Kind != allreduce.NoFault || alone {
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
