package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/internal/job"
)

// topoView is one way to look at a machine.
type topoView struct {
	name  string
	write func(w io.Writer, b job.Box) error
}

// topoViews are the views in the order in which they are shown.
func topoViews() []topoView {
	return []topoView{
		{"smi", writeSMIMatrix},
		{"nccl", writeNCCLMatrix},
		{"tree", writeTree},
		{"paths", writePaths},
	}
}

func (a *app) newTopo() *cobra.Command {
	var f *machineFlags
	var o *output
	views := []string{"smi", "nccl"}
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Shows how a machine's GPUs and NICs are joined",
		Long: `Shows how a machine's GPUs and NICs are joined, in four views:

  smi    a matrix in the words of nvidia-smi topo -m: X, NV#, PIX, PXB, PHB, NODE, SYS
  nccl   a matrix in NCCL's words, with the bandwidth in GB/s that NCCL counts with
  tree   what hangs off each CPU, link by link
  paths  every path between GPUs, and from GPUs to NICs, hop by hop`,
		Example: `  ringtopo topo -m dgx-1v
  ringtopo topo -m dgx-a100 --view tree
  ringtopo topo -m v100x4 --view all
  ringtopo topo -m h100x4 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.topo(cmd, f, o, views) },
	}
	f = a.addBoxFlags(cmd)
	o = a.addOutput(cmd, "text", "json", "yaml")
	cmd.Flags().StringSliceVar(&views, "view", views, "what to show as text: smi, nccl, tree, paths, or all")
	complete(cmd, map[string][]string{"view": {"smi", "nccl", "tree", "paths", "all"}})
	return cmd
}

func (a *app) topo(cmd *cobra.Command, f *machineFlags, o *output, names []string) error {
	format, err := o.resolve()
	if err != nil {
		return err
	}
	if err := together(cmd, format == "text", "-o text: other formats have all of it", "view"); err != nil {
		return err
	}
	views, err := chooseViews(names)
	if err != nil {
		return err
	}
	if len(f.machines) != 1 {
		return usage("topo shows one machine at a time; -m was given %d times", len(f.machines))
	}
	boxes, err := a.seeBoxes(f)
	if err != nil {
		return err
	}
	return a.emit(o, func(w io.Writer) error {
		if format != "text" {
			out, err := newTopoJSON(boxes[0])
			if err != nil {
				return err
			}
			return encode(w, format, out)
		}
		for i, v := range views {
			if i > 0 {
				fmt.Fprintln(w)
			}
			if err := v.write(w, boxes[0]); err != nil {
				return err
			}
		}
		return nil
	})
}

func chooseViews(names []string) ([]topoView, error) {
	all := topoViews()
	if slices.Contains(names, "all") {
		return all, nil
	}
	var chosen []topoView
	for _, name := range names {
		i := slices.IndexFunc(all, func(v topoView) bool { return v.name == name })
		if i < 0 {
			return nil, usage("--view %s: %q is not one of smi, nccl, tree, paths, all", strings.Join(names, ","), name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
