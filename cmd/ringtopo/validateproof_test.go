package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// What ends a run decides how validation goes on: with the next run, with a new
// executor, or not at all.
func TestJudge(t *testing.T) {
	stuck := &allreduce.StuckError{Stalls: []allreduce.Stall{{Rank: 1}}}
	dead := fmt.Errorf("run: %w", &launch.DeathError{Rank: 1, Reason: "signal: killed"})
	other := errors.New("the driver refuses")
	for name, c := range map[string]struct {
		run      allreduce.Run
		ended    error
		world    *launch.World
		fault    allreduce.FaultKind
		before   int // failures
		want     error
		reopened bool
		failure  string
	}{
		"good":                    {},
		"wrong":                   {run: allreduce.Run{Wrong: 3}, failure: "3 wrong elements"},
		"slow":                    {run: allreduce.Run{BusBW: 1}, failure: "want at least 2.00"},
		"not as planned":          {ended: &geometryError{"so"}, failure: "not as planned: so"},
		"wrong for the last time": {run: allreduce.Run{Wrong: 3}, before: maxFailures - 1, want: errEnough, failure: "3 wrong elements"},
		"wrong by intent":         {run: allreduce.Run{Wrong: 3}, fault: allreduce.DropChunk, want: errEnough, failure: "3 wrong elements"},
		"stuck":                   {ended: stuck, reopened: true, failure: stuck.Error()},
		"stuck under a launcher":  {ended: stuck, world: &launch.World{}, reopened: true, failure: stuck.Error()},
		"dead":                    {ended: dead, reopened: true, failure: "rank 1 died: signal: killed"},
		"dead under a launcher":   {ended: dead, world: &launch.World{}, want: errEnough, failure: "rank 1 died: signal: killed"},
		"something else":          {ended: other, want: other},
	} {
		opened := 0
		v := testValidator(t, func() { opened++ })
		v.options.world, v.options.fault.Kind = c.world, c.fault
		v.failures = slices.Repeat([]string{"earlier"}, c.before)
		if c.run.BusBW > 0 {
			v.command.minBusBW = 2
		}
		v.report.Runs = []allreduce.Run{c.run}
		if err := v.judge(&c.run, c.ended, true); !errors.Is(err, c.want) || (opened > 0) != c.reopened {
			t.Errorf("%s: %v, opened %d times", name, err, opened)
		}
		found := strings.Join(v.failures[c.before:], "\n")
		if (found == "") != (c.failure == "") || !strings.Contains(found, c.failure) {
			t.Errorf("%s: failures %q, want %q", name, found, c.failure)
		}
		if isStuck := len(v.report.Runs[0].Stuck) > 0; isStuck != (c.ended == stuck) {
			t.Errorf("%s: the report has its stalls: %v", name, isStuck)
		}
	}
}

// testValidator proves on an engine that only counts how often it is opened.
func testValidator(t *testing.T, open func()) *validator {
	t.Helper()
	comm := plan.Nominal(&allreduce.Layout{NRanks: 2, Rings: [][]int{{0, 1}}})
	planner, err := plan.New(comm, plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return &validator{command: &validateCommand{}, comm: comm, planner: planner, engine: engine{name: "test",
		open: func(*app, *allreduce.Layout, engineOptions) (allreduce.Executor, error) {
			open()
			return nil, nil
		}}}
}
