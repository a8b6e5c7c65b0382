package contest

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/ringtopo/ringtopo/allreduce/best"
)

// WriteCSV writes one row per result, with a header. Times are microseconds,
// bandwidths GB/s.
func WriteCSV(w io.Writer, r *Report) error {
	c := csv.NewWriter(w)
	header := []string{"bytes", "count", "dtype", "op", "ranks", "in_place", "how", "engine", "algo", "proto", "blocks", "threads", "pieces", "from",
		"ours_us", "ours_host_us", "ours_cpu_us", "ours_busbw", "plain_us", "symmetric_us", "nccl_by", "nccl_us", "nccl_host_us", "nccl_cpu_us", "nccl_busbw", "ratio"}
	if err := c.Write(header); err != nil {
		return err
	}
	for i := range r.Results {
		if err := c.Write(r.Results[i].row()); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func (r *Result) row() []string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	median := func(name string) string {
		if s := r.Find(name); s != nil {
			return number(s.Median())
		}
		return ""
	}
	algo, proto := r.Choice.Algo.String(), r.Choice.Proto.String()
	if r.Choice.Engine == best.NCCL { // it does not say
		algo, proto = "", ""
	}
	row := []string{strconv.FormatInt(r.Bytes, 10), strconv.FormatInt(r.Count, 10), r.DType.String(), r.Op.String(), strconv.Itoa(r.Ranks),
		strconv.FormatBool(r.InPlace), string(r.How), string(r.Choice.Engine), algo, proto,
		strconv.Itoa(r.Choice.Blocks), strconv.Itoa(r.Choice.Threads), strconv.Itoa(r.Choice.Pieces), r.From.String()}
	for _, v := range []float64{r.Ours.Median, r.Ours.Host, r.Ours.CPU, r.Ours.BusBW} {
		row = append(row, number(v))
	}
	row = append(row, median(Plain), median(Symmetric), r.NCCLBy)
	for _, v := range []float64{r.NCCL.Median, r.NCCL.Host, r.NCCL.CPU, r.NCCL.BusBW, r.Ratio} {
		row = append(row, number(v))
	}
	return row
}
