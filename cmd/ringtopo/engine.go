package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/host"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/internal/job"
)

// engineFlags say what moves the data, the same way in every command that
// moves some.
type engineFlags struct {
	engine string
	procs  bool
	noP2P  bool
	perGPU int
	spread int
	nccl   string
	limit  time.Duration
	inject string

	engines []engine // to choose from
	given   func(flag string) bool
}

// addEngineFlags gives a command --engine and what goes with it.
func (a *app) addEngineFlags(cmd *cobra.Command) *engineFlags {
	fl := cmd.Flags()
	f := &engineFlags{engines: engines(), given: fl.Changed}
	fl.StringVar(&f.engine, "engine", engineAuto, "what moves the data: "+strings.Join(append([]string{engineAuto}, engineNames()...), ", "))
	fl.BoolVar(&f.procs, "procs", false, "one process per rank, over shared memory; on GPUs each has a GPU of its own")
	fl.BoolVar(&f.noP2P, "no-p2p", false, "on GPUs: go through the host's memory, as without peer access")
	fl.IntVar(&f.perGPU, "ranks-per-gpu", 0, "on GPUs: so many ranks on each (default as many as all GPUs need to hold them)")
	fl.IntVar(&f.spread, "spread", 0, "on GPUs: blocks that a ring is launched with for each one that works, which keeps those apart (default 1, as NCCL; 3 with --algo best, --peer and --tune)")
	fl.StringVar(&f.nccl, "libnccl", "", "NCCL's library for --engine nccl (default the loader's libnccl.so.2)")
	fl.DurationVar(&f.limit, "limit", host.DefaultLimit, "how long nothing may move before a run counts as stuck")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(append([]string{engineAuto}, engineNames()...), cobra.ShellCompDirectiveNoFileComp))
	return f
}

const engineAuto = "auto"

// engine is one way to move data.
type engine struct {
	name string
	// usable says why it cannot be used on this machine, as an error that wraps
	// allreduce.ErrNoDevice; nil if it can.
	usable func(*engineFlags) error
	open   func(*app, *allreduce.Layout, engineOptions) (allreduce.Executor, error)
	// gpus says what GPUs there are; nil for an engine that uses none.
	gpus func() (gpu.Hardware, error)
}

// engineOptions are what engineFlags say, understood.
type engineOptions struct {
	procs   bool
	noP2P   bool
	perGPU  int
	nccl    string
	spread  int // 0: as everywhere
	limit   time.Duration
	fault   allreduce.Fault
	world   *launch.World // of a launcher, for engines that join it
	devices []int         // ordinal of each rank's GPU, where the machine is this one
	// symmetric has NCCL use symmetric windows.
	symmetric bool
}

// engines lists all, the best first: auto takes the first that is usable.
func engines() []engine {
	return []engine{
		{"gpu", func(*engineFlags) error { return gpu.Usable() }, openGPU, gpu.Present},
		{"nccl", func(f *engineFlags) error { return nccl.Usable(f.nccl) }, openNCCL, gpu.Present},
		{"host", func(*engineFlags) error { return nil }, openHost, nil},
	}
}

// named gives the engine of a name; the name is one of engines.
func (f *engineFlags) named(name string) engine {
	return f.engines[slices.IndexFunc(f.engines, func(e engine) bool { return e.name == name })]
}

func engineNames() []string {
	var names []string
	for _, e := range engines() {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

func openHost(a *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
	opt := host.Options{Limit: o.limit, Fault: o.fault}
	if o.procs {
		return host.NewProcs(l, opt, a.err)
	}
	return host.New(l, opt)
}

func openGPU(a *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
	if o.perGPU > 1 && (o.devices != nil || o.procs || o.world != nil) {
		return nil, usage("--ranks-per-gpu %d: with -m auto, and with --procs, every rank has a GPU of its own; to share GPUs name a machine (-m) and leave out --procs", o.perGPU)
	}
	opt := gpu.Options{Limit: o.limit, Fault: o.fault, Devices: o.devices, RanksPerGPU: o.perGPU, NoP2P: o.noP2P, Spread: o.spread}
	if o.world != nil {
		return joinGPU(a, l, opt, o.world)
	}
	ex, err := startGPU(a, l, opt, o.procs)
	var place *gpu.PlacementError
	switch {
	case errors.As(err, &place):
		return nil, &codedError{exitUsage, err}
	case err != nil:
		return nil, err
	}
	for _, n := range ex.Notes() {
		a.note("%s", n)
	}
	return ex, nil
}

// gpuExecutor is an executor on GPUs, in one process or several.
type gpuExecutor interface {
	allreduce.Executor
	Notes() []string
}

func startGPU(a *app, l *allreduce.Layout, o gpu.Options, procs bool) (gpuExecutor, error) {
	if procs {
		p, err := gpu.NewProcs(l, o, a.err)
		if err != nil {
			return nil, err // no nil of a type
		}
		return p, nil
	}
	ex, err := gpu.New(l, o)
	if err != nil {
		return nil, err
	}
	return ex, nil
}

func openNCCL(_ *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
	api, err := nccl.Open(o.nccl)
	if err != nil {
		return nil, err
	}
	return nccl.New(l, nccl.Options{API: api, Devices: o.devices, Symmetric: o.symmetric})
}

// channelLimit is an executor that may have room for fewer channels than a plan
// has.
type channelLimit interface {
	MostChannels(*allreduce.Plan) (int, error)
}

// fitChannels lists those of a plan's channels that an executor has room for.
// The note says why they are not all, and is empty where they are.
func fitChannels(ex allreduce.Executor, p *allreduce.Plan) (list []int, note string, err error) {
	list = p.Channels()
	limit, ok := ex.(channelLimit)
	if !ok {
		return list, "", nil
	}
	most, err := limit.MostChannels(p)
	var place *gpu.PlacementError
	if errors.As(err, &place) {
		return nil, "", &codedError{exitUsage, err}
	}
	if err != nil || most >= len(list) {
		return list, "", err
	}
	return list[:most], fmt.Sprintf("ran on %d of %d channels: more blocks of %d threads do not fit on a GPU at once; put fewer ranks on each (--ranks-per-gpu) to have all",
		most, len(list), p.Threads), nil
}

// choose finds the engine that the flags ask for. On auto a GPU is used only
// for the machine that it is in.
func (f *engineFlags) choose(m *machineFlags) (engine, error) {
	if f.limit < leastLimit {
		return engine{}, usage("--limit %v: want at least %v", f.limit, leastLimit)
	}
	if f.perGPU < 0 {
		return engine{}, usage("--ranks-per-gpu %d: want at least 1, or 0 for what fits", f.perGPU)
	}
	here := slices.Equal(m.machines, []string{job.Auto})
	for _, e := range f.engines {
		switch {
		case f.engine == e.name:
			if err := e.usable(f); err != nil {
				return engine{}, &codedError{exitNoGPU, err}
			}
			return e, f.fit(e)
		case f.engine == engineAuto && (here || e.name == "host"):
			if err := e.usable(f); err == nil {
				return e, f.fit(e)
			} else if !errors.Is(err, allreduce.ErrNoDevice) {
				return engine{}, err
			}
		}
	}
	return engine{}, usage("--engine %s: want one of %s, %s", f.engine, engineAuto, strings.Join(engineNames(), ", "))
}

// leastLimit is more than ranks that are well need to meet.
const leastLimit = time.Millisecond

// fit refuses flags that mean nothing to the engine. NCCL may be a choice of
// tables, beside our engine on GPUs.
func (f *engineFlags) fit(e engine) error {
	for _, x := range []struct {
		flag    string
		engines []string
	}{
		{"ranks-per-gpu", []string{"gpu"}}, {"no-p2p", []string{"gpu"}}, {"spread", []string{"gpu"}},
		{"libnccl", []string{"nccl", "gpu"}}, {"procs", []string{"gpu", "host"}}, {"inject", []string{"gpu", "host"}},
	} {
		if f.given(x.flag) && !slices.Contains(x.engines, e.name) {
			return usage("--%s goes with --engine %s; here the data is moved by %s", x.flag, strings.Join(x.engines, " or "), e.name)
		}
	}
	return nil
}

// stillRuns adds to the news that this machine cannot be probed that its GPUs can
// be used all the same, where they were asked for.
func (f *engineFlags) stillRuns(err error) error {
	var coded *codedError
	if f.engine != "gpu" || !errors.As(err, &coded) || coded.code != exitNoGPU {
		return err
	}
	return &codedError{exitNoGPU, fmt.Errorf("%w\nWith -m, --engine gpu proves that machine's rings on the GPUs here, in a build without cgo, too", err)}
}

// mostSpread is how many blocks a working one may be launched with.
const mostSpread = 8

// tunedSpread is the least that keeps the blocks of 24 channels apart on GPUs of
// 132 multiprocessors (docs/performance.md).
const tunedSpread = 3

// options understands the flags.
func (f *engineFlags) options() (o engineOptions, err error) {
	o = engineOptions{procs: f.procs, noP2P: f.noP2P, perGPU: f.perGPU, spread: f.spread, nccl: f.nccl, limit: f.limit}
	if f.spread < 0 || f.spread > mostSpread {
		return o, usage("--spread %d: want 1 to %d", f.spread, mostSpread)
	}
	if f.inject != "" {
		o.fault, err = parseFault(f.inject)
	}
	return o, err
}

// tuned launches as the tables of the best choices were measured, where the flags
// do not say otherwise.
func (o *engineOptions) tuned(best bool) {
	if best && o.spread == 0 {
		o.spread = tunedSpread
	}
}

// parseFault reads KIND, or KIND:rank=R,channel=C,step=S.
func parseFault(text string) (f allreduce.Fault, err error) {
	kind, places, _ := strings.Cut(text, ":")
	if f.Kind, err = allreduce.ParseFault(kind); err != nil {
		return f, usage("--inject: %v", err)
	}
	for place := range strings.SplitSeq(places, ",") {
		if place == "" {
			continue
		}
		name, value, _ := strings.Cut(place, "=")
		n, err := strconv.Atoi(value)
		to := map[string]*int{"rank": &f.Rank, "channel": &f.Channel, "step": &f.Step}[strings.TrimSpace(name)]
		if to == nil || err != nil || n < 0 {
			return f, usage("--inject %s: %q: want rank=R, channel=C or step=S", text, place)
		}
		*to = n
	}
	return f, nil
}
