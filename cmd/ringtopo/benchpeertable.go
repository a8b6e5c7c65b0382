package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce/bench/chart"
	"github.com/ringtopo/ringtopo/allreduce/contest"
)

func writePeer(w io.Writer, r *contest.Report, format string) error {
	switch format {
	case "json":
		return encode(w, "json", r)
	case "csv":
		return contest.WriteCSV(w, r)
	case "svg", "png":
		return chart.Peer(w, r, format)
	}
	if _, err := io.WriteString(w, peerHead(r)); err != nil {
		return err
	}
	for i := range r.Results {
		if _, err := io.WriteString(w, peerLine(&r.Results[i])); err != nil {
			return err
		}
	}
	return nil
}

// peerHead says what is compared, on what, and names the columns.
func peerHead(r *contest.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# ringtopo %s beside NCCL %s (%s), in turn in one process: medians of %d rounds, a thread per GPU\n", r.Host.Ringtopo, r.NCCL.Version, orWord(r.NCCL.Path, "libnccl.so.2"), r.Rounds)
	fmt.Fprintf(&b, "# %s; driver %s\n", r.Class, orWord(r.Host.Driver, "unknown"))
	if r.Spread > 1 {
		fmt.Fprintf(&b, "# our rings: %d blocks launched for each that works (--spread)\n", r.Spread)
	}
	if len(r.NCCL.Env) > 0 {
		fmt.Fprintf(&b, "# NCCL's variables: %s\n", describeEnv(r.NCCL.Env))
	}
	if r.NCCL.NoSymmetric != "" {
		fmt.Fprintf(&b, "# without NCCL's symmetric windows: %s\n", r.NCCL.NoSymmetric)
	}
	fmt.Fprintf(&b, "# time, host (to enqueue a call) and cpu (of all threads) in us; busbw in GB/s; ratio: the better of NCCL's over ours, above 1 ours is faster\n")
	fmt.Fprintf(&b, "#%53s | %33s | %s\n", "", "ours               ", "                       NCCL")
	fmt.Fprintf(&b, "#%11s %12s %8s %5s %5s %6s | %9s %7s %7s %7s | %9s %9s %7s %7s %7s | %5s  %s\n", "size", "count", "type", "redop", "place", "how",
		"time", "busbw", "host", "cpu", "plain", "symmetric", "busbw", "host", "cpu", "ratio", "ours by")
	return b.String()
}

func peerLine(r *contest.Result) string {
	median := func(name string) string {
		s := r.Find(name)
		if s == nil {
			return "-"
		}
		mark := ""
		switch {
		case s.Unchecked:
			mark = "?"
		case s.Wrong > 0:
			mark = "!"
		}
		return fmt.Sprintf("%.2f%s", s.Median(), mark)
	}
	return fmt.Sprintf("%12d %12d %8s %5s %5s %6s | %9.2f %7.2f %7.2f %7.2f | %9s %9s %7.2f %7.2f %7.2f | %5.2f  %s\n",
		r.Bytes, r.Count, r.DType, r.Op, placeWord(r.InPlace), r.How,
		r.Ours.Median, r.Ours.BusBW, r.Ours.Host, r.Ours.CPU,
		median(contest.Plain), median(contest.Symmetric), r.NCCL.BusBW, r.NCCL.Host, r.NCCL.CPU, r.Ratio, oursBy(r))
}

// oursBy names our choice and where it comes from.
func oursBy(r *contest.Result) string {
	s := r.Choice.String()
	if r.Channels > 0 {
		s += fmt.Sprintf(" x %d channels", r.Channels)
	}
	return fmt.Sprintf("%s (%s)", s, r.From)
}

func placeWord(inPlace bool) string {
	if inPlace {
		return "in"
	}
	return "out"
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// describeEnv lists variables in order.
func describeEnv(env map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return strings.Join(list, " ")
}

// ncclVariables are those of an environment that NCCL reads.
func ncclVariables(environ []string) map[string]string {
	found := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "NCCL_") {
			found[name] = value
		}
	}
	return found
}
