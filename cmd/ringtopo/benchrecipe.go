package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// result is what the measurement goes into: an old one to go on with, or a new.
func (a *app) result(cmd *cobra.Command, c *benchCommand, m *benchMachine, e engine, begun *bench.Result) (*bench.Result, error) {
	host, err := hostOf(e)
	if err != nil {
		return nil, cannotOpen(err)
	}
	res := &bench.Result{Schema: bench.Schema, Engine: e.name, Host: host, Started: time.Now().UTC().Truncate(time.Second)}
	for _, machine := range m.machines {
		res.Machine = append(res.Machine, machine.Name)
	}
	if begun != nil {
		return begun, a.goOn(c, begun, res)
	}
	res.Recipe, err = c.readRecipe(cmd, m.whole)
	return res, err
}

// recipeFlags shape the recipe.
var recipeFlags = append([]string{"recipe", "warmup", "cycles", "iters"}, sweepFlags...)

// sweepFlags shape the recipe of a sweep only.
var sweepFlags = []string{"bytes", "algo", "proto", "dtype", "op", "buffsize", "nchannels", "nthreads"}

// begun is the result to go on with, nil if there is none. Flags that would make
// another recipe than its own are refused.
func (c *benchCommand) begun(cmd *cobra.Command) (*bench.Result, error) {
	res, err := readResult("resume", c.resume)
	if res == nil || !slices.ContainsFunc(recipeFlags, cmd.Flags().Changed) {
		return res, err
	}
	start, err := res.Recipe.Start()
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	asked, err := c.readRecipe(cmd, start.World)
	if err != nil {
		return nil, err
	}
	if !asked.Same(res.Recipe) {
		return nil, usage("%s was measured with another recipe than the flags ask for: leave out %s to go on with it", c.resume, givenOf(cmd, recipeFlags))
	}
	return res, nil
}

// givenOf writes those of some flags that were given.
func givenOf(cmd *cobra.Command, flags []string) string {
	var given []string
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return strings.Join(given, ", ")
}

// openNamed opens a file that a flag names.
func openNamed(flag, path string) (*os.File, error) {
	f, err := os.Open(path)
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err
	}
	if err != nil {
		return nil, usage("--%s %s: %w", flag, path, err)
	}
	return f, nil
}

// goOn makes sure that an old result can be gone on with here: on the same rings.
// Other hardware or software is the user's to judge.
func (a *app) goOn(c *benchCommand, begun, here *bench.Result) error {
	switch {
	case begun.Engine != here.Engine:
		return usage("%s was measured on %s, not on %s: choose it with --engine", c.resume, begun.Engine, here.Engine)
	case !slices.Equal(begun.Machine, here.Machine):
		return usage("%s was measured on rings of %s, not of %s: choose the machine with -m", c.resume, strings.Join(begun.Machine, " + "), strings.Join(here.Machine, " + "))
	}
	for _, u := range bench.Unlike(begun, here) {
		a.note("%s is gone on with elsewhere: %s", c.resume, u)
	}
	return nil
}

// readResult reads the result that a flag names, nil if it names none.
func readResult(flag, path string) (*bench.Result, error) {
	if path == "" {
		return nil, nil
	}
	f, err := openNamed(flag, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	res, err := bench.ReadResult(f, path)
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	return res, nil
}

// readRecipe reads the recipe asked for, or makes the sweep's, with what the
// flags change.
func (c *benchCommand) readRecipe(cmd *cobra.Command, whole int) (*bench.Recipe, error) {
	r, err := c.openRecipe(cmd, whole)
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	for _, f := range []struct {
		name string
		to   *int
		from int
	}{{"warmup", &r.Warmup, c.warmup}, {"cycles", &r.Cycles, c.cycles}, {"iters", &r.Iterations, c.iters}} {
		if cmd.Flags().Changed(f.name) {
			*f.to = f.from
		}
	}
	if err := r.Validate(); err != nil {
		return nil, &codedError{exitUsage, err}
	}
	return r, nil
}

func (c *benchCommand) openRecipe(cmd *cobra.Command, whole int) (*bench.Recipe, error) {
	switch {
	case c.recipe == "":
		return c.sweep(whole)
	case strings.ContainsAny(c.recipe, "./\\"):
		f, err := openNamed("recipe", c.recipe)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // only read
		return bench.ReadRecipe(f, c.recipe)
	}
	for _, name := range sweepFlags {
		if cmd.Flags().Changed(name) {
			return nil, usage("--%s is for sweeps: a recipe says itself what it varies", name)
		}
	}
	return bench.OpenShipped(c.recipe)
}

// sweep is the recipe of a command without one: sizes, out of place and in.
func (c *benchCommand) sweep(whole int) (*bench.Recipe, error) {
	if _, err := c.setting(c.dtype, 1); err != nil { // names the flag
		return nil, err
	}
	sizes, err := parseSizes(c.bytes)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(sizes))
	for i, n := range sizes {
		texts[i] = bench.FormatBytes(n)
	}
	number := func(n int) string {
		if n == 0 {
			return bench.Auto
		}
		return strconv.Itoa(n)
	}
	return &bench.Recipe{
		Name: "sweep", About: "AllReduce by size",
		Baseline: map[string]string{
			"world": strconv.Itoa(whole), "algo": c.algo, "proto": c.proto, "dtype": c.dtype, "op": c.op,
			"buffsize": c.buffsize, "channels": number(c.nchannels), "threads": number(c.nthreads), "bytes": texts[0],
		},
		Grid:   map[string][]string{"bytes": texts, "inplace": {"false", "true"}},
		Warmup: 3, Cycles: 2, Iterations: 10, CVLimit: 0.15, Tie: 0.05,
	}, nil
}
