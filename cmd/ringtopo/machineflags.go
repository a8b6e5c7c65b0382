package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// machineFlags name the machines of a command, the same way everywhere.
type machineFlags struct {
	machines []string
	nodes    int
	gpus     string
	set      []string
	matrix   matrixFlags
	// reads, where set, looks up what else the command wants of NCCL's
	// variables, so that they count as having acted.
	reads func(*ncclenv.Env)
}

// machineFlagNames are those that say something of a machine. NCCL's variables do
// without one.
var machineFlagNames = append([]string{"machine", "gpus", "nodes"}, matrixFlagNames...)

// addMachineFlags gives a command -m, --nodes, --gpus and --set.
func (a *app) addMachineFlags(cmd *cobra.Command) *machineFlags {
	f := a.addBoxFlags(cmd)
	cmd.Flags().IntVar(&f.nodes, "nodes", 1, "use the machines this many times, as nodes of one job")
	return f
}

// addBoxFlags leaves out --nodes, for commands that look at machines alone.
func (a *app) addBoxFlags(cmd *cobra.Command) *machineFlags {
	f := &machineFlags{nodes: 1}
	cmd.Flags().StringArrayVarP(&f.machines, "machine", "m", []string{job.Auto},
		"auto, a built-in name, a file, a recorded folder, or - for stdin; several times: one node each")
	cmd.Flags().StringVar(&f.gpus, "gpus", "", "take only these GPUs, in this order, for example 0,2,3 or 4-7")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "set one of NCCL's variables, NAME=VALUE")
	f.matrix.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("machine", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append(machines.Names(), job.Auto), cobra.ShellCompDirectiveDefault
	})
	return f
}

// open finds the machines that the flags name, and NCCL's variables.
func (a *app) open(f *machineFlags) ([]*job.Machine, []int, *ncclenv.Env, error) {
	gpus, err := parseGPUs(f.gpus)
	if err != nil {
		return nil, nil, nil, err
	}
	env, set, err := a.env(f)
	if err != nil {
		return nil, nil, nil, err
	}
	matrix, err := f.matrix.options()
	if err != nil {
		return nil, nil, nil, err
	}
	src := job.Source{Stdin: a.in, Sources: probe.System(), Env: env, Set: set, Matrix: matrix}
	ms := make([]*job.Machine, len(f.machines))
	for i, name := range f.machines {
		if j := slices.Index(f.machines[:i], name); j >= 0 {
			ms[i] = ms[j]
		} else if ms[i], err = src.Open(name); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := f.matrix.fit(ms); err != nil {
		return nil, nil, nil, err
	}
	if ms, err = job.Repeat(ms, f.nodes); err != nil {
		return nil, nil, nil, usage("--nodes %d: %v", f.nodes, err)
	}
	return ms, gpus, env, nil
}

// env gives NCCL's variables, those of --set above the environment's. On the
// live machine NCCL's configuration files count, too.
func (a *app) env(f *machineFlags) (*ncclenv.Env, map[string]string, error) {
	set := map[string]string{}
	for _, s := range f.set {
		name, value, err := ncclenv.ParseSetting(s)
		if err != nil {
			return nil, nil, usage("%v", err)
		}
		set[name] = value
	}
	environ := a.environ
	if slices.Contains(f.machines, job.Auto) {
		home, _ := os.UserHomeDir() // none is fine
		var err error
		if environ, err = job.WithConf(environ, job.ConfFiles(home)); err != nil {
			return nil, nil, err
		}
	}
	return ncclenv.FromEnviron(environ).With(set), set, nil
}

// newJob makes the communicator that the flags ask for, and tells what was
// assumed and which variables acted.
func (a *app) newJob(f *machineFlags) (*job.Job, error) {
	ms, gpus, env, err := a.open(f)
	if err != nil {
		return nil, err
	}
	j, err := job.New(ms, gpus, env)
	if err != nil {
		return nil, noGPU(err)
	}
	if f.reads != nil {
		f.reads(env)
	}
	a.noteJob(j.Boxes, env)
	if slices.Contains(f.machines, job.Auto) {
		if n := probe.NCCLNote(); n != "" {
			a.note("%s", n)
		}
	}
	for _, w := range j.Comm.Warnings {
		a.note("%s", w)
	}
	if j.Comm.NNodes > 1 && !j.HasNetworks() {
		a.note("a node has no network: hops between nodes are nominal")
	}
	return j, nil
}

// settle has NCCL's variables act where there is no machine, and tells which did.
func (a *app) settle(f *machineFlags) error {
	env, _, err := a.env(f)
	if err != nil {
		return err
	}
	f.reads(env)
	a.noteJob(nil, env)
	return nil
}

// seeBoxes builds the machines' graphs without searching them.
func (a *app) seeBoxes(f *machineFlags) ([]job.Box, error) {
	ms, gpus, env, err := a.open(f)
	if err != nil {
		return nil, err
	}
	boxes, err := job.See(ms, gpus, env)
	if err != nil {
		return nil, noGPU(err)
	}
	a.noteJob(boxes, env)
	return boxes, nil
}

// maxAssumed is how many assumptions are told one by one.
const maxAssumed = 4

func (a *app) noteJob(boxes []job.Box, env *ncclenv.Env) {
	for _, n := range job.Notes(boxes) {
		a.note("%s", n)
	}
	assumed := job.Assumed(boxes)
	for i, what := range assumed {
		if i == maxAssumed && len(assumed) > maxAssumed+1 {
			a.note("assumed %d more values; ringtopo topo -o json lists them", len(assumed)-i)
			break
		}
		a.note("assumed: %s", what)
	}
	acted := env.Acted()
	for _, name := range slices.Sorted(maps.Keys(acted)) {
		a.note("%s=%s acts", name, acted[name])
	}
	for _, line := range env.Notes() {
		if strings.HasPrefix(line, "Invalid") {
			a.note("%s", line)
		}
	}
	for _, line := range env.Misfits() {
		a.note("%s", line)
	}
	for _, name := range env.Idle() {
		if ncclenv.Known(name) {
			a.note("--set %s does not act in this command", name)
		} else {
			a.note("--set %s has no influence here; is the name right?", name)
		}
	}
}

// noGPU adds to the news that there is no driver how to do without.
func noGPU(err error) error {
	if errors.Is(err, probe.ErrNoGPU) {
		return &codedError{exitNoGPU, fmt.Errorf("%w\nName a machine instead: a built-in one with -m v100x4 ('ringtopo machines' lists them), or a file with -m FILE", err)}
	}
	return err
}

// parseGPUs reads a list of device numbers and ranges of them; none means all.
func parseGPUs(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var gpus []int
	for field := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(field), "-")
		if !isRange {
			last = first
		}
		lo, err1 := strconv.ParseUint(first, 10, 10)
		hi, err2 := strconv.ParseUint(last, 10, 10)
		if err1 != nil || err2 != nil || lo > hi {
			return nil, usage("--gpus %s: %q is not a device number or a range; give for example 0,2,3 or 0-3", list, field)
		}
		for dev := lo; dev <= hi; dev++ {
			gpus = append(gpus, int(dev))
		}
	}
	return gpus, nil
}
