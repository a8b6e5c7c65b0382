package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
)

// p2pCommand is one call of ringtopo p2p.
type p2pCommand struct {
	gpus   []int
	bytes  string
	rounds int
	out    *output
}

func (a *app) newP2P() *cobra.Command {
	var c p2pCommand
	cmd := &cobra.Command{
		Use:   "p2p",
		Short: "Measures what the GPUs of this machine can do with each other's memory",
		Long: `Measures what the GPUs of this machine can do with each other's memory: whether they
reach it, how fast kernels write and read it one to one, both ways at once, from one
to all others and from all others to one, and how long a flag takes. What is written
is compared on the other side; wrong data is exit code 1.

A row is the GPU that the data comes from, a column the one that it goes to.`,
		Example: `  ringtopo p2p
  ringtopo p2p --gpus 0,2 --bytes 1GiB -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.p2p(&c) },
	}
	fl := cmd.Flags()
	fl.IntSliceVar(&c.gpus, "gpus", nil, "ordinals of the GPUs (default all)")
	fl.StringVar(&c.bytes, "bytes", "256MiB", "size of one transfer")
	fl.IntVar(&c.rounds, "rounds", 5, "how often each is measured; the best counts")
	c.out = a.addOutput(cmd, "table", "json", "yaml")
	return cmd
}

func (a *app) p2p(c *p2pCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	bytes, err := parseSize(c.bytes)
	if err != nil {
		return usage("--bytes %s: %v", c.bytes, err)
	}
	if c.rounds < 1 {
		return usage("--rounds %d: want at least 1", c.rounds)
	}
	report, err := a.measurePeers(c, bytes)
	if errors.Is(err, allreduce.ErrNoDevice) {
		return &codedError{exitNoGPU, err}
	}
	if err != nil {
		return &codedError{exitFailed, err}
	}
	err = a.emit(c.out, func(w io.Writer) error {
		if format == "json" || format == "yaml" {
			return encode(w, format, report)
		}
		return writePeers(w, report)
	})
	if err == nil && !report.OK {
		return &codedError{exitFailed, errors.New("data arrived wrong")}
	}
	return err
}

func (a *app) measurePeers(c *p2pCommand, bytes int64) (*gpu.PeerReport, error) {
	p, err := gpu.OpenPeers(gpu.Options{Devices: c.gpus}, bytes)
	if err != nil {
		return nil, err
	}
	report, err := p.Measure(a.ctx, c.rounds)
	return report, errors.Join(err, p.Close())
}

func writePeers(w io.Writer, r *gpu.PeerReport) error {
	for _, g := range r.GPUs {
		fmt.Fprintf(w, "GPU%d = %s at %s\n", g.Ordinal, g.Name, g.BusID)
	}
	fmt.Fprintf(w, "%d bytes at a time; rows send, columns receive\n", r.Bytes)
	writePeerMatrix(w, "Reach", r, func(i, j int) string { return r.Reach[i][j] })
	for _, m := range []struct {
		title  string
		values gpu.Matrix
	}{
		{"Written by the sender, GB/s (diagonal: copy in its own memory)", r.Write}, {"Read by the receiver, GB/s", r.Read},
		{"Written both ways at once, GB/s each way", r.Both}, {"Latency of a flag, us one way", r.Latency},
	} {
		writePeerMatrix(w, m.title, r, func(i, j int) string {
			if m.values[i][j] == 0 {
				return "-"
			}
			return fmt.Sprintf("%.1f", m.values[i][j])
		})
	}
	fmt.Fprintln(w, "\nWith all others at once, GB/s together:")
	for i, g := range r.GPUs {
		fmt.Fprintf(w, "GPU%d  to all %.1f  from all %.1f\n", g.Ordinal, r.OneToMany[i], r.ManyToOne[i])
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, "Note:", note)
	}
	verdict := "Every word arrived right."
	if !r.OK {
		verdict = fmt.Sprintf("WRONG words: %v", r.Wrong)
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

func writePeerMatrix(w io.Writer, title string, r *gpu.PeerReport, cell func(i, j int) string) {
	fmt.Fprintf(w, "\n%s:\n", title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range r.GPUs {
		fmt.Fprintf(tw, "\tGPU%d", g.Ordinal)
	}
	fmt.Fprintln(tw)
	for i, g := range r.GPUs {
		fmt.Fprintf(tw, "GPU%d", g.Ordinal)
		for j := range r.GPUs {
			fmt.Fprintf(tw, "\t%s", cell(i, j))
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
