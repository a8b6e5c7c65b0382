package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/topo/smi"
)

// matrixFlags say what the text of nvidia-smi topo -m does not.
type matrixFlags struct {
	sm, pcie, nicGbps int
	nvswitch          string
	given             func(flag string) bool
}

// matrixFlagNames are all of them.
var matrixFlagNames = []string{"sm", "pcie", "nic-gbps", "nvswitch"}

// fit refuses to be told about a matrix where there is none.
func (f *matrixFlags) fit(ms []*job.Machine) error {
	if slices.ContainsFunc(ms, (*job.Machine).IsMatrix) {
		return nil
	}
	for _, name := range matrixFlagNames {
		if f.given(name) {
			return usage("--%s tells about the text of nvidia-smi topo -m, and %s is none", name, ms[0].Name)
		}
	}
	return nil
}

func (f *matrixFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.sm, "sm", 0, "of an nvidia-smi matrix: compute capability of its GPUs, for example 90 (default by the number of NVLinks)")
	cmd.Flags().IntVar(&f.pcie, "pcie", 0, "of an nvidia-smi matrix: generation of its PCI Express, 1 to 6 (default by compute capability)")
	cmd.Flags().IntVar(&f.nicGbps, "nic-gbps", 0, "of an nvidia-smi matrix: speed of its NICs, Gb/s (default by compute capability)")
	cmd.Flags().StringVar(&f.nvswitch, "nvswitch", "", "of an nvidia-smi matrix: yes or no, whether NVLinks lead to a switch (default by their number)")
	f.given = cmd.Flags().Changed
	complete(cmd, map[string][]string{"nvswitch": {"yes", "no"}, "pcie": {"1", "2", "3", "4", "5", "6"}})
}

// mostNICGbps is beyond every network card.
const mostNICGbps = 100_000

// laneSpeeds are those of PCI Express generations 1 to 6, in topo's unit.
var laneSpeeds = []int{15, 30, 60, 120, 240, 480}

func (f *matrixFlags) options() (smi.Options, error) {
	o := smi.Options{SM: f.sm, Mbps: f.nicGbps * 1000}
	if f.sm != 0 && (f.sm < 30 || f.sm > 999) {
		return o, usage("--sm %d: give a compute capability without the dot, for example 90 for 9.0", f.sm)
	}
	if f.given("nic-gbps") && (f.nicGbps < 1 || f.nicGbps > mostNICGbps) {
		return o, usage("--nic-gbps %d: want a speed in Gb/s, 1 to %d", f.nicGbps, mostNICGbps)
	}
	if f.pcie != 0 {
		if f.pcie < 1 || f.pcie > len(laneSpeeds) {
			return o, usage("--pcie %d: there are generations 1 to %d", f.pcie, len(laneSpeeds))
		}
		o.Speed = laneSpeeds[f.pcie-1]
	}
	if f.nvswitch != "" {
		if !slices.Contains([]string{"yes", "no"}, f.nvswitch) {
			return o, usage("--nvswitch %s: say yes or no", f.nvswitch)
		}
		yes := f.nvswitch == "yes"
		o.NVSwitch = &yes
	}
	return o, nil
}
