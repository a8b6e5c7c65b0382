package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/internal/job"
)

// planCommand is one call of ringtopo plan.
type planCommand struct {
	machine *machineFlags
	plan    *planFlags
	out     *output
	group   bool
}

func (a *app) newPlan() *cobra.Command {
	var c planCommand
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Shows what an AllReduce of a given size becomes",
		Long: `Shows what an AllReduce of a given size becomes, as NCCL 2.22.3 decides it: the
predicted time of every algorithm and protocol and the choice among them, the
active channels, threads, grid and block, and what each channel moves in chunks,
slices and steps.

With several sizes every one is planned for itself, a line each; with --group they
are the operations of one group, planned together in one launch or more. Text is
the cost tables as NCCL logs them (NCCL_DEBUG_SUBSYS=TUNING).

--algo and --proto together force a pair even where NCCL would switch it off; one
of them alone leaves the other to the tables. OneShot and TwoShot are our own
algorithms, about which NCCL's tables say nothing.`,
		Example: `  ringtopo plan -m v100x4 --bytes 64MiB
  ringtopo plan -m v100x4 --bytes 64MiB --nchannels 12 --buffsize 64KiB --nthreads 512 --algo Ring --proto Simple
  ringtopo plan -m dgx-h100 --nodes 2 --bytes 1KiB:1GiB
  ringtopo plan -m v100x4 --bytes 4KiB --bytes 1MiB --group
  ringtopo plan -m dgx-a100 --bytes 1MiB --channels 0,2,5 -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.plan(&c) },
	}
	c.machine = a.addMachineFlags(cmd)
	c.plan = a.addPlanFlags(cmd, c.machine, "64MiB")
	c.out = a.addOutput(cmd, "table", "text", "json", "yaml", "csv", "markdown")
	cmd.Flags().BoolVar(&c.group, "group", false, "plan all sizes together, as the operations of one group")
	return cmd
}

// planned is what is shown: groups of launches, one group per message unless
// they were planned together.
type planned struct {
	job     *job.Job
	planner *plan.Planner
	groups  [][]*plan.Launch
}

func (a *app) plan(c *planCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	tasks, err := c.plan.tasks()
	if err != nil {
		return err
	}
	if err := c.plan.prepare(c.machine); err != nil {
		return err
	}
	j, err := a.newJob(c.machine)
	if err != nil {
		return err
	}
	planner, force, err := c.plan.planner(j.Comm)
	if err != nil {
		return err
	}
	for _, w := range planner.Warnings {
		a.note("%s", w)
	}
	p := &planned{job: j, planner: planner}
	if err := p.add(tasks, force, c.group); err != nil {
		return err
	}
	a.notePeculiarities(p)
	return a.emit(c.out, func(w io.Writer) error {
		switch format {
		case "text":
			return writeTuningText(w, p)
		case "json", "yaml":
			return encode(w, format, newPlanJSON(p, c.machine.machines))
		}
		return writePlanTables(w, p, format)
	})
}

// add plans tasks, together or each for itself.
func (p *planned) add(tasks []plan.Task, force plan.Force, together bool) error {
	groups := [][]plan.Task{tasks}
	if !together {
		groups = groups[:0]
		for i := range tasks {
			groups = append(groups, tasks[i:i+1])
		}
	}
	for _, g := range groups {
		launches, err := p.planner.Plan(g, force)
		switch {
		case errors.Is(err, plan.ErrNothingOn) && (force.Algo != nil || force.Proto != nil):
			return usage("%v; give both --algo and --proto to force a pair that is off", err)
		case err != nil:
			return usage("%v", err)
		}
		p.groups = append(p.groups, launches)
	}
	return nil
}

// notePeculiarities says where NCCL's arithmetic oversteps.
func (a *app) notePeculiarities(p *planned) {
	for _, launches := range p.groups {
		for _, l := range launches {
			for i := range l.Details {
				for _, what := range l.Details[i].Peculiarities {
					a.note("%s: %s", sizeText(l.Details[i].Bytes()), what)
				}
			}
		}
	}
}
