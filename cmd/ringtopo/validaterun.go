package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/plan"
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
	tables  *best.File // that --algo best goes by; nil: those that come along
	bar     *progress

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
	if err == nil {
		return nil
	}
	return cannotOpenOr(err, "take fewer channels (--nchannels), smaller FIFOs (--buffsize), or fewer ranks on each GPU")
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
	case f.Kind == allreduce.KillProcess && !v.options.procs && v.options.world == nil:
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
	// A defect that nobody noticed proves nothing either.
	v.report.OK = len(v.failures) == 0 && v.options.fault.Kind == allreduce.NoFault
	return err
}

func (v *validator) crew() string {
	if v.options.procs {
		return "processes"
	}
	return "goroutines"
}

// all goes through the steps, and says on a terminal which one is under way.
func (v *validator) all(ctx context.Context) error {
	if err := v.sift(); err != nil {
		return err
	}
	if err := v.meterRings(ctx); err != nil {
		return err
	}
	steps, err := v.steps()
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return usage("nothing to prove: a single ring runs by --algo Ring, not by --algo %s", v.command.plan.algo)
	}
	defer v.bar.end()
	for i := range steps {
		what := fmt.Sprintf("run %d of %d: %s", i+1, len(steps), steps[i].text())
		v.bar.line(what)
		if err := v.prove(ctx, &steps[i]); err != nil {
			if ctx.Err() != nil {
				v.bar.end()
				v.app.note("%s was under way", what)
			}
			return err
		}
	}
	return nil
}

// sift leaves out what the engine cannot run of a list of algorithms and
// protocols, and says so. Where nothing is left the first reason is the error.
func (v *validator) sift() error {
	var list []variant
	var first error
	for _, way := range v.sweep {
		err := way.trouble(v.ex)
		if err == nil {
			list = append(list, way)
			continue
		}
		if first == nil {
			first = err
		}
		v.remark("left out: %v", err)
	}
	if len(list) == 0 {
		return usage("%v", first)
	}
	v.sweep = list
	return nil
}

// hopBytes are sent over each hop to measure it.
const hopBytes = 64 << 20

// meterRings replaces what the graph says of the rings' hops by what is
// measured, where the engine can.
func (v *validator) meterRings(ctx context.Context) error {
	meter, ok := v.ex.(allreduce.HopMeter)
	if !ok {
		return nil
	}
	for i := range v.rings {
		r := &v.rings[i]
		v.bar.line(fmt.Sprintf("hops of ring %d of %d: %s", i+1, len(v.rings), strings.Join(ints(r.order), " ")))
		for i := range r.hops {
			took, err := meter.MeasureHop(ctx, r.hops[i].From, r.hops[i].To, hopBytes)
			if errors.Is(err, errors.ErrUnsupported) {
				v.remark("hops through host memory are not measured: their bandwidth is the graph's")
				continue
			}
			if err != nil {
				return fmt.Errorf("measure hop %d > %d: %w", r.hops[i].From, r.hops[i].To, err)
			}
			r.hops[i].BW = hopBytes / float64(max(took.Nanoseconds(), 1))
		}
	}
	return nil
}
