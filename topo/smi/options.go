package smi

import (
	"fmt"

	"github.com/ringtopo/ringtopo/topo"
)

// Options say what a matrix does not. The zero value takes the defaults, which
// follow from the number of NVLinks per GPU where there are any.
type Options struct {
	// SM is the compute capability of all GPUs, 90 for 9.0. Default: the oldest
	// of 70, 80 and 90 whose GPUs have that many NVLinks; 80 without NVLinks.
	SM int
	// Speed of a PCI lane in units of 100 Mb/s, as in topo.Device. Default: 8
	// GT/s for compute capabilities below 8.0, 16 GT/s below 9.0, else 32 GT/s.
	Speed int
	// Mbps is the speed of a NIC. Default: 100, 200 or 400 Gb/s, by the same
	// steps.
	Mbps int
	// NVSwitch tells whether NVLinks lead to a switch. Default, nil: they do
	// where all GPUs see each other over so many that no GPU has them directly.
	NVSwitch *bool
}

// maxLinks is how many NVLinks a GPU of a compute capability has, at most.
func maxLinks(sm int) int {
	switch {
	case sm >= 90:
		return 18
	case sm >= 80:
		return 12
	case sm >= 70:
		return 6
	}
	return 4
}

// generation sorts compute capabilities by the machines they were sold in.
func generation(sm int) int {
	switch {
	case sm >= 90:
		return 2
	case sm >= 80:
		return 1
	}
	return 0
}

// defaults fills in what was not given, and lists it.
func (o Options) defaults(links int, hasNICs bool) (Options, []topo.Assumption) {
	var assumed []topo.Assumption
	note := func(format string, args ...any) {
		assumed = append(assumed, topo.Assumption{What: fmt.Sprintf(format, args...)})
	}
	if o.SM == 0 {
		o.SM = defaultSM(links)
		note("sm=%d for all GPUs (a matrix does not say)", o.SM)
	}
	if o.Speed == 0 {
		o.Speed = [...]int{60, 120, 240}[generation(o.SM)]
		note("PCI devices have 16 lanes of %s", topo.SpeedText(o.Speed))
	}
	if o.Mbps == 0 && hasNICs {
		o.Mbps = [...]int{100_000, 200_000, 400_000}[generation(o.SM)]
		note("NICs run at %d Gb/s", o.Mbps/1000)
	}
	if hasNICs {
		note("GPUs and NICs take part in GPUDirect")
	}
	return o, assumed
}

func defaultSM(links int) int {
	switch {
	case links > maxLinks(80):
		return 90
	case links > maxLinks(70) || links == 0:
		return 80
	}
	return 70
}
