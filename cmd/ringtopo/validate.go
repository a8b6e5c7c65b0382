package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/job"
)

// validateCommand is one call of ringtopo validate.
type validateCommand struct {
	machine  *machineFlags
	plan     *planFlags
	engine   *engineFlags
	out      *output
	ring     string
	hasM     bool // -m was given
	hasBytes bool
	minBusBW float64
	rounds   int
	stress   bool
	tuning   string
}

func (a *app) newValidate() *cobra.Command {
	c := &validateCommand{}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Proves rings by a live AllReduce",
		Long: `Proves rings by a live AllReduce: every distinct ring alone, then all channels
together, each with random data and, at 8 MiB at most, with patterns that expose a
chunk out of place, then a mix of awkward sizes and types back to back. A ring fixes the order of
additions, so that every bit of the result is known: bits are compared, not values.
A wrong result names rank, channel, chunk, owner and element; a run in which nothing
moves any more ends with who waited for whom.

The ranks are the machine's GPUs (--engine gpu, nccl), or goroutines or processes of
this host that stand for them (--engine host). On the host times and bandwidths are
those of its memory, not of the machine's links. On GPUs every hop is measured alone,
and what each block records of itself (grid, threads, channel) must be as planned.

--dtype, --op, --algo and --proto take lists with commas, or all; what the engine
cannot run of a list is left out, with a note. --inject gives the
executor a defect, to see that it is caught: dropped-chunk, swapped-neighbour,
stale-flag, stopped-rank, killed-process (with --procs), each with the place behind
a colon, as in stale-flag:rank=1,channel=0,step=2.

--algo best proves what ringtopo bench found, or knows, to be the best choice for
each message on such a machine, all channels together.

With --engine gpu, processes that mpirun, srun or torchrun has started on one host,
one for each GPU, join each other; rank 0 tells the result.

Exit code 1: wrong data, a run that stuck, an injected defect, noticed or not, or less
than --min-busbw on all channels together.`,
		Example: `  ringtopo validate -m v100x4
  ringtopo validate -m dgx-1v --procs --dtype int8,bfloat16 --op all --bytes 64KiB --rounds 1 --stress=false
  ringtopo validate --ring "0 2 3 1" --proto LL,LL128,Simple
  ringtopo validate -m v100x4 --inject stale-flag:rank=2
  ringtopo validate --engine gpu --bytes 1GiB --min-busbw 300`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.hasM, c.hasBytes = cmd.Flags().Changed("machine"), cmd.Flags().Changed("bytes")
			if err := c.check(cmd); err != nil {
				return err
			}
			return a.validate(c)
		},
	}
	a.addValidateFlags(cmd, c)
	return cmd
}

// check refuses flags that mean nothing beside the others.
func (c *validateCommand) check(cmd *cobra.Command) error {
	if err := together(cmd, c.plan.anyBest(), "--algo best", "tuning"); err != nil {
		return err
	}
	if err := ringAlone(cmd, "channels", "nchannels"); err != nil || c.hasM {
		return err
	}
	return together(cmd, c.ring == "", "a machine: with --ring name one with -m", machineFlagNames...)
}

func (a *app) addValidateFlags(cmd *cobra.Command, c *validateCommand) {
	c.machine = a.addMachineFlags(cmd)
	c.plan = a.addPlanFlags(cmd, c.machine, "4MiB") // on GPUs more
	c.plan.mayBest = true
	cmd.Flags().StringVar(&c.tuning, "tuning", "", "tables for --algo best (default tuning.json in the user's settings)")
	c.engine = a.addEngineFlags(cmd)
	c.out = a.addOutput(cmd, "table", "json", "yaml", "csv", "markdown")
	fl := cmd.Flags()
	fl.StringVar(&c.ring, "ring", "", `one ring by hand, for example "0 2 3 1"; with -m its hops are the machine's`)
	fl.Float64Var(&c.minBusBW, "min-busbw", 0, "least bus bandwidth in GB/s")
	fl.IntVar(&c.rounds, "rounds", 5, "how often each message is sent with random data; the fastest counts")
	fl.BoolVar(&c.stress, "stress", true, "end with awkward sizes and mixed types back to back")
	fl.StringVar(&c.engine.inject, "inject", "", "a defect to have, KIND or KIND:rank=R,channel=C,step=S")
}

func (a *app) validate(c *validateCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	v, err := a.newValidator(c)
	if err != nil {
		return err
	}
	err = v.validate(a.ctx)
	if cerr := v.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return failedRun(err)
	}
	if w := v.options.world; w != nil && w.Rank > 0 { // rank 0 tells what all have found
		if !v.report.OK {
			return &codedError{exitFailed, errors.New("")}
		}
		return nil
	}
	err = a.emit(c.out, func(w io.Writer) error {
		if format == "json" || format == "yaml" {
			return encode(w, format, &v.report)
		}
		return writeValidation(w, v, format)
	})
	if err != nil || v.report.OK {
		return err
	}
	if format == "table" { // it has said so
		return &codedError{exitFailed, errors.New("")}
	}
	return &codedError{exitFailed, errors.New(v.verdict())}
}

// newValidator finds out what is to be proved, and by what.
func (a *app) newValidator(c *validateCommand) (*validator, error) {
	if c.rounds < 1 {
		return nil, usage("--rounds %d: want at least 1", c.rounds)
	}
	if !(c.minBusBW >= 0) { // nor NaN
		return nil, usage("--min-busbw %v: want a bandwidth in GB/s, or 0 for none", c.minBusBW)
	}
	sweep, err := c.sweep()
	if err != nil {
		return nil, err
	}
	opt, err := c.engine.options()
	if err != nil {
		return nil, err
	}
	opt.tuned(c.plan.best())
	if opt.world, err = a.world(c.engine, c.machine); err != nil {
		return nil, err
	}
	if opt.world != nil && opt.world.Rank > 0 {
		a.quiet = true
	}
	v := &validator{app: a, command: c, sweep: sweep, options: opt, bar: a.newProgress()}
	v.report = allreduce.Report{Schema: allreduce.ReportSchema, Machine: c.machine.machines, OK: true}
	if c.plan.anyBest() {
		if v.tables, err = openTuning(c.tuning); err != nil {
			return nil, err
		}
	}
	if v.comm, err = a.validated(c, v); err != nil {
		return nil, err
	}
	if v.engine, err = c.engine.choose(c.machine); err != nil {
		return nil, err
	}
	if v.engine.name != "host" && !c.hasBytes {
		c.plan.bytes = []string{"64MiB"} // enough to see what links carry
	}
	if err := v.checkFault(); err != nil {
		return nil, err
	}
	if v.planner, _, err = sweep[0].in(c.plan).planner(v.comm); err != nil {
		return nil, err
	}
	for _, w := range v.planner.Warnings {
		a.note("%s", w)
	}
	return v, v.open()
}

// validated gives the communicator, and its rings with their hops.
func (a *app) validated(c *validateCommand, v *validator) (*connect.Comm, error) {
	var j *job.Job
	if c.ring == "" || c.hasM {
		if err := c.plan.prepare(c.machine); err != nil {
			return nil, err
		}
		var err error
		if j, err = a.newJob(c.machine); err != nil {
			return nil, c.engine.stillRuns(err)
		}
	}
	if j != nil && slices.Equal(c.machine.machines, []string{job.Auto}) {
		for rank := range j.Comm.NRanks {
			v.options.devices = append(v.options.devices, j.GPU(rank).GPU.Dev)
		}
	}
	if c.ring == "" {
		v.rings = ringsOf(j)
		return j.Comm, nil
	}
	if j == nil {
		if err := a.settle(c.machine); err != nil {
			return nil, err
		}
	}
	ring, err := schedule.ParseRing(c.ring)
	if err != nil {
		return nil, usage("--ring: %v", err)
	}
	if j != nil && j.Comm.NRanks != ring.Len() {
		return nil, usage("--ring %s: the machine has ranks 0 to %d", ring, j.Comm.NRanks-1)
	}
	if !c.hasM {
		v.report.Machine = []string{}
	}
	v.rings = []provedRing{ringByHand(ring.Order(), j)}
	return plan.Nominal(&allreduce.Layout{NRanks: ring.Len(), Rings: [][]int{ring.Order()}}), nil
}

// variant is one way to run: forced algorithm and protocol, type and operation.
type variant struct{ algo, proto, dtype, op string }

// sweep lists the variants that the flags ask for.
func (c *validateCommand) sweep() ([]variant, error) {
	var list []variant
	for _, algo := range listed(c.plan.algo, []string{"Ring", "Tree", "OneShot", "TwoShot"}) {
		for _, proto := range listed(c.plan.proto, names(allreduce.Protos())) {
			for _, dtype := range listed(c.plan.dtype, names(allreduce.DTypes())) {
				for _, op := range listed(c.plan.op, names(allreduce.Ops())) {
					list = append(list, variant{algo, proto, dtype, op})
				}
			}
		}
	}
	for _, v := range list {
		if _, _, err := v.in(c.plan).parsed(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// trouble is why an executor cannot run a variant, nil if it can. Without a
// protocol one of them is enough; without an algorithm it is about rings.
func (v variant) trouble(ex allreduce.Executor) error {
	algo, protos := allreduce.Ring, allreduce.Protos()
	var err error
	if v.algo != "" && !strings.EqualFold(v.algo, bench.Best) { // there is always something best
		if algo, err = allreduce.ParseAlgo(v.algo); err != nil {
			return err
		}
	}
	if v.proto != "" {
		p, err := allreduce.ParseProto(v.proto)
		if err != nil {
			return err
		}
		protos = []allreduce.Proto{p}
	}
	for _, p := range protos {
		if err = ex.Can(algo, p); err == nil {
			return nil
		}
	}
	return err
}

// in gives the planning flags for a variant.
func (v variant) in(f *planFlags) *planFlags {
	g := *f
	g.algo, g.proto, g.dtype, g.op = v.algo, v.proto, v.dtype, v.op
	return &g
}

func (f *planFlags) parsed() (plan.Force, []plan.Task, error) {
	force, err := f.force()
	if err != nil {
		return force, nil, err
	}
	tasks, err := f.tasks()
	return force, tasks, err
}

// listed takes a list with commas apart; all stands for everything.
func listed(text string, all []string) []string {
	if strings.EqualFold(text, "all") {
		return all
	}
	return strings.Split(text, ",")
}

func names[T interface{ String() string }](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}
