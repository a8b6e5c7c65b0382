package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/fifo"
)

// modelCommand is one call of ringtopo model.
type modelCommand struct {
	out    *output
	proto  string
	fault  string
	slots  int
	traces bool
}

func (a *app) newModel() *cobra.Command {
	var c modelCommand
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Explores the protocols of a connection, whole and broken on purpose",
		Long: `Explores models of one connection with each of the protocols Simple, LL and
LL128, whole and with one fault at a time: a fence left out, a flag that does not
change, a credit that never comes back.

Stores become visible in any order unless a fence stands between them, and every
interleaving of sender, receiver and memory is walked through. A whole protocol
ends well in all of them; every fault shows its own harm. --traces tells the
shortest way to each end.

Exit code 1: a case did not end as it must.`,
		Example: `  ringtopo model
  ringtopo model --proto LL --slots 4
  ringtopo model --fault no-fence --traces
  ringtopo model -o json --out model.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.model(cmd, &c) },
	}
	c.out = a.addOutput(cmd, "table", "json", "yaml", "csv", "markdown")
	cmd.Flags().StringVar(&c.proto, "proto", "", "only this protocol: Simple, LL, LL128")
	cmd.Flags().StringVar(&c.fault, "fault", "", "only this fault; none: the whole protocols")
	cmd.Flags().IntVar(&c.slots, "slots", 0, "only FIFOs of this many steps: 2, 4, 8")
	cmd.Flags().BoolVar(&c.traces, "traces", false, "print the shortest trace to every end")
	complete(cmd, map[string][]string{"proto": texts(allreduce.Protos()), "slots": {"2", "4", "8"}})
	completeBy(cmd, "fault", faultNames)
	return cmd
}

// explored is a case of the matrix with what the search found.
type explored struct {
	entry  fifo.Entry
	result *fifo.Result
	err    error // how it differs from what must be
}

func (a *app) model(cmd *cobra.Command, c *modelCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	if err := together(cmd, format == "table" || format == "markdown", "-o table or -o markdown: JSON and YAML have all traces", "traces"); err != nil {
		return err
	}
	entries, err := c.entries()
	if err != nil {
		return err
	}
	cases, failed := make([]explored, len(entries)), 0
	for i, e := range entries {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		cases[i].entry = e
		if cases[i].result, err = fifo.Explore(e.Case); err != nil {
			return err
		}
		if cases[i].err = e.Check(cases[i].result); cases[i].err != nil {
			failed++
		}
	}
	err = a.emit(c.out, func(w io.Writer) error {
		if format == "json" || format == "yaml" {
			return encode(w, format, newModelJSON(cases))
		}
		return writeModel(w, cases, format, c.traces)
	})
	if err == nil && failed > 0 {
		err = &codedError{exitFailed, fmt.Errorf("%s of %d did not end as they must", count(failed, "case"), len(cases))}
	}
	return err
}

// entries are the cases asked for.
func (c *modelCommand) entries() ([]fifo.Entry, error) {
	var proto allreduce.Proto
	var fault fifo.Fault
	var err error
	if c.proto != "" {
		if proto, err = allreduce.ParseProto(c.proto); err != nil {
			return nil, usage("--proto: %v", err)
		}
	}
	if c.fault != "" {
		if err = fault.UnmarshalText([]byte(c.fault)); err != nil {
			return nil, usage("--fault: %v: want one of %s", err, strings.Join(faultNames(), ", "))
		}
	}
	entries := slices.DeleteFunc(fifo.Matrix(), func(e fifo.Entry) bool {
		return c.proto != "" && e.Case.Proto != proto || c.fault != "" && e.Case.Fault != fault || c.slots != 0 && e.Case.Slots != c.slots
	})
	if len(entries) == 0 {
		return nil, usage("no case has %s: ringtopo model lists them all", c.asked())
	}
	return entries, nil
}

// asked repeats the flags that choose cases.
func (c *modelCommand) asked() string {
	var flags []string
	if c.proto != "" {
		flags = append(flags, "--proto "+c.proto)
	}
	if c.fault != "" {
		flags = append(flags, "--fault "+c.fault)
	}
	if c.slots != 0 {
		flags = append(flags, fmt.Sprintf("--slots %d", c.slots))
	}
	return strings.Join(flags, " ")
}

func faultNames() []string {
	var names []string
	for _, e := range fifo.Matrix() {
		if n := e.Case.Fault.String(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}
