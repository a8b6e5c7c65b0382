package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
)

// planFlags say what is to be planned and what is forced, the same way in
// every command that plans.
type planFlags struct {
	bytes       []string
	dtype, op   string
	algo, proto string
	nchannels   int
	channels    string
	buffsize    string
	nthreads    int

	settings plan.Settings
	given    func(flag string) bool
	// mayBest lets best stand for an algorithm, where data moves.
	mayBest bool
}

// addPlanFlags gives a command the flags; def is the default of --bytes.
func (a *app) addPlanFlags(cmd *cobra.Command, m *machineFlags, def string) *planFlags {
	f := &planFlags{settings: plan.DefaultSettings()}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.bytes, "bytes", []string{def}, "size of the message, or FROM:TO[:FACTOR|:+STEP]; several times: several")
	fl.StringVar(&f.dtype, "dtype", "float32", "type of the elements")
	fl.StringVar(&f.op, "op", "sum", "operation: sum, prod, max, min, avg")
	fl.StringVar(&f.algo, "algo", "", "force an algorithm: Tree, Ring, NVLS, NVLSTree, OneShot, TwoShot")
	fl.StringVar(&f.proto, "proto", "", "force a protocol: LL, LL128, Simple")
	fl.IntVar(&f.nchannels, "nchannels", 0, "number of channels of the communicator (NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS)")
	fl.StringVar(&f.channels, "channels", "", "use only these channels, for example 0,2,5")
	fl.StringVar(&f.buffsize, "buffsize", "", "size of a FIFO: that of --proto, else of Simple")
	fl.IntVar(&f.nthreads, "nthreads", 0, "most threads of a block, without posting threads (NCCL_NTHREADS)")
	f.given = fl.Changed
	complete(cmd, map[string][]string{
		"algo":  {"Tree", "Ring", "NVLS", "NVLSTree", "OneShot", "TwoShot"},
		"proto": texts(allreduce.Protos()), "dtype": texts(allreduce.DTypes()), "op": texts(allreduce.Ops()),
	})
	m.reads = func(env *ncclenv.Env) { f.settings = plan.SettingsFrom(env) }
	return f
}

// prepare turns --nchannels into the variables that it stands for.
func (f *planFlags) prepare(m *machineFlags) error {
	if f.given("nchannels") && (f.nchannels < 1 || f.nchannels > maxChannels) {
		return usage("--nchannels %d: want 1 to %d", f.nchannels, maxChannels)
	}
	if f.nchannels > 0 {
		n := strconv.Itoa(f.nchannels)
		m.set = append(m.set, "NCCL_MIN_NCHANNELS="+n, "NCCL_MAX_NCHANNELS="+n)
	}
	return nil
}

// maxChannels is the most that NCCL makes.
const maxChannels = 32

// planner sets up the planner for a communicator and says what is forced.
func (f *planFlags) planner(c *connect.Comm) (*plan.Planner, plan.Force, error) {
	force, err := f.force()
	if err != nil {
		return nil, force, err
	}
	if err := f.apply(force); err != nil {
		return nil, force, err
	}
	var opts []plan.Option
	if f.channels != "" {
		list, err := parseChannels(f.channels)
		if err != nil {
			return nil, force, err
		}
		opts = append(opts, plan.OnChannels(list))
	}
	p, err := plan.New(c, f.settings, opts...)
	if err != nil {
		return nil, force, usage("%v", err)
	}
	return p, force, nil
}

// best says that the best choice is asked for, instead of NCCL's.
func (f *planFlags) best() bool { return f.mayBest && strings.EqualFold(f.algo, bench.Best) }

// anyBest says that it is asked for in a list, too.
func (f *planFlags) anyBest() bool {
	isBest := func(algo string) bool { return strings.EqualFold(algo, bench.Best) }
	return f.mayBest && slices.ContainsFunc(strings.Split(f.algo, ","), isBest)
}

func (f *planFlags) force() (force plan.Force, err error) {
	if f.best() && f.proto != "" {
		return force, usage("--proto %s: the best choice has its own protocol; name an algorithm with --algo", f.proto)
	}
	if f.algo != "" && !f.best() {
		a, err := allreduce.ParseAlgo(f.algo)
		if err != nil {
			return force, usage("--algo: %v", err)
		}
		force.Algo = &a
	}
	if f.proto != "" {
		p, err := allreduce.ParseProto(f.proto)
		if err != nil {
			return force, usage("--proto: %v", err)
		}
		force.Proto = &p
	}
	return force, nil
}

// Threads that NCCL lets a block have, without those that post.
const (
	leastThreads, mostThreads           = 64, 512
	leastThreadsLL128, mostThreadsLL128 = 160, 640
)

// apply puts sizes and threads into the settings.
func (f *planFlags) apply(force plan.Force) error {
	proto := allreduce.Simple
	if force.Proto != nil {
		proto = *force.Proto
	}
	if f.buffsize != "" {
		size, err := parseSize(f.buffsize)
		if err != nil {
			return usage("--buffsize: %v", err)
		}
		f.settings.BuffSize[proto] = int(size)
	}
	if !f.given("nthreads") {
		return nil
	}
	least, most, to := leastThreads, mostThreads, &f.settings.Threads
	if proto == allreduce.LL128 {
		least, most, to = leastThreadsLL128, mostThreadsLL128, &f.settings.LL128Threads
	}
	if f.nthreads < least || f.nthreads > most || f.nthreads%32 != 0 {
		return usage("--nthreads %d: want a multiple of 32 from %d to %d", f.nthreads, least, most)
	}
	*to = f.nthreads
	return nil
}

// tasks are the messages that --bytes asks for.
func (f *planFlags) tasks() ([]plan.Task, error) {
	d, err := allreduce.ParseDType(f.dtype)
	if err != nil {
		return nil, usage("--dtype: %v", err)
	}
	op, err := allreduce.ParseOp(f.op)
	if err != nil {
		return nil, usage("--op: %v", err)
	}
	var tasks []plan.Task
	for _, text := range f.bytes {
		sizes, err := parseSizes(text)
		if err != nil {
			return nil, err
		}
		for _, size := range sizes {
			if size%int64(d.Size()) != 0 {
				return nil, usage("--bytes %d: want a multiple of %d, the size of %s", size, d.Size(), d)
			}
			tasks = append(tasks, plan.Task{Count: size / int64(d.Size()), DType: d, Op: op})
		}
	}
	return tasks, nil
}

// parseChannels reads a list of channel numbers and ranges: 0,2,5 or 0-3,8.
func parseChannels(text string) ([]int, error) {
	var list []int
	for field := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(field), "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b > allreduce.MaxChannels {
			return nil, usage("--channels %s: %q is no channel; give numbers such as 0,2,5 or 0-3", text, field)
		}
		for c := a; c <= b; c++ {
			list = append(list, c)
		}
	}
	slices.Sort(list)
	return list, nil
}
