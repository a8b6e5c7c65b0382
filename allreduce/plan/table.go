package plan

import (
	"fmt"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Lines gives the tables as NCCL logs them on rank 0, without the prefix:
// latency and bandwidth of every collective, algorithm and protocol, then the
// thread thresholds. A communicator of one rank has thresholds only.
func (t *Tuning) Lines() []string {
	var lines []string
	if t.comm.NRanks > 1 {
		lines = append(t.block(allreduce.Tree), t.block(allreduce.CollNetChain)...)
	}
	th := &t.Thresholds
	return append(lines, fmt.Sprintf("threadThresholds %d/%d/%d | %d/%d/%d | %d | %d",
		th[allreduce.Tree][0], th[allreduce.Tree][1], th[allreduce.Tree][2],
		th[allreduce.Ring][0], th[allreduce.Ring][1], th[allreduce.Ring][2],
		th[allreduce.CollNetDirect][allreduce.Simple], th[allreduce.CollNetChain][allreduce.Simple]))
}

// block is the half of the table with three algorithms from first on.
func (t *Tuning) block(first allreduce.Algo) []string {
	algos := []allreduce.Algo{first, first + 1, first + 2}
	row := func(head string, cells func(allreduce.Algo) []string, format string) string {
		var b strings.Builder
		b.WriteString(head)
		for _, a := range algos {
			for _, c := range cells(a) {
				fmt.Fprintf(&b, format, c)
			}
		}
		return b.String()
	}
	name := func(a allreduce.Algo) []string { return []string{fmt.Sprintf("%14s   %14s   %14s", "", a, "")} }
	protos := func(allreduce.Algo) []string { return []string{"LL", "LL128", "Simple"} }
	threads := func(a allreduce.Algo) []string {
		m := t.MaxThreads[a]
		return []string{fmt.Sprint(m[0]), fmt.Sprint(m[1]), fmt.Sprint(m[2])}
	}
	lines := []string{row("  Algorithm   |", name, " %s |"), row("  Protocol    |", protos, " %14s |"), row(" Max NThreads |", threads, " %14s |")}
	for c := range nCollectives {
		cost := func(a allreduce.Algo) (cells []string) {
			for p := range nProtos {
				cells = append(cells, fmt.Sprintf("%8.1f/%6.1f", t.Latency[c][a][p], t.Bandwidth[c][a][p]))
			}
			return cells
		}
		lines = append(lines, row(fmt.Sprintf("%13s |", collectiveNames[c]), cost, "%s |"))
	}
	return lines
}
