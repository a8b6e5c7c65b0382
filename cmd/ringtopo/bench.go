package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// benchCommand is one call of ringtopo bench.
type benchCommand struct {
	machine *machineFlags
	engine  *engineFlags
	out     *output

	recipe                 string
	bytes                  string
	algo, proto, dtype, op string
	buffsize               string
	nchannels, nthreads    int
	warmup, cycles, iters  int
	list, planOnly         bool
	resume, compare, view  string
	tie                    float64
	turns                  turnFlags
}

func (a *app) newBench() *cobra.Command {
	c := &benchCommand{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measures AllReduces, one setting against another",
		Long: `Measures AllReduces in experiments that can be believed. Without --recipe it
sweeps over sizes and prints what nccl-tests prints. A recipe (YAML; --list names
those that come along) varies one setting at a time from a baseline, or takes every
combination, or goes on to the pairs of settings that matter.

Every setting is measured in several passes over all of them, every other pass
backwards, each after a warm-up. Medians count. A setting whose samples scatter
beyond the recipe's limit is marked and draws no conclusion; differences below the
recipe's tie limit are named ties. -o json keeps every sample; --resume goes on
where an interrupt or an error stopped; --compare sets the result against an older
one, and ends with exit code 1 where something got slower.

--peer nccl compares with NCCL's AllReduce: in this process, on the same GPUs and
buffers, in rounds of changing order; NCCL as it runs by default, and on symmetric
windows where it has them, of which the better counts. Bits are checked before and
after. With --algo ring NCCL is made to run its ring, with --proto by the same
protocol; what --set sets, NCCL sees, too. --min-ratio makes a test of it.

With no option messages are run as NCCL's model would. --algo best takes what is
known to be best on such a machine at that size: by the user's tables, else by
those that come along. --tune measures the choices that there are and keeps them
in such a table, in which NCCL may win, too. Reports name every choice and where it
comes from. A table that other users could write to is refused.`,
		Example: `  ringtopo bench -m v100x4 --bytes 1KiB:64MiB:4
  ringtopo bench -m dgx-a100 --recipe channels --plan
  ringtopo bench -m dgx-a100 --recipe protocols --out protocols.json
  ringtopo bench -m dgx-a100 --recipe protocols --resume protocols.json --out protocols.svg
  ringtopo bench -m v100x4 --bytes 1MiB --compare last-week.json
  ringtopo bench --peer nccl --bytes 8:1GiB --how graph,stream
  ringtopo bench --peer nccl --libnccl ./libnccl.so.2 --bytes 32KiB:512KiB --dtype bfloat16,float16 --min-ratio 1.7
  ringtopo bench --peer nccl --algo ring --proto LL --bytes 1KiB:1GiB --place out
  ringtopo bench --tune
  ringtopo bench -m v100x4 --tune --bytes 1KiB:1MiB --out tables.json
  ringtopo bench -m v100x4 --algo best --tuning tables.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd, c) },
	}
	a.addBenchFlags(cmd, c)
	return cmd
}

func (a *app) addBenchFlags(cmd *cobra.Command, c *benchCommand) {
	c.machine = a.addMachineFlags(cmd)
	c.engine = a.addEngineFlags(cmd)
	c.out = a.addOutput(cmd, "table", "csv", "json", "svg", "png")
	f := cmd.Flags()
	f.StringVar(&c.recipe, "recipe", "", "experiment: a name of --list, or a YAML file")
	f.StringVar(&c.bytes, "bytes", "1KiB:64MiB:4", "sizes of the sweep, FROM:TO[:FACTOR|:+STEP]")
	f.StringVar(&c.algo, "algo", bench.Auto, "algorithm of the sweep; auto: by NCCL's model; best: by tables (default of --peer)")
	f.StringVar(&c.proto, "proto", bench.Auto, "protocol of the sweep; auto: as the algorithm is chosen")
	f.StringVar(&c.dtype, "dtype", "float32", "type of the elements in the sweep; with --peer a list with commas")
	f.StringVar(&c.op, "op", "sum", "operation of the sweep: sum, prod, max, min, avg")
	f.StringVar(&c.buffsize, "buffsize", "4MiB", "size of a FIFO in the sweep")
	f.IntVar(&c.nchannels, "nchannels", 0, "channels of the sweep; 0: as NCCL makes them")
	f.IntVar(&c.nthreads, "nthreads", 0, "threads of a block in the sweep; 0: as NCCL chooses")
	f.IntVar(&c.warmup, "warmup", 0, "runs before each group of samples (default: the recipe's)")
	f.IntVar(&c.cycles, "cycles", 0, "passes over all settings (default: the recipe's)")
	f.IntVar(&c.iters, "iters", 0, "samples of a setting in one pass (default: the recipe's)")
	f.BoolVar(&c.list, "list", false, "list the recipes and end")
	f.BoolVar(&c.planOnly, "plan", false, "say what would run and how long it would take, and end")
	f.StringVar(&c.resume, "resume", "", "go on with this result of -o json")
	f.StringVar(&c.compare, "compare", "", "compare with this older result of -o json")
	f.Float64Var(&c.tie, "tie", 0.05, "relative difference that --compare does not count")
	f.StringVar(&c.view, "view", "lines", "picture for svg and png: lines or heat (interactions)")
	c.turns.register(cmd)
}

func (a *app) bench(cmd *cobra.Command, c *benchCommand) error {
	kind, err := c.turns.kind(cmd)
	if err == nil {
		err = c.checkBest(cmd)
	}
	switch {
	case err != nil:
		return err
	case kind == "peer":
		return a.benchPeer(c)
	case kind == "tune":
		return a.benchTune(cmd, c)
	case (c.list || c.planOnly) && (c.out.file != "" || orWord(c.out.format, "table") != "table"):
		return usage("--list and --plan print text only: leave out -o and --out")
	case c.list:
		return a.listRecipes(cmd)
	}
	return a.experiment(cmd, c)
}

// experiment measures a recipe, or shows what was measured before.
func (a *app) experiment(cmd *cobra.Command, c *benchCommand) error {
	format, err := c.format(cmd)
	if err != nil {
		return err
	}
	old, err := readResult("compare", c.compare)
	if err != nil {
		return err
	}
	begun, err := c.begun(cmd)
	switch {
	case err != nil:
		return err
	case begun != nil && begun.Finished && !c.planOnly:
		if err := c.drawable(begun.Recipe, format); err != nil {
			return err
		}
		return a.report(c, begun, old, format) // wherever it was measured
	}
	m, e, err := a.openBench(c)
	if err != nil {
		return err
	}
	res, err := a.result(cmd, c, m, e, begun)
	if err != nil {
		return err
	}
	if err := c.drawable(res.Recipe, format); err != nil {
		return err
	}
	if c.planOnly {
		return a.planBench(m, res.Recipe)
	}
	if err := m.learn(c, res.Recipe); err != nil {
		return err
	}
	return a.measure(c, m, res, old, format)
}

// best says that the sweep asks for the best choice, instead of NCCL's.
func (c *benchCommand) best() bool { return strings.EqualFold(c.algo, bench.Best) }

// checkNumbers refuses values of flags that mean nothing.
func (c *benchCommand) checkNumbers() error {
	switch {
	case c.view != "lines" && c.view != "heat":
		return usage("--view %s: want lines or heat", c.view)
	case !(c.tie >= 0): // nor NaN
		return usage("--tie %v: want a relative difference from 0 on, such as 0.05", c.tie)
	case c.nchannels < 0 || c.nchannels > maxChannels:
		return usage("--nchannels %d: want 1 to %d, or 0 for what NCCL makes", c.nchannels, maxChannels)
	case c.nthreads != 0 && (c.nthreads < leastThreads || c.nthreads > mostThreadsLL128 || c.nthreads%32 != 0):
		return usage("--nthreads %d: want a multiple of 32 from %d to %d, or 0 for what NCCL chooses", c.nthreads, leastThreads, mostThreadsLL128)
	}
	return nil
}

// format is that of the result. What has no part in it is refused.
func (c *benchCommand) format(cmd *cobra.Command) (string, error) {
	format, err := c.out.resolve()
	if err == nil {
		err = c.checkNumbers()
	}
	if err == nil {
		err = together(cmd, c.compare != "", "--compare", "tie")
	}
	if err == nil {
		err = together(cmd, format == "svg" || format == "png", "-o svg or -o png", "view")
	}
	return format, err
}

// drawable refuses a picture that an experiment cannot give, before it is run.
func (c *benchCommand) drawable(r *bench.Recipe, format string) error {
	if c.view == "heat" && !r.Interact && (format == "svg" || format == "png") {
		return usage("--view heat draws interactions, and the recipe %s does not ask for them (interact: true)", r.Name)
	}
	return nil
}

// openBench finds the machine to measure on, and its engine.
func (a *app) openBench(c *benchCommand) (m *benchMachine, e engine, err error) {
	ms, gpus, env, err := a.open(c.machine)
	if err != nil {
		return nil, e, noGPU(err)
	}
	if e, err = c.engine.choose(c.machine); err != nil {
		return nil, e, err
	}
	opt, err := c.engine.options()
	if err != nil {
		return nil, e, err
	}
	opt.tuned(c.best())
	if m, err = newBenchMachine(ms, gpus, env, nil); err != nil {
		return nil, e, err
	}
	return m, e, m.use(a, c, e, opt)
}

func (a *app) listRecipes(cmd *cobra.Command) error {
	for _, name := range append([]string{"plan", "resume", "compare"}, recipeFlags...) {
		if cmd.Flags().Changed(name) {
			return usage("--list only lists: leave out --%s", name)
		}
	}
	t := newTable()
	t.AppendHeader(table.Row{"Recipe", "Varies", "Question"})
	for _, name := range bench.Shipped() {
		r, err := bench.OpenShipped(name)
		if err != nil {
			return err
		}
		t.AppendRow(table.Row{name, r.About, r.Question})
	}
	return a.print(func(w io.Writer) error {
		_, err := fmt.Fprintln(w, t.Render())
		return err
	})
}

// planBench says what would run, and roughly for how long.
func (a *app) planBench(m *benchMachine, r *bench.Recipe) error {
	d, points, joint, err := bench.Estimate(m, r)
	if err != nil {
		return err
	}
	list, err := r.Points()
	if err != nil {
		return err
	}
	return a.print(func(w io.Writer) error {
		for i, p := range list {
			fmt.Fprintf(w, "%4d  %v\n", i+1, p.Setting)
		}
		fmt.Fprintf(w, "%d settings x %d passes x (%d + %d) runs, about %v of runs", points, r.Cycles, r.Warmup, r.Iterations, d.Round(100*time.Millisecond))
		if joint > 0 {
			fmt.Fprintf(w, "; then up to %d pairs of settings", joint)
		}
		_, err := fmt.Fprintln(w)
		return err
	})
}
