package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
	"github.com/ringtopo/ringtopo/connect"
)

// scheduleCommand is one call of ringtopo schedule.
type scheduleCommand struct {
	machine *machineFlags
	plan    *planFlags
	out     *output
	ring    string
	channel int
	rank    int
	loop    int
	given   bool // --rank was
	looped  bool // --loop was
}

func (a *app) newSchedule() *cobra.Command {
	var c scheduleCommand
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Shows who sends which chunk when in a Ring AllReduce",
		Long: `Shows who sends which chunk when in a Ring AllReduce: for every rank of one
channel's ring the primitives in order, with the chunk, the rank that owns it, the
peers, and which elements move.

Three numbers must not be mixed up. A rank is the communicator's number. A position
is the place in this channel's ring, counted from rank 0. A chunk is numbered by
position: the rank at position i finishes chunk i.

The ring is that of --channel on a machine, with the share of the message that the
planner gives it, or one given by hand with --ring, which takes the whole message.`,
		Example: `  ringtopo schedule --ring "0 2 3 1"
  ringtopo schedule -m v100x4 --channel 2 --rank 3
  ringtopo schedule -m v100x4 --bytes 64MiB --buffsize 64KiB --loop -1
  ringtopo schedule --ring "0 1 2" --bytes 1KiB -o mermaid`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			c.given, c.looped = given("rank"), given("loop")
			if err := ringAlone(cmd, "channel", "channels", "nchannels"); err != nil {
				return err
			}
			if err := ringAlone(cmd, machineFlagNames...); err != nil {
				return err
			}
			return a.schedule(&c)
		},
	}
	c.machine = a.addMachineFlags(cmd)
	c.plan = a.addPlanFlags(cmd, c.machine, "1MiB")
	c.out = a.addOutput(cmd, "table", "json", "yaml", "mermaid", "csv", "markdown")
	cmd.Flags().StringVar(&c.ring, "ring", "", `a ring by hand instead of a machine's, for example "0 2 3 1"`)
	cmd.Flags().IntVar(&c.channel, "channel", 0, "the channel whose ring is shown")
	cmd.Flags().IntVar(&c.rank, "rank", 0, "only this rank (default all)")
	cmd.Flags().IntVar(&c.loop, "loop", 0, "only this loop, -1 for the last (default all)")
	return cmd
}

// ringAlone refuses flags that say something of a machine or its channels, where a
// ring by hand has neither.
func ringAlone(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if cmd.Flags().Changed("ring") && cmd.Flags().Changed(name) {
			return usage("--ring is a ring by hand: --%s goes with a machine's", name)
		}
	}
	return nil
}

// scheduled is what is shown.
type scheduled struct {
	machine []string // nil for a ring by hand
	ring    *schedule.Ring
	work    *allreduce.Work
	part    *allreduce.Part
	rows    []schedule.Row
}

func (a *app) schedule(c *scheduleCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	s, err := a.newScheduled(c)
	if err != nil {
		return err
	}
	if s.rows, err = c.rows(s); err != nil {
		return err
	}
	return a.emit(c.out, func(w io.Writer) error {
		switch format {
		case "json", "yaml":
			return encode(w, format, newScheduleJSON(s))
		case "mermaid":
			return schedule.WriteMermaid(w, s.ring, s.rows)
		}
		return writeScheduleTable(w, s, format)
	})
}

// newScheduled finds the ring and its share of the message.
func (a *app) newScheduled(c *scheduleCommand) (*scheduled, error) {
	tasks, err := c.plan.tasks()
	if err != nil {
		return nil, err
	}
	if len(tasks) != 1 {
		return nil, usage("--bytes: a schedule is of one message, not of %d", len(tasks))
	}
	if c.plan.algo == "" {
		c.plan.algo = allreduce.Ring.String()
	}
	comm, s, err := a.ringOf(c)
	if err != nil {
		return nil, err
	}
	planner, force, err := c.plan.planner(comm)
	if err != nil {
		return nil, err
	}
	if *force.Algo != allreduce.Ring {
		return nil, usage("--algo %s: only Ring has such a schedule", *force.Algo)
	}
	p := &planned{planner: planner}
	if err := p.add(tasks, force, false); err != nil {
		return nil, err
	}
	s.work = &p.groups[0][0].Plan.Works[0]
	if s.part = s.work.Part(c.channel); s.part == nil {
		return nil, usage("--channel %d moves nothing: %s go over channels %s", c.channel, sizeText(s.work.Bytes()), channelText(s.work))
	}
	return s, nil
}

// ringOf gives the communicator and the ring of the channel.
func (a *app) ringOf(c *scheduleCommand) (*connect.Comm, *scheduled, error) {
	if c.ring != "" {
		ring, err := schedule.ParseRing(c.ring)
		if err != nil {
			return nil, nil, usage("--ring: %v", err)
		}
		if err := a.settle(c.machine); err != nil {
			return nil, nil, err
		}
		l := &allreduce.Layout{NRanks: ring.Len(), Rings: [][]int{ring.Order()}}
		return plan.Nominal(l), &scheduled{ring: ring}, nil
	}
	if err := c.plan.prepare(c.machine); err != nil {
		return nil, nil, err
	}
	j, err := a.newJob(c.machine)
	if err != nil {
		return nil, nil, err
	}
	if c.channel < 0 || c.channel >= len(j.Comm.Rings) {
		return nil, nil, usage("--channel %d: the communicator has channels 0 to %d", c.channel, len(j.Comm.Rings)-1)
	}
	var order []int
	for _, rank := range j.Comm.Rings[c.channel].Order {
		order = append(order, int(rank))
	}
	ring, err := schedule.NewRing(order)
	if err != nil {
		return nil, nil, usage("channel %d: %v", c.channel, err)
	}
	return j.Comm, &scheduled{machine: c.machine.machines, ring: ring}, nil
}

// maxRows is how many rows are shown at once.
const maxRows = 1_000_000

// rows are those of the ranks and loops asked for.
func (c *scheduleCommand) rows(s *scheduled) ([]schedule.Row, error) {
	if c.given && (c.rank < 0 || c.rank >= s.ring.Len()) {
		return nil, usage("--rank %d: the ring has ranks 0 to %d", c.rank, s.ring.Len()-1)
	}
	loop := c.loop
	if loop < 0 {
		loop += s.part.Loops
	}
	if c.looped && (loop < 0 || loop >= s.part.Loops) {
		return nil, usage("--loop %d: there are loops 0 to %d", c.loop, s.part.Loops-1)
	}
	seq := schedule.All(s.ring, s.part, s.work.DType)
	if c.given {
		seq = schedule.Rows(s.ring, schedule.Rank(c.rank), s.part, s.work.DType)
	}
	var rows []schedule.Row
	for row := range seq {
		if c.looped && row.Loop != loop {
			continue
		}
		if rows = append(rows, row); len(rows) > maxRows {
			return nil, usage("more than %d rows: choose with --rank and --loop", maxRows)
		}
	}
	return slices.Clip(rows), nil
}
