package bench

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes one row per setting, with a header: its properties, what it
// became, and the statistics. Times are in microseconds, bandwidths in GB/s.
func WriteCSV(w io.Writer, a *Analysis) error {
	c := csv.NewWriter(w)
	header := append(AxisNames(), "ran_algo", "ran_proto", "ran_channels", "ran_threads", "ran_by", "ran_from", "samples",
		"median_us", "p95_us", "min_us", "max_us", "mean_us", "cv", "drift", "algbw", "busbw", "ratio", "usable", "tie", "skipped")
	if err := c.Write(header); err != nil {
		return err
	}
	for i := range a.Findings {
		if err := c.Write(a.Findings[i].row()); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func (f *Finding) row() []string {
	var row []string
	for _, ax := range axes {
		if ax.name == "bytes" {
			row = append(row, strconv.FormatInt(f.Setting.Bytes, 10))
			continue
		}
		row = append(row, ax.get(&f.Setting))
	}
	ran := f.Ran
	if ran == nil {
		ran = &Ran{}
	}
	s := f.Stats
	row = append(row, ran.Algo, ran.Proto, strconv.Itoa(ran.Channels), strconv.Itoa(ran.Threads), ran.By, ran.From, strconv.Itoa(s.N))
	for _, v := range []float64{s.Median, s.P95, s.Min, s.Max, s.Mean, s.CV, s.Drift, f.AlgBW, f.BusBW, f.Ratio} {
		row = append(row, strconv.FormatFloat(v, 'g', 6, 64))
	}
	return append(row, strconv.FormatBool(f.Usable), strconv.FormatBool(f.Tie), f.Skipped)
}
