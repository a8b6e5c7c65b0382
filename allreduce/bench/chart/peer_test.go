package chart_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce/bench/chart"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
)

func compared(hows ...contest.How) *contest.Report {
	r := &contest.Report{NCCL: contest.Library{Version: "2.28.9"}, Class: best.Class{Engine: "gpu", Device: "NVIDIA H200", Devices: 2, Ranks: 2, Link: best.NVLink}}
	for _, how := range hows {
		for i, bytes := range []int64{1 << 10, 1 << 16, 1 << 22} {
			x := contest.Result{Bytes: bytes, Ranks: 2, How: how}
			for j, name := range []string{contest.Ours, contest.Plain, contest.Symmetric} {
				x.Series = append(x.Series, contest.Series{Name: name, Samples: []contest.Sample{{Device: float64((i + 1) * (j + 2))}}})
			}
			r.Results = append(r.Results, x)
		}
	}
	return r
}

// Lines say whose they are, and in what they differ besides.
func TestPeer(t *testing.T) {
	for _, c := range []struct {
		hows   []contest.How
		labels []string
		none   string
	}{
		{[]contest.How{contest.Graph}, []string{">ringtopo<", ">NCCL<", ">NCCL, symmetric windows<"}, "graph"},
		{[]contest.How{contest.Graph, contest.Stream}, []string{">ringtopo, graph<", ">ringtopo, stream<", ">NCCL, stream<"}, "in place"},
	} {
		var b bytes.Buffer
		if err := chart.Peer(&b, compared(c.hows...), "svg"); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.labels, "2.28.9", "NVIDIA H200", "us per call", ">64KiB<") {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%v: no %q", c.hows, want)
			}
		}
		if strings.Contains(b.String(), c.none) {
			t.Errorf("%v: says %q", c.hows, c.none)
		}
	}
	var b bytes.Buffer
	if err := chart.Peer(&b, compared(contest.Graph), "png"); err != nil || !bytes.HasPrefix(b.Bytes(), []byte("\x89PNG")) {
		t.Errorf("no PNG: %v", err)
	}
	if err := chart.Peer(&b, &contest.Report{}, "svg"); !errors.Is(err, chart.ErrNothing) {
		t.Errorf("nothing was drawn: %v", err)
	}
}
