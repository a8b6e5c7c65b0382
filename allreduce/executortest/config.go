package executortest

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/connect"
	"pgregory.net/rapid"
)

// TB is what a test and a property test have in common.
type TB interface {
	Helper()
	Error(args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// New sets up an executor for a layout.
type New func(*allreduce.Layout) (allreduce.Executor, error)

// Config is one AllReduce, or a group of them, on given rings and trees.
type Config struct {
	Layout   *allreduce.Layout
	Channels []int // nil: all
	Tasks    []plan.Task
	Algo     allreduce.Algo
	Proto    allreduce.Proto
	Options  verify.Options
}

// Limits bound what Draw makes.
type Limits struct {
	Ranks, Channels int
	Count           int64 // elements
	Tasks           int
}

// Draw makes a random configuration: rings, trees, buffers, tasks.
func Draw(t *rapid.T, most Limits) Config {
	n := rapid.IntRange(2, most.Ranks).Draw(t, "ranks")
	channels := rapid.IntRange(1, most.Channels).Draw(t, "channels")
	c := Config{Layout: &allreduce.Layout{NRanks: n, BuffSize: drawBuffers(t)}}
	for range channels {
		order := permutation(t, n)
		zero := slices.Index(order, 0)
		c.Layout.Rings = append(c.Layout.Rings, slices.Concat(order[zero:], order[:zero]))
		c.Layout.Trees = append(c.Layout.Trees, drawTree(t, n))
	}
	if rapid.Bool().Draw(t, "some channels") {
		c.Channels = permutation(t, channels)[:rapid.IntRange(1, channels).Draw(t, "active")]
		slices.Sort(c.Channels)
	}
	for range rapid.IntRange(1, most.Tasks).Draw(t, "tasks") {
		c.Tasks = append(c.Tasks, plan.Task{
			Count: rapid.Int64Range(1, most.Count).Draw(t, "count"),
			DType: rapid.SampledFrom(allreduce.DTypes()).Draw(t, "type"),
			Op:    rapid.SampledFrom(allreduce.Ops()).Draw(t, "op"),
		})
	}
	c.Algo = rapid.SampledFrom([]allreduce.Algo{allreduce.Ring, allreduce.Tree, allreduce.OneShot, allreduce.TwoShot}).Draw(t, "algo")
	c.Proto = rapid.SampledFrom(allreduce.Protos()).Draw(t, "proto")
	c.Options = verify.Options{
		Pattern: rapid.SampledFrom(verify.Patterns()).Draw(t, "pattern"),
		Seed:    rapid.Uint64().Draw(t, "seed"),
		InPlace: rapid.Bool().Draw(t, "in place"),
		Shift:   rapid.IntRange(0, 3).Draw(t, "shift"),
	}
	return c
}

func permutation(t *rapid.T, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return rapid.Permutation(list).Draw(t, "order")
}

// drawBuffers makes FIFOs from the smallest that work to the default.
func drawBuffers(t *rapid.T) [allreduce.NumProtos]int {
	size := allreduce.DefaultBuffSize()
	shrink := rapid.IntRange(0, 6).Draw(t, "shrink buffers")
	for p := range size {
		size[p] >>= shrink
	}
	return size
}

// drawTree hangs rank after rank under one that has room.
func drawTree(t *rapid.T, n int) connect.Tree {
	tree := connect.Tree{Up: make([]int32, n), Down: make([][3]int32, n)}
	for i := range n {
		tree.Up[i], tree.Down[i] = -1, [3]int32{-1, -1, -1}
	}
	order := permutation(t, n)
	for i, rank := range order[1:] {
		parent := order[rapid.IntRange(0, i).Draw(t, "parent")]
		for slices.Index(tree.Down[parent][:], -1) < 0 {
			parent = int(tree.Down[parent][0])
		}
		tree.Down[parent][slices.Index(tree.Down[parent][:], -1)] = int32(rank)
		tree.Up[rank] = int32(parent)
	}
	return tree
}

// Plan lays the tasks over the channels.
func (c *Config) Plan() ([]*plan.Launch, *allreduce.Layout, error) {
	s := plan.DefaultSettings()
	s.BuffSize = c.Layout.BuffSize
	var opts []plan.Option
	if c.Channels != nil {
		opts = append(opts, plan.OnChannels(c.Channels))
	}
	p, err := plan.New(plan.Nominal(c.Layout), s, opts...)
	if err != nil {
		return nil, nil, err
	}
	launches, err := p.Plan(c.Tasks, plan.Force{Algo: &c.Algo, Proto: &c.Proto})
	return launches, p.Layout(), err
}

// Check runs the configuration rounds times on one executor and wants every bit
// right. skipped: the executor does not run it.
func (c *Config) Check(t TB, open New, rounds int) (skipped bool) {
	t.Helper()
	launches, layout, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	ex, err := open(layout)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ex.Close(); err != nil {
			t.Error("close:", err)
		}
	}()
	if ex.Can(c.Algo, c.Proto) != nil {
		return true
	}
	for _, l := range launches {
		if err := RunPlan(ex, l.Plan, c.Options, rounds); err != nil {
			t.Fatalf("%s/%s %v on %d ranks, channels %v of %d, %+v: %v", c.Algo, c.Proto, c.Tasks, layout.NRanks, c.Channels, layout.Channels(), c.Options, err)
		}
	}
	return false
}

// RunPlan runs a plan rounds times with fresh data and says what was wrong.
func RunPlan(ex allreduce.Executor, p *allreduce.Plan, o verify.Options, rounds int) error {
	trial, err := verify.NewTrial(ex, p, o)
	if err != nil {
		return err
	}
	defer trial.Close()
	for round := range rounds {
		if err := trial.Fill(); err != nil {
			return err
		}
		if _, err := trial.Run(context.Background()); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		r, err := trial.Check()
		if err != nil {
			return err
		}
		if !r.OK() {
			return fmt.Errorf("round %d: %d wrong, first: %v", round, r.Wrong, r.First)
		}
	}
	return nil
}
