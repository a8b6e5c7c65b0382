package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/internal/job"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/machinejson"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// recordFlags say whether a machine is recorded, or a recording probed.
type recordFlags struct {
	replay, capture string
	mask            bool
}

func (a *app) newProbe() *cobra.Command {
	var f *machineFlags
	var o *output
	r := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Writes a machine's topology as NCCL finds it",
		Long: `Writes the topology of this machine, as NCCL 2.22 finds it through NVML, sysfs
and its network layer, for a job with one rank on each GPU or on those of --gpus.
As XML it is what NCCL_TOPO_DUMP_FILE would hold, and what NCCL_TOPO_FILE takes.

With --capture everything that was read is recorded in a new folder: attach it to
a report, with --mask if names, addresses and GUIDs shall not be in it. --replay
probes such a folder on any machine, with other GPUs or variables if wanted.

With -m another machine is written, which turns a matrix of nvidia-smi topo -m,
JSON or YAML into a topology file. --capture then makes up a recording that would
be found to be that machine.`,
		Example: `  ringtopo probe
  ringtopo probe --gpus 0,1 -o json
  ringtopo probe --capture recording --mask
  ringtopo probe --replay recording --set NCCL_IB_DISABLE=1
  ringtopo probe -m dgx-1v --gpus 0,3 --out two.xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.apply(f, o, cmd.Flags().Changed("machine")); err != nil {
				return err
			}
			return a.probe(f, o, r)
		},
	}
	f = a.addBoxFlags(cmd)
	o = a.addOutput(cmd, "xml", "json", "yaml")
	cmd.Flags().StringVar(&r.replay, "replay", "", "probe the machine recorded in this folder")
	cmd.Flags().StringVar(&r.capture, "capture", "", "record this machine in a new folder")
	cmd.Flags().BoolVar(&r.mask, "mask", false, "with --capture: replace names, addresses and GUIDs by made-up ones")
	_ = cmd.MarkFlagDirname("replay")
	_ = cmd.MarkFlagDirname("capture")
	return cmd
}

// apply checks that the flags go together.
func (r *recordFlags) apply(f *machineFlags, o *output, named bool) error {
	switch {
	case r.replay != "" && named:
		return usage("--replay %s names a machine, and so does -m; give one of them", r.replay)
	case r.replay != "" && !probe.IsRecording(r.replay):
		if _, err := os.Stat(r.replay); err != nil {
			return usage("--replay %s: no such folder", r.replay)
		}
		return usage("--replay %s: not a recording that probe --capture made", r.replay)
	case r.replay != "":
		f.machines = []string{r.replay}
	case len(f.machines) != 1:
		return usage("probe writes one machine at a time; -m was given %d times", len(f.machines))
	}
	switch {
	case r.mask && r.capture == "":
		return usage("--mask goes with --capture")
	case r.capture != "" && (o.format != "" || o.file != ""):
		return usage("--capture writes a folder and nothing else: leave out -o and --out")
	case r.capture != "" && r.replay != "":
		return usage("--capture makes a recording, and --replay reads one; give one of them")
	case r.mask && f.machines[0] != job.Auto:
		return usage("--mask is for the machine that it runs on; of others there is nothing to hide")
	}
	return nil
}

func (a *app) probe(f *machineFlags, o *output, r *recordFlags) error {
	format, err := o.resolve()
	if err != nil {
		return err
	}
	switch {
	case r.capture != "" && f.machines[0] == job.Auto:
		return a.capture(f, r)
	case r.capture != "":
		return a.stage(f, r)
	}
	ms, gpus, _, err := a.open(f)
	if err != nil {
		return err
	}
	doc, notes, err := ms[0].Select(gpus)
	if err != nil {
		return noGPU(err)
	}
	a.noteProbe(f, notes)
	sys, err := doc.System()
	if err != nil && format != "xml" {
		return err
	}
	if err == nil {
		a.noteAssumed(sys.Assumed)
	}
	return a.emit(o, func(w io.Writer) error {
		if format == "xml" {
			return ncclxml.Encode(w, doc)
		}
		return encode(w, format, machinejson.New(sys, ms[0].Name))
	})
}

func (a *app) noteAssumed(assumed []topo.Assumption) {
	for i, s := range assumed {
		if i == maxAssumed && len(assumed) > maxAssumed+1 {
			a.note("assumed %d more values; -o json lists them", len(assumed)-i)
			return
		}
		a.note("assumed: %s", strings.TrimPrefix(s.Where+": "+s.What, ": "))
	}
}

func (a *app) noteProbe(f *machineFlags, notes []string) {
	for _, n := range notes {
		a.note("%s", n)
	}
	if slices.Contains(f.machines, job.Auto) {
		if n := probe.NCCLNote(); n != "" {
			a.note("%s", n)
		}
	}
}

func (a *app) capture(f *machineFlags, r *recordFlags) error {
	gpus, err := parseGPUs(f.gpus)
	if err != nil {
		return err
	}
	env, _, err := a.env(f)
	if err != nil {
		return err
	}
	if name, _ := env.String("NCCL_TOPO_FILE"); name != "" {
		a.note("NCCL_TOPO_FILE=%s is not part of the recording", name)
	}
	result, err := probe.Capture(r.capture, probe.System(), probe.Options{GPUs: gpus, Env: env.String}, r.mask)
	if err != nil {
		return noGPU(err)
	}
	a.noteProbe(f, result.Notes)
	a.note("recorded in %s; ringtopo probe --replay %s shows it on any machine", r.capture, r.capture)
	return nil
}

// stage makes up a recording of a machine that is not at hand.
func (a *app) stage(f *machineFlags, r *recordFlags) error {
	ms, gpus, _, err := a.open(f)
	if err != nil {
		return err
	}
	doc, _, err := ms[0].Select(gpus)
	if err != nil {
		return err
	}
	p, ranks, err := probe.Stage(doc)
	if err != nil {
		return err
	}
	if err := probe.Save(r.capture, p, ranks); err != nil {
		return err
	}
	a.note("made up in %s; ringtopo probe --replay %s finds it", r.capture, r.capture)
	return nil
}
