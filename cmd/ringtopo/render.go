package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/graph/draw"
	"github.com/ringtopo/ringtopo/internal/job"
)

// renderCommand is one call of ringtopo render.
type renderCommand struct {
	machine  *machineFlags
	out      *output
	channels string
	view     string
}

func (a *app) newRender() *cobra.Command {
	var c renderCommand
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Draws machines, and rings over them",
		Long: `Draws machines: sockets as frames with their PCI trees, GPUs in rank order, NICs,
NVLinks and NVSwitches with their bandwidths. Several machines stand side by side.

With --channels the rings of those channels are laid over the links that they
use, each in its own colour and pattern and with its direction. Channels that run
the same ring share its lines. With --view ring each ring is a circle instead,
its hops labelled with their kind and bandwidth.

SVG files need nothing else to be shown. DOT files keep all places: neato -n2
draws them as they are, dot lays them out anew.`,
		Example: `  ringtopo render -m dgx-1v --out box.svg
  ringtopo render -m dgx-1v --channels 0,3 --out rings.png
  ringtopo render -m v100x4 --channels all --view ring --out circles.svg
  ringtopo render -m dgx-h100 --nodes 4 --channels 0 --out nodes.svg
  ringtopo render -m pcie8 -o dot | neato -n2 -Tpdf > box.pdf`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.render(&c) },
	}
	c.machine = a.addMachineFlags(cmd)
	c.out = a.addOutput(cmd, "svg", "png", "dot")
	cmd.Flags().StringVar(&c.channels, "channels", "", "draw the rings of these channels, for example 0,3 or 0-5, or all")
	cmd.Flags().StringVar(&c.view, "view", "machine", "machine, or ring: the GPUs on a circle (of channel 0 without --channels)")
	complete(cmd, map[string][]string{"view": {"machine", "ring"}})
	return cmd
}

func (a *app) render(c *renderCommand) error {
	format, err := c.out.resolve()
	if err != nil {
		return err
	}
	if c.view != "machine" && c.view != "ring" {
		return usage("--view %s: want machine or ring", c.view)
	}
	if format == "png" && c.out.file == "" && isTerminal(a.out) {
		return usage("a terminal cannot show PNG: name a file with --out")
	}
	image, err := a.image(c, format)
	if errors.Is(err, draw.ErrTooMuch) {
		return &codedError{exitUsage, err}
	}
	if err != nil {
		return err
	}
	return a.emit(c.out, func(w io.Writer) error {
		_, err := w.Write(image)
		return err
	})
}

func (a *app) image(c *renderCommand, format string) ([]byte, error) {
	p, err := a.picture(c)
	if err != nil {
		return nil, err
	}
	switch format {
	case "dot":
		return p.DOT(), nil
	case "png":
		return p.PNG(a.ctx)
	}
	return p.SVG(a.ctx)
}

// picture searches for rings only if rings are to be drawn.
func (a *app) picture(c *renderCommand) (*draw.Picture, error) {
	if c.view == "machine" && c.channels == "" {
		boxes, err := a.seeBoxes(c.machine)
		if err != nil {
			return nil, err
		}
		return draw.Machines(hosts(boxes), nil)
	}
	j, err := a.newJob(c.machine)
	if err != nil {
		return nil, err
	}
	if j.Comm.NRanks == 1 {
		return nil, usage("a job of one GPU has no ring to draw; leave out --channels and --view")
	}
	overlays, err := c.overlays(j)
	if err != nil {
		return nil, err
	}
	if c.view == "ring" {
		return draw.Cycles(hosts(j.Boxes), overlays)
	}
	return draw.Machines(hosts(j.Boxes), overlays)
}

// hosts gives the boxes of a job to the drawing. Equal names get a number.
func hosts(boxes []job.Box) []draw.Host {
	names := job.Names(boxes)
	out := make([]draw.Host, len(boxes))
	for i, b := range boxes {
		out[i] = draw.Host{Name: names[i], Graph: b.Graph}
		if slices.Contains(names[:i], names[i]) || slices.Contains(names[i+1:], names[i]) {
			out[i].Name = fmt.Sprintf("%s #%d", names[i], i)
		}
		for r := range b.Ranks() {
			out[i].Ranks = append(out[i].Ranks, b.FirstRank+r)
		}
	}
	return out
}

// overlays gives the rings of the channels asked for, each distinct ring once.
func (c *renderCommand) overlays(j *job.Job) ([]draw.Overlay, error) {
	chosen, err := c.chosen(len(j.Comm.Rings))
	if err != nil {
		return nil, err
	}
	var out []draw.Overlay
	for _, row := range distinctRings(j) {
		run := slices.DeleteFunc(row.channels, func(ch int) bool { return !slices.Contains(chosen, ch) })
		if len(run) == 0 {
			continue
		}
		title := "channel " + runs(run)
		if len(run) > 1 {
			title = "channels " + runs(run)
		}
		out = append(out, draw.Overlay{Title: title, Tag: runs(run), Hops: drawHops(j.Hops(run[0]))})
	}
	return out, nil
}

// chosen lists the channels asked for.
func (c *renderCommand) chosen(channels int) ([]int, error) {
	switch c.channels {
	case "":
		return []int{0}, nil
	case "all":
		all := make([]int, channels)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	list, err := parseChannels(c.channels)
	if err != nil {
		return nil, err
	}
	if last := list[len(list)-1]; last >= channels {
		return nil, usage("--channels %s: the job has channels 0 to %d", c.channels, channels-1)
	}
	return list, nil
}

// drawHops turns a ring's hops into what the drawing takes.
func drawHops(hops []job.Hop) []draw.Hop {
	out := make([]draw.Hop, len(hops))
	for i, h := range hops {
		out[i] = draw.Hop{From: h.From, To: h.To}
		if len(h.Ways) == 2 {
			sends := h.Ways[0].Links
			out[i].Nets = &draw.Nets{Out: sends[len(sends)-1].To.NodeID, In: h.Ways[1].Links[0].From.NodeID}
		}
	}
	return out
}

// runs writes ascending numbers with their runs shortened: 0-2,5.
func runs(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		n := 1
		for i+n < len(numbers) && numbers[i+n] == numbers[i]+n {
			n++
		}
		part := fmt.Sprint(numbers[i])
		if n > 1 {
			part += fmt.Sprintf("-%d", numbers[i+n-1])
		}
		parts = append(parts, part)
		i += n
	}
	return strings.Join(parts, ",")
}

// isTerminal tells whether output goes to a person: to a character device other
// than the one that swallows everything.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
