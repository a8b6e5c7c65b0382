package contest

import (
	"slices"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/bench"
	"github.com/ringtopo/ringtopo/allreduce/best"
)

// Schema names the JSON form of a Report.
const Schema = "ringtopo.peer/v1"

// Names of entries.
const (
	Ours      = "ours"
	Plain     = "plain"     // NCCL on the same buffers
	Symmetric = "symmetric" // NCCL on symmetric windows
)

// Report is a comparison with NCCL, with every sample.
type Report struct {
	Schema  string     `json:"schema"`
	Machine []string   `json:"machine"` // whose rings
	Class   best.Class `json:"class"`
	Host    bench.Host `json:"host"`
	NCCL    Library    `json:"nccl"`
	Started time.Time  `json:"started"`
	Rounds  int        `json:"rounds"`
	// Spread is how many blocks our rings were launched with for each that works.
	Spread   int      `json:"spread,omitempty"`
	Finished bool     `json:"finished"` // false: interrupted or ended by an error, sizes are missing
	Results  []Result `json:"results"`
}

// Library is the NCCL that was compared with.
type Library struct {
	Version string `json:"version"`
	Path    string `json:"path"`
	// Env are NCCL's variables in the process, for it reads them itself.
	Env map[string]string `json:"env,omitempty"`
	// NoSymmetric says why its symmetric windows were left out; empty if they took
	// part.
	NoSymmetric string `json:"noSymmetric,omitempty"`
}

// Result is one message, one way of calling.
type Result struct {
	Bytes   int64           `json:"bytes"`
	Count   int64           `json:"count"`
	DType   allreduce.DType `json:"dtype"`
	Op      allreduce.Op    `json:"op"`
	Ranks   int             `json:"ranks"`
	InPlace bool            `json:"inPlace"`
	How     How             `json:"how"`
	Choice  best.Choice     `json:"choice"` // ours
	From    best.Origin     `json:"from"`
	// Channels and Threads of our launch, where it is a ring.
	Channels int `json:"channels,omitempty"`
	Threads  int `json:"threads,omitempty"`

	Ours   Figure `json:"ours"`
	NCCL   Figure `json:"nccl"` // the better of its series
	NCCLBy string `json:"ncclBy"`
	// Ratio is NCCL's time over ours: above 1 ours is faster.
	Ratio  float64  `json:"ratio"`
	Series []Series `json:"series"`
}

// Figure sums up a series: medians in microseconds, bandwidth in GB/s.
type Figure struct {
	Median float64 `json:"medianUs"`
	Host   float64 `json:"hostUs"`
	CPU    float64 `json:"cpuUs"`
	BusBW  float64 `json:"busBw"`
}

// Find gives the series of a name, nil if there is none.
func (r *Result) Find(name string) *Series {
	i := slices.IndexFunc(r.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Series[i]
}

// Figure sums up a series of the result.
func (r *Result) Figure(s *Series) Figure {
	f := Figure{
		Median: s.median(func(x Sample) float64 { return x.Device }),
		Host:   s.median(func(x Sample) float64 { return x.Host }),
		CPU:    s.median(func(x Sample) float64 { return x.CPU }),
	}
	f.BusBW = allreduce.BusBW(r.Ranks, r.Bytes, f.Median)
	return f
}

// Median is the middle of the times on the device, in microseconds.
func (s *Series) Median() float64 { return s.median(func(x Sample) float64 { return x.Device }) }

func (s *Series) median(of func(Sample) float64) float64 {
	if len(s.Samples) == 0 {
		return 0
	}
	var list []float64
	for _, x := range s.Samples {
		list = append(list, of(x))
	}
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// Judge works out the figures of a result whose series are there: the better of
// NCCL's counts.
func (r *Result) Judge() {
	for i := range r.Series {
		s := &r.Series[i]
		f := r.Figure(s)
		switch {
		case s.Name == Ours:
			r.Ours = f
		case r.NCCLBy == "" || f.Median < r.NCCL.Median:
			r.NCCL, r.NCCLBy = f, s.Name
		}
	}
	if r.Ours.Median > 0 {
		r.Ratio = r.NCCL.Median / r.Ours.Median
	}
}

// Wrong lists the results in which a series had wrong bits.
func (r *Report) Wrong() (list []Result) {
	for _, x := range r.Results {
		if slices.ContainsFunc(x.Series, func(s Series) bool { return s.Wrong > 0 }) {
			list = append(list, x)
		}
	}
	return list
}

// Below lists the results whose ratio is under a limit.
func (r *Report) Below(limit float64) (list []Result) {
	for _, x := range r.Results {
		if x.Ratio < limit {
			list = append(list, x)
		}
	}
	return list
}
