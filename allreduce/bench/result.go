package bench

import (
	"fmt"
	"slices"
	"time"
)

// Schema names the JSON form of a Result.
const Schema = "ringtopo.bench/v1"

// Result is an experiment with every sample.
type Result struct {
	Schema   string        `json:"schema"`
	Engine   string        `json:"engine"`  // what it ran on: host, gpu, nccl
	Machine  []string      `json:"machine"` // whose rings
	Host     Host          `json:"host"`
	Started  time.Time     `json:"started"`
	Recipe   *Recipe       `json:"recipe"`
	Finished bool          `json:"finished"` // false: interrupted or ended by an error, some settings are missing or incomplete
	Points   []Measurement `json:"points"`
}

// Host is the hardware and software that the figures belong to.
type Host struct {
	CPU      string `json:"cpu"`
	CPUs     int    `json:"cpus"`
	GPUs     string `json:"gpus,omitempty"`
	Driver   string `json:"driver,omitempty"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	Ringtopo string `json:"ringtopo"`
}

// On names what the figures were measured on, such as "gpu: 2 x NVIDIA H200": the
// engine, and the GPUs or processors that it ran on.
func (r *Result) On() string {
	switch {
	case r.Host.GPUs != "" && r.Engine != "host":
		return r.Engine + ": " + r.Host.GPUs
	case r.Host.CPU != "":
		return fmt.Sprintf("%s: %s", r.Engine, r.Host.Processors())
	}
	return r.Engine
}

// Processors is such as "2 x AMD EPYC 7B13".
func (h Host) Processors() string { return fmt.Sprintf("%d x %s", h.CPUs, h.CPU) }

// Point is a setting and which axes differ from the baseline on purpose.
type Point struct {
	Setting Setting  `json:"setting"`
	Axes    []string `json:"axes,omitempty"`
}

// Measurement is all that was measured of a point.
type Measurement struct {
	Point
	// Ran is what the executor made of it, where that differs from the setting:
	// the algorithm and protocol chosen, the channels and threads that were used.
	Ran *Ran `json:"ran,omitempty"`
	// Passes hold the samples in microseconds, one list per cycle.
	Passes [][]float64 `json:"samplesUs"`
	// Skipped says why the setting cannot be measured.
	Skipped string `json:"skipped,omitempty"`
}

// Ran is what a setting became.
type Ran struct {
	Algo     string `json:"algo,omitempty"`
	Proto    string `json:"proto,omitempty"`
	Channels int    `json:"channels,omitempty"`
	Threads  int    `json:"threads,omitempty"`
	// By is the engine, where it is another than the experiment's, which does not
	// say the rest; From says where the choice comes from.
	By   string `json:"by,omitempty"`
	From string `json:"from,omitempty"`
}

// String is such as "Ring/LL", or another engine.
func (r *Ran) String() string {
	if r.By != "" {
		return r.By
	}
	return r.Algo + "/" + r.Proto
}

// Samples joins the passes.
func (m *Measurement) Samples() []float64 {
	var all []float64
	for _, p := range m.Passes {
		all = append(all, p...)
	}
	return all
}

// Begun tells whether there are samples.
func (r *Result) Begun() bool {
	return slices.ContainsFunc(r.Points, func(m Measurement) bool { return len(m.Passes) > 0 })
}

// BusBW is the bus bandwidth that a time in microseconds means, in GB/s.
func (s Setting) BusBW(us float64) float64 {
	if us <= 0 {
		return 0
	}
	return s.AlgBW(us) * 2 * float64(s.World-1) / float64(s.World)
}

// AlgBW is the algorithm bandwidth that a time in microseconds means, in GB/s.
func (s Setting) AlgBW(us float64) float64 {
	if us <= 0 {
		return 0
	}
	return float64(s.Bytes) / us / 1e3
}
