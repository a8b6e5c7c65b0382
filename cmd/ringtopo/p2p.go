package main

import (
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
)

// p2pCommand is one call of ringtopo p2p.
type p2pCommand struct {
	gpus   string
	bytes  string
	rounds int
	out    *output

	present func() (gpu.Hardware, error)
	open    func(gpu.Options, int64) (*gpu.Peers, error)
}

func (a *app) newP2P() *cobra.Command {
	c := p2pCommand{present: gpu.Present, open: gpu.OpenPeers}
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
	a.addP2PFlags(cmd, &c)
	return cmd
}

func (a *app) addP2PFlags(cmd *cobra.Command, c *p2pCommand) {
	fl := cmd.Flags()
	fl.StringVar(&c.gpus, "gpus", "", "take only these GPUs, in this order, for example 0,2,3 or 4-7 (default all)")
	fl.StringVar(&c.bytes, "bytes", "256MiB", "size of one transfer, a multiple of 16 from 4KiB on")
	fl.IntVar(&c.rounds, "rounds", 5, "how often each is measured; the best counts")
	c.out = a.addOutput(cmd, "table", "json", "yaml")
}

func (a *app) p2p(c *p2pCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	report, err := a.measurePeers(c)
	if err != nil {
		return err
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

// leastTransfer is the smallest transfer that is measured, and transferUnit what
// it must be a multiple of: kernels copy 16 bytes at a time.
const (
	leastTransfer = 4 << 10
	transferUnit  = 16
)

// options understands the flags.
func (c *p2pCommand) options() (o gpu.Options, bytes int64, err error) {
	if bytes, err = parseSize(c.bytes); err != nil {
		return o, 0, usage("--bytes %s: %w", c.bytes, err)
	}
	if bytes < leastTransfer || bytes%transferUnit != 0 {
		return o, 0, usage("--bytes %s: want a multiple of %d, from %s on", c.bytes, transferUnit, allreduce.FormatBytes(leastTransfer))
	}
	if c.rounds < 1 {
		return o, 0, usage("--rounds %d: want at least 1", c.rounds)
	}
	o.Devices, err = parseGPUs(c.gpus)
	return o, bytes, err
}

// there refuses GPUs that this machine has not, or that are named twice.
func (c *p2pCommand) there(gpus []int) error {
	hw, err := c.present()
	if err != nil {
		return err
	}
	for i, dev := range gpus {
		switch {
		case dev >= hw.Devices:
			return usage("--gpus %s: there is no GPU %d: this process sees GPUs 0 to %d (CUDA_VISIBLE_DEVICES)", c.gpus, dev, hw.Devices-1)
		case slices.Contains(gpus[:i], dev):
			return usage("--gpus %s: GPU %d is named twice", c.gpus, dev)
		}
	}
	return nil
}

func (a *app) measurePeers(c *p2pCommand) (*gpu.PeerReport, error) {
	o, bytes, err := c.options()
	if err != nil {
		return nil, err
	}
	if err := c.there(o.Devices); err != nil {
		return nil, cannotMeasure(err)
	}
	p, err := c.open(o, bytes)
	if err != nil {
		return nil, cannotMeasure(err)
	}
	report, err := p.Measure(a.ctx, c.rounds)
	if err = errors.Join(err, p.Close()); err != nil {
		return nil, cannotMeasure(err)
	}
	return report, nil
}

// cannotMeasure is the error of GPUs that cannot be measured.
func cannotMeasure(err error) error {
	return cannotOpenOr(err, "send fewer bytes (--bytes), or take fewer GPUs (--gpus): each has a place for every other's")
}
