package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/contest"
)

// turnFlags are those of the measurements in turn: --peer and --tune.
type turnFlags struct {
	peer, how, place string
	tune             bool
	rounds           int
	minRatio         float64
	tuning           string
}

func (t *turnFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.peer, "peer", "", "compare with this library in turn, on the same GPUs: nccl")
	f.BoolVar(&t.tune, "tune", false, "find the best choice for each size and keep it for --algo best")
	f.StringVar(&t.how, "how", string(contest.Graph), "how calls are made with --peer and --tune on GPUs: graph, stream, or both with a comma")
	f.StringVar(&t.place, "place", "both", "with --peer: out of place, in place, or both: out, in, both")
	f.IntVar(&t.rounds, "rounds", contest.DefaultRules().Rounds, "rounds of --peer and --tune, after one to warm up; medians count")
	f.Float64Var(&t.minRatio, "min-ratio", 0, "with --peer: least ratio of NCCL's time to ours; exit code 1 below it")
	f.StringVar(&t.tuning, "tuning", "", "tables for --algo best, and where --tune without --out keeps them (default tuning.json in the user's settings)")
	complete(cmd, map[string][]string{"peer": {"nccl"}, "how": {"graph", "stream", "graph,stream"}, "place": {"out", "in", "both"}})
}

// idle lists the flags that a kind of measurement does not know.
var idle = map[string][]string{
	"":     {"how", "place", "rounds", "min-ratio"},
	"peer": {"tune", "recipe", "list", "plan", "resume", "compare", "view", "warmup", "cycles", "iters", "tie", "procs"},
	"tune": {"place", "min-ratio", "recipe", "list", "plan", "resume", "compare", "view", "warmup", "cycles", "iters", "tie", "algo", "proto"},
}

// kind is which measurement the flags ask for: a sweep or experiment (empty),
// peer or tune. Flags of other kinds are refused.
func (t *turnFlags) kind(cmd *cobra.Command) (string, error) {
	kind, other := "", "--peer or --tune"
	switch {
	case t.peer != "":
		kind, other = "peer", "another measurement than --peer"
	case t.tune:
		kind, other = "tune", "another measurement than --tune"
	}
	for _, name := range idle[kind] {
		if cmd.Flags().Changed(name) {
			return "", usage("--%s goes with %s", name, other)
		}
	}
	return kind, nil
}

// checkBest takes the best choice where --peer is not told another, and refuses
// it with a protocol: it has its own.
func (c *benchCommand) checkBest(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	if c.turns.peer != "" && !given("algo") && !given("proto") {
		c.algo = bench.Best
	}
	if c.best() && given("proto") {
		return usage("--proto %s: the best choice has its own protocol; name an algorithm with --algo", c.proto)
	}
	wanted := c.turns.tune || c.best() || c.recipe != "" || c.resume != "" // which may ask for it
	return together(cmd, wanted, "--algo best or --tune", "tuning")
}

// rules are how carefully is measured.
func (t *turnFlags) rules() (contest.Rules, error) {
	r := contest.DefaultRules()
	r.CPU = processTime
	if r.Rounds = t.rounds; r.Rounds < 1 {
		return r, usage("--rounds %d: want at least 1", t.rounds)
	}
	return r, nil
}

// hows are the ways of calling that are asked for.
func (t *turnFlags) hows() (list []contest.How, err error) {
	for word := range strings.SplitSeq(t.how, ",") {
		h := contest.How(word)
		if h != contest.Graph && h != contest.Stream || slices.Contains(list, h) {
			return nil, usage("--how %s: want graph, stream, or both with a comma", t.how)
		}
		list = append(list, h)
	}
	return list, nil
}

// places say whether in place.
func (t *turnFlags) places() ([]bool, error) {
	switch t.place {
	case "out":
		return []bool{false}, nil
	case "in":
		return []bool{true}, nil
	case "both":
		return []bool{false, true}, nil
	}
	return nil, usage("--place %s: want out, in or both", t.place)
}

// processTime is what all threads of this process have used of processors.
func processTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
