package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
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
	v.ex, err = v.engine.open(v.app, v.planner.Layout(), v.options)
	var coded *codedError
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, allreduce.ErrNoDevice):
		return &codedError{exitNoGPU, err}
	}
	return &codedError{exitFailed, err}
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
	for i := range v.rings {
		r := &v.rings[i]
		if fault.Kind != allreduce.NoFault {
			if !slices.Contains(r.channels, fault.Channel) {
				continue
			}
			r.channels = []int{fault.Channel}
		}
		if err := v.alone(ctx, r); err != nil {
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
	if err := v.meterHops(ctx, r); err != nil {
		return err
	}
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

// hopBytes are sent over each hop to measure it.
const hopBytes = 64 << 20

// meterHops replaces what the graph says of a ring's hops by what is measured,
// where the engine can.
func (v *validator) meterHops(ctx context.Context, r *provedRing) error {
	meter, ok := v.ex.(allreduce.HopMeter)
	if !ok {
		return nil
	}
	for i := range r.hops {
		took, err := meter.MeasureHop(ctx, r.hops[i].From, r.hops[i].To, hopBytes)
		if err != nil {
			return fmt.Errorf("measure hop %d > %d: %w", r.hops[i].From, r.hops[i].To, err)
		}
		r.hops[i].BW = hopBytes / float64(max(took.Nanoseconds(), 1))
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
