package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
)

// benchMachine times settings on the rings of some machines.
type benchMachine struct {
	machines []*job.Machine
	devs     []int // device by rank of the whole job; nil on several boxes
	whole    int   // ranks of the whole job
	env      *ncclenv.Env
	open     func(*allreduce.Layout) (allreduce.Executor, error)
	// For the algorithm best: the user's tables, nil if there are none, and NCCL,
	// which they may name.
	tables *best.File
	nccl   func(l *allreduce.Layout, symmetric bool) (allreduce.Executor, error)
}

func newBenchMachine(ms []*job.Machine, gpus []int, env *ncclenv.Env, open func(*allreduce.Layout) (allreduce.Executor, error)) (*benchMachine, error) {
	boxes, err := job.See(ms, gpus, env)
	if err != nil {
		return nil, noGPU(err)
	}
	m := &benchMachine{machines: ms, env: env, open: open}
	for _, b := range boxes {
		m.whole += b.Ranks()
	}
	if len(boxes) == 1 {
		m.devs = make([]int, m.whole)
		for _, n := range boxes[0].Graph.NodesOf(graph.GPU) {
			m.devs[n.GPU.Rank] = n.GPU.Dev
		}
	}
	return m, nil
}

// use has an engine run the settings, and for the algorithm best NCCL where the
// user's tables name it.
func (m *benchMachine) use(a *app, c *benchCommand, e engine, opt engineOptions) error {
	if c.best() && e.name == "nccl" {
		return usage("--algo best with --engine nccl: NCCL chooses itself")
	}
	at := func(l *allreduce.Layout) engineOptions {
		o := opt
		if e.name != "host" && slices.Equal(c.machine.machines, []string{job.Auto}) {
			o.devices = m.devs[:l.NRanks]
		}
		return o
	}
	m.open = func(l *allreduce.Layout) (allreduce.Executor, error) { return e.open(a, l, at(l)) }
	m.nccl = func(l *allreduce.Layout, symmetric bool) (allreduce.Executor, error) {
		o := at(l)
		o.symmetric = symmetric
		return c.engine.named("nccl").open(a, l, o)
	}
	return nil
}

// learn opens the user's tables, if a setting asks for the best choice.
func (m *benchMachine) learn(c *benchCommand, r *bench.Recipe) error {
	points, err := r.Points()
	if err != nil || !slices.ContainsFunc(points, func(p bench.Point) bool { return p.Setting.Algo == bench.Best }) {
		return err
	}
	m.tables, err = openTuning(c.turns.tuning)
	return err
}

// comm makes the communicator of a setting.
func (m *benchMachine) comm(s bench.Setting) (*connect.Comm, error) {
	env := m.env
	if s.Channels > 0 {
		n := strconv.Itoa(s.Channels)
		env = env.With(map[string]string{"NCCL_MIN_NCHANNELS": n, "NCCL_MAX_NCHANNELS": n})
	}
	var gpus []int
	switch {
	case s.World > m.whole:
		return nil, &bench.SkipError{Reason: fmt.Sprintf("the machine has %d GPUs", m.whole)}
	case m.devs != nil:
		gpus = m.devs[:s.World]
	case s.World != m.whole:
		return nil, &bench.SkipError{Reason: fmt.Sprintf("on several nodes the world is all %d ranks", m.whole)}
	}
	j, err := job.New(m.machines, gpus, env)
	if err != nil {
		return nil, err
	}
	return j.Comm, nil
}

// planner sets up what decides a setting's plan.
func (m *benchMachine) planner(s bench.Setting, opts ...plan.Option) (*plan.Planner, plan.Force, error) {
	comm, err := m.comm(s)
	if err != nil {
		return nil, plan.Force{}, err
	}
	settings := plan.SettingsFrom(m.env)
	force, err := forced(s)
	if err != nil {
		return nil, force, err
	}
	proto := allreduce.Simple
	if force.Proto != nil {
		proto = *force.Proto
	}
	settings.BuffSize[proto] = s.BuffSize
	if s.Threads > 0 {
		settings.Threads, settings.LL128Threads = s.Threads, s.Threads
	}
	p, err := plan.New(comm, settings, opts...)
	if err != nil {
		return nil, force, &bench.SkipError{Reason: err.Error()}
	}
	return p, force, nil
}

// forced is what a setting leaves no choice about.
func forced(s bench.Setting) (force plan.Force, err error) {
	if s.Algo != bench.Auto && s.Algo != bench.Best {
		a, err := allreduce.ParseAlgo(s.Algo)
		if err != nil {
			return force, err
		}
		force.Algo = &a
	}
	if s.Proto != bench.Auto {
		p, err := allreduce.ParseProto(s.Proto)
		if err != nil {
			return force, err
		}
		force.Proto = &p
	}
	return force, nil
}

// planOne plans a setting's one message.
func planOne(p *plan.Planner, force plan.Force, s bench.Setting) (*plan.Launch, error) {
	size := int64(s.DType.Size())
	if s.Bytes%size != 0 {
		return nil, &bench.SkipError{Reason: fmt.Sprintf("%d bytes are no whole number of %s", s.Bytes, s.DType)}
	}
	launches, err := p.Plan([]plan.Task{{Count: s.Bytes / size, DType: s.DType, Op: s.Op}}, force)
	if err != nil {
		return nil, &bench.SkipError{Reason: err.Error()}
	}
	return launches[0], nil
}

// fitted plans a setting's one message for an executor, on fewer channels where
// the blocks of all do not fit.
func (m *benchMachine) fitted(ex allreduce.Executor, p *plan.Planner, force plan.Force, s bench.Setting) (*plan.Launch, error) {
	l, err := planOne(p, force, s)
	if err != nil {
		return nil, err
	}
	list, note, err := fitChannels(ex, l.Plan)
	if err != nil || note == "" {
		return l, err
	}
	if p, _, err = m.planner(s, plan.OnChannels(list)); err != nil {
		return nil, err
	}
	if l, err = planOne(p, force, s); err != nil {
		return nil, err
	}
	l.Plan.Layout = ex.Layout() // alike, but its own
	return l, nil
}

// Estimate guesses the time of a run from what a core copies in a second.
func (m *benchMachine) Estimate(s bench.Setting) time.Duration {
	const start, perSecond = 30 * time.Microsecond, 4e9
	moved := 2 * float64(s.World) * float64(s.Bytes)
	return start + time.Duration(moved/perSecond*float64(time.Second))
}
