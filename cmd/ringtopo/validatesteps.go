package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// step is one run to be made: a message, how to lay it out, and what proves it.
type step struct {
	flags    *planFlags
	task     plan.Task
	run      allreduce.Run // what is known of it before
	rounds   int           // with random data
	patterns bool          // and then with every pattern
	measured bool          // --min-busbw counts
}

// text says what is being run.
func (s *step) text() string {
	where := "all channels"
	if s.run.Ring != nil {
		where = fmt.Sprintf("channel %d, ring %s", s.run.Channels[0], strings.Join(ints(s.run.Ring), " "))
	}
	how := strings.Trim(s.flags.algo+"/"+s.flags.proto, "/")
	if how == "" {
		how = "planned by size"
	}
	if s.run.InPlace {
		how += ", in place"
	}
	return fmt.Sprintf("%s, %s of %s %s, %s", where, sizeText(s.task.Bytes()), s.task.DType, s.task.Op, how)
}

// steps lists what the flags ask for: every ring alone, all channels together,
// and awkward messages back to back.
func (v *validator) steps() ([]step, error) {
	fault, list := v.options.fault, []step(nil)
	for i := range v.rings {
		r := &v.rings[i]
		if fault.Kind != allreduce.NoFault {
			if !slices.Contains(r.channels, fault.Channel) {
				continue
			}
			r.channels = []int{fault.Channel}
		}
		more, err := v.alone(r)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if fault.Kind != allreduce.NoFault || v.command.ring != "" {
		return list, nil
	}
	more, err := v.together()
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	if v.command.stress {
		list = append(list, v.stress()...)
	}
	return list, nil
}

// alone proves one ring, on the first of its channels.
func (v *validator) alone(r *provedRing) (list []step, err error) {
	for _, way := range v.sweep {
		if way.algo != "" && !strings.EqualFold(way.algo, allreduce.Ring.String()) {
			continue
		}
		way.algo = allreduce.Ring.String()
		f := way.in(v.command.plan)
		f.channels = fmt.Sprint(r.channels[0])
		template := allreduce.Run{Channels: r.channels[:1], Ring: r.order, Hops: r.hops, SlowestHop: r.slowest(), PredictedBusBW: r.predicted}
		more, err := v.sizes(f, template)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// together proves all channels at once, with what the planner chooses.
func (v *validator) together() (list []step, err error) {
	for _, way := range v.sweep {
		more, err := v.sizes(way.in(v.command.plan), allreduce.Run{})
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// sizes are the messages that the flags ask for, out of place and in place.
func (v *validator) sizes(f *planFlags, template allreduce.Run) (list []step, err error) {
	tasks, err := f.tasks()
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		for _, inPlace := range []bool{false, true} {
			r := template
			r.InPlace = inPlace
			list = append(list, step{flags: f, task: t, run: r, rounds: v.command.rounds, patterns: true,
				measured: template.Ring == nil || v.command.ring != ""})
		}
	}
	return list, nil
}

// stress sends awkward sizes of changing types back to back over all channels:
// one element, fewer than ranks, and such as leave every part uneven.
func (v *validator) stress() (list []step) {
	counts := []int64{1, int64(max(v.comm.NRanks-1, 1)), 1_000_003, 4099, 65_537, 100_003}
	for i := range 2 * allreduce.NumDTypes {
		way := v.sweep[i%len(v.sweep)]
		t := plan.Task{Count: counts[i%len(counts)], DType: allreduce.DType(i % allreduce.NumDTypes), Op: allreduce.Op(i % allreduce.NumOps)}
		list = append(list, step{flags: way.in(v.command.plan), task: t, run: allreduce.Run{InPlace: i%2 == 1}, rounds: 2})
	}
	return list
}
