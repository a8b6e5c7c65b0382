package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/connect/nccllog"
	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/rings/graphxml"
)

// ringsCommand is one call of ringtopo rings.
type ringsCommand struct {
	machine *machineFlags
	out     *output
	verbose bool
	full    bool
	rank    int
}

func (a *app) newRings() *cobra.Command {
	var c ringsCommand
	cmd := &cobra.Command{
		Use:   "rings",
		Short: "Shows the rings that NCCL makes on a machine",
		Long: `Shows the rings that NCCL 2.22.3 makes on a machine, or on several as one job:
the channels with the order of ranks in each.

Text is what NCCL logs. With -v come the lines of one rank about the system, its
paths, the patterns that were searched, trees and ring neighbours (NCCL_DEBUG=INFO
with NCCL_DEBUG_SUBSYS=INIT,GRAPH). NCCL names the first 20 ranks of a ring and
cuts lines at 1,023 bytes; here no line is cut, and --full names all ranks.

As a table, each distinct ring stands with its channels, the way and bandwidth of
every hop, the slowest hop, and how often each link of the machine is used.
Graph XML is what NCCL_GRAPH_FILE takes: the search of the node of --rank.`,
		Example: `  ringtopo rings -m v100x4
  ringtopo rings -m v100x4 --gpus 0,1,2 --set NCCL_MIN_NCHANNELS=12
  ringtopo rings -m dgx-a100 --nodes 2 -v
  ringtopo rings -m dgx-1v -o table
  ringtopo rings -m dgx-h100 --nodes 4 -o json --out rings.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rings(cmd, &c) },
	}
	c.machine = a.addMachineFlags(cmd)
	c.out = a.addOutput(cmd, "text", "table", "json", "yaml", "graph-xml")
	cmd.Flags().BoolVarP(&c.verbose, "verbose", "v", false, "all lines that a rank logs about the graph")
	cmd.Flags().IntVar(&c.rank, "rank", 0, "the rank whose lines -v prints, or whose node -o graph-xml writes")
	cmd.Flags().BoolVar(&c.full, "full", false, "name all ranks of a ring, not only the first 20")
	return cmd
}

func (a *app) rings(cmd *cobra.Command, c *ringsCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	if err := errors.Join(
		together(cmd, format == "text", "-o text", "verbose"),
		together(cmd, format == "text" || format == "table", "-o text or -o table", "full"),
		together(cmd, c.verbose || format == "graph-xml", "-v or -o graph-xml", "rank"),
	); err != nil {
		return err
	}
	j, err := a.newJob(c.machine)
	if err != nil {
		return err
	}
	if c.rank < 0 || c.rank >= j.Comm.NRanks {
		return usage("--rank %d: the job has ranks 0 to %d", c.rank, j.Comm.NRanks-1)
	}
	return a.emit(c.out, func(w io.Writer) error {
		switch format {
		case "table":
			return a.writeRingTables(w, j, c.full)
		case "json", "yaml":
			return encode(w, format, newRingsJSON(j, c.machine.machines))
		case "graph-xml":
			n := j.Comm.Nodes[j.Comm.RankToNode[c.rank]]
			return graphxml.Encode(w, n.Graph, n.Search)
		}
		return c.writeText(w, j)
	})
}

func (c *ringsCommand) writeText(w io.Writer, j *job.Job) error {
	// Only rank 0 logs the channels, so that they come first for the others.
	if !c.verbose || c.rank != 0 {
		if err := nccllog.WriteChannels(w, j.Comm, c.full); err != nil {
			return err
		}
	}
	if !c.verbose {
		return nil
	}
	return nccllog.Write(w, j.Comm, c.rank, c.full)
}
