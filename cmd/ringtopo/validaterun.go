package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/connect"
)

// validator proves the rings of one communicator, one run after the other, on
// one executor as long as that holds.
type validator struct {
	app     *app
	command *validateCommand
	sweep   []variant
	options engineOptions
	engine  engine
	comm    *connect.Comm
	rings   []provedRing
	planner *plan.Planner
	ex      allreduce.Executor

	report   allreduce.Report
	failures []string
}

// maxFailures is how many failed runs are enough.
const maxFailures = 3

var errEnough = errors.New("enough failures")

func (v *validator) open() error {
	v.report.Engine = v.engine.name
	var err error
	if v.ex, err = v.engine.open(v.app, v.planner.Layout(), v.options); errors.Is(err, allreduce.ErrNoDevice) {
		return &codedError{exitNoGPU, err}
	}
	return err
}

func (v *validator) close() error {
	if v.ex == nil {
		return nil
	}
	err := v.ex.Close()
	v.ex = nil
	return err
}

// checkFault says what is impossible about an injected fault.
func (v *validator) checkFault() error {
	f := v.options.fault
	switch {
	case f.Kind == allreduce.NoFault:
		return nil
	case f.Rank >= v.comm.NRanks:
		return usage("--inject: rank %d: the communicator has ranks 0 to %d", f.Rank, v.comm.NRanks-1)
	case f.Channel >= len(v.comm.Rings):
		return usage("--inject: channel %d: the communicator has channels 0 to %d", f.Channel, len(v.comm.Rings)-1)
	case f.Kind == allreduce.KillProcess && !v.options.procs:
		return usage("--inject %s needs --procs: without it ranks have no processes of their own", f.Kind)
	}
	return nil
}

// validate runs everything. Its error is one of the command; what went wrong
// with the rings is in the report.
func (v *validator) validate(ctx context.Context) error {
	if v.engine.name == "host" {
		v.remark("ranks are %s of this host: times and bandwidths are those of its memory, not of the machine's links", v.crew())
	}
	err := v.all(ctx)
	if errors.Is(err, errEnough) {
		v.remark("stopped after %d failed runs", len(v.failures))
		err = nil
	}
	v.report.OK = len(v.failures) == 0
	return err
}

func (v *validator) crew() string {
	if v.options.procs {
		return "processes"
	}
	return "goroutines"
}

func (v *validator) all(ctx context.Context) error {
	fault := v.options.fault
	for _, r := range v.rings {
		if fault.Kind != allreduce.NoFault {
			if !slices.Contains(r.channels, fault.Channel) {
				continue
			}
			r.channels = []int{fault.Channel}
		}
		if err := v.alone(ctx, &r); err != nil {
			return err
		}
	}
	if fault.Kind != allreduce.NoFault || v.command.ring != "" {
		return nil
	}
	if err := v.together(ctx); err != nil || !v.command.stress {
		return err
	}
	return v.stress(ctx)
}

// alone proves one ring, on the first of its channels.
func (v *validator) alone(ctx context.Context, r *provedRing) error {
	for _, way := range v.sweep {
		if way.algo != "" && !strings.EqualFold(way.algo, allreduce.Ring.String()) {
			continue
		}
		way.algo = allreduce.Ring.String()
		f := way.in(v.command.plan)
		f.channels = fmt.Sprint(r.channels[0])
		template := allreduce.Run{Channels: r.channels[:1], Ring: r.order, Hops: r.hops, SlowestHop: r.slowest(), PredictedBusBW: r.predicted}
		if err := v.sizes(ctx, f, template); err != nil {
			return err
		}
	}
	return nil
}

// together proves all channels at once, with what the planner chooses.
func (v *validator) together(ctx context.Context) error {
	for _, way := range v.sweep {
		if err := v.sizes(ctx, way.in(v.command.plan), allreduce.Run{}); err != nil {
			return err
		}
	}
	return nil
}

// sizes runs the messages that the flags ask for, out of place and in place.
func (v *validator) sizes(ctx context.Context, f *planFlags, template allreduce.Run) error {
	tasks, err := f.tasks()
	if err != nil {
		return err
	}
	planner, force, err := f.planner(v.comm)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		for _, inPlace := range []bool{false, true} {
			r := template
			r.InPlace = inPlace
			err := v.prove(ctx, planner, force, t, r, proof{verify.Patterns(), v.command.rounds, template.Ring == nil || v.command.ring != ""})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// stress sends awkward sizes of changing types back to back over all channels:
// one element, fewer than ranks, and such as leave every part uneven.
func (v *validator) stress(ctx context.Context) error {
	counts := []int64{1, int64(max(v.comm.NRanks-1, 1)), 1_000_003, 4099, 65_537, 100_003}
	for i := range 2 * allreduce.NumDTypes {
		way := v.sweep[i%len(v.sweep)]
		f := way.in(v.command.plan)
		planner, force, err := f.planner(v.comm)
		if err != nil {
			return err
		}
		t := plan.Task{Count: counts[i%len(counts)], DType: allreduce.DType(i % allreduce.NumDTypes), Op: allreduce.Op(i % allreduce.NumOps)}
		r := allreduce.Run{InPlace: i%2 == 1}
		if err := v.prove(ctx, planner, force, t, r, proof{[]verify.Pattern{verify.Random}, 2, false}); err != nil {
			return err
		}
	}
	return nil
}

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
