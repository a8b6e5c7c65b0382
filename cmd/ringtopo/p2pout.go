package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ringtopo/ringtopo/allreduce/gpu"
)

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
