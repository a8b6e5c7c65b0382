package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/topo/machinejson"
	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// machinesJSON is ringtopo machines -o json.
type machinesJSON struct {
	Schema   string         `json:"schema"`
	Machines []machineEntry `json:"machines"`
}

type machineEntry struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func (a *app) newMachines() *cobra.Command {
	var o *output
	cmd := &cobra.Command{
		Use:   "machines",
		Short: "Lists the built-in machines",
		Long: `Lists the built-in machines, which every command takes with -m NAME. They are
made from public facts; the machine in your rack may differ in NUMA settings and
in which card sits in which slot.`,
		Example: `  ringtopo machines
  ringtopo machines show dgx-1v
  ringtopo machines show v100x4 --out v100x4.xml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			format, err := o.resolve()
			if err != nil {
				return err
			}
			return a.emit(o, func(w io.Writer) error { return writeMachines(w, format) })
		},
	}
	o = a.addOutput(cmd, "text", "json", "yaml")
	cmd.AddCommand(a.newMachinesShow())
	return cmd
}

func writeMachines(w io.Writer, format string) error {
	if format != "text" {
		list := machinesJSON{Schema: "ringtopo.machines/v1"}
		for _, m := range machines.List() {
			list.Machines = append(list.Machines, machineEntry{m.Name, m.Summary})
		}
		return encode(w, format, list)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range machines.List() {
		fmt.Fprintf(tw, "%s\t%s\n", m.Name, m.Summary)
	}
	return tw.Flush()
}

func (a *app) newMachinesShow() *cobra.Command {
	var o *output
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Prints a built-in machine as topology XML, JSON or YAML",
		Long: `Prints a built-in machine in NCCL's topology format: what NCCL_TOPO_FILE takes,
and a start for a file of your own. As JSON or YAML it is the same in words and
numbers; -m takes all three.`,
		Example: `  ringtopo machines show v100x4
  ringtopo machines show dgx-a100 --out dgx-a100.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("want the name of one machine, not %d; there are %s", len(args), strings.Join(machines.Names(), ", "))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return machines.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := o.resolve()
			if err != nil {
				return err
			}
			doc, err := machines.Open(args[0])
			if err != nil {
				return err
			}
			return a.emit(o, func(w io.Writer) error { return writeMachine(w, format, doc) })
		},
	}
	o = a.addOutput(cmd, "xml", "json", "yaml")
	return cmd
}

// writeMachine writes a machine as topology XML, or in words and numbers.
func writeMachine(w io.Writer, format string, doc *ncclxml.Document) error {
	if format == "xml" {
		return ncclxml.Encode(w, doc)
	}
	all, err := doc.Select(nil)
	if err != nil {
		return err
	}
	sys, err := all.System()
	if err != nil {
		return err
	}
	return encode(w, format, machinejson.New(sys, doc.Name))
}
