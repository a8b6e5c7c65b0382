package plan_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// expectation is one machine's file: what the reference's tuner and planner
// decided, and the communicators that its search had found.
type expectation struct {
	Cases []struct {
		Tuning struct {
			MaxThreads, ThreadThresholds map[string][3]int
			Bandwidths, Latencies        map[string][3]float32
		}
		Colls  struct{ AllReduce []expectedOp }
		Forced []struct {
			Algo, Proto string
			Sizes       []expectedOp
		}
	}
	Communicators []communicator
}

type expectedOp struct {
	Bytes, Count        int64
	Time                float32
	Times               map[string]float32
	AlgoName, ProtoName string
	NChannels, NThreads int
	Plan                expectedPlan
}

type expectedPlan struct {
	ChannelLo, ChannelHi                         int
	CountLo, CountMid, CountHi                   int64
	ChunkGrainsLo, ChunkGrainsMid, ChunkGrainsHi int
	GrainBytes, ThreadsPerBlock, NWorkBatches    int
	Lo, Mid, Hi                                  expectedSection
}

type expectedSection struct {
	Count                                                 int64
	ChunkSize, ProxySteps, ChunkSteps, SliceSteps, NLoops int
}

type communicator struct {
	Nodes, Ranks, NChannels, NVLSChannels, NVLSHeads, SM int
	Arch                                                 topo.Arch
	Vendor                                               topo.Vendor
	Env                                                  map[string]string
	Rings                                                [][]int
	Sets                                                 struct {
		Ring, Tree rings.Set
		NVLS       *rings.Set
	}
}

func (c *communicator) comm() *connect.Comm {
	comm := &connect.Comm{NRanks: c.Ranks, NNodes: c.Nodes, NChannels: c.NChannels, CollChannels: c.NChannels,
		NVLSChannels: c.NVLSChannels, NVLSHeads: c.NVLSHeads, Ring: c.Sets.Ring, Tree: c.Sets.Tree, NVLS: c.Sets.NVLS,
		CPU: connect.CPU{Arch: c.Arch, Vendor: c.Vendor}, MinSM: c.SM, MaxSM: c.SM}
	for _, order := range c.Rings {
		comm.Rings = append(comm.Rings, ringOf(order))
	}
	return comm
}

func ringOf(order []int) connect.Ring {
	n := len(order)
	r := connect.Ring{Next: make([]int32, n), Prev: make([]int32, n)}
	for i, rank := range order {
		r.Next[rank], r.Prev[rank] = int32(order[(i+1)%n]), int32(order[(i+n-1)%n])
	}
	return r
}

func readExpectation(t testing.TB, path string) expectation {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var x expectation
	if err := json.NewDecoder(z).Decode(&x); err != nil {
		t.Fatal(path, err)
	}
	return x
}

// Everything that the reference decided, over machines, node counts, variables
// and sizes from 1 KiB to 1 GiB; floats must agree to the last bit.
func TestReferencePlans(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.json.gz")
	if len(files) < 10 {
		t.Fatalf("%d files of expectations, want 10", len(files))
	}
	for _, path := range files {
		x := readExpectation(t, path)
		machine := strings.TrimSuffix(filepath.Base(path), ".json.gz")
		for i := range x.Cases {
			c, want := &x.Communicators[i], &x.Cases[i]
			t.Run(fmt.Sprintf("%s/%d nodes/%v", machine, c.Nodes, c.Env), func(t *testing.T) {
				p, err := plan.New(c.comm(), plan.SettingsFrom(ncclenv.FromEnviron(nil).With(c.Env)))
				if err != nil {
					t.Fatal(err)
				}
				checkPairs(t, "max threads", want.Tuning.MaxThreads, func(a allreduce.Algo, pr allreduce.Proto) int { return p.MaxThreads[a][pr] })
				checkPairs(t, "threshold", want.Tuning.ThreadThresholds, func(a allreduce.Algo, pr allreduce.Proto) int { return int(p.Thresholds[a][pr]) })
				checkPairs(t, "bandwidth", want.Tuning.Bandwidths, func(a allreduce.Algo, pr allreduce.Proto) float32 { return p.Bandwidth[plan.AllReduce][a][pr] })
				checkPairs(t, "latency", want.Tuning.Latencies, func(a allreduce.Algo, pr allreduce.Proto) float32 { return p.Latency[plan.AllReduce][a][pr] })
				for _, op := range want.Colls.AllReduce {
					checkOp(t, p, &op, plan.Force{})
				}
				for _, f := range want.Forced {
					algo, proto := mustAlgo(t, f.Algo), mustProto(t, f.Proto)
					for _, op := range f.Sizes {
						checkOp(t, p, &op, plan.Force{Algo: &algo, Proto: &proto})
					}
				}
			})
		}
	}
}

func mustAlgo(t *testing.T, s string) allreduce.Algo {
	a, err := allreduce.ParseAlgo(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustProto(t *testing.T, s string) allreduce.Proto {
	p, err := allreduce.ParseProto(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkPairs[T comparable](t *testing.T, what string, want map[string][3]T, got func(allreduce.Algo, allreduce.Proto) T) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("no expectation for %s", what)
	}
	for name, row := range want {
		for _, p := range allreduce.Protos() {
			if g := got(mustAlgo(t, name), p); g != row[p] {
				t.Errorf("%s of %s/%s: %v, want %v", what, name, p, g, row[p])
			}
		}
	}
}

func checkOp(t *testing.T, p *plan.Planner, want *expectedOp, force plan.Force) {
	t.Helper()
	launches, err := p.Plan([]plan.Task{{Count: want.Count, DType: allreduce.Float32}}, force)
	if err != nil {
		t.Errorf("%d bytes: %v", want.Bytes, err)
		return
	}
	if len(launches) != 1 || len(launches[0].Details) != 1 {
		t.Errorf("%d bytes: %d launches, want one with one work", want.Bytes, len(launches))
		return
	}
	l, d := launches[0], &launches[0].Details[0]
	if force.Algo == nil {
		checkTimes(t, d, want)
	}
	choice := [4]any{d.Choice.Algo.String(), d.Choice.Proto.String(), d.Choice.NChannels, d.Choice.Threads}
	if expected := [4]any{want.AlgoName, want.ProtoName, want.NChannels, want.NThreads}; choice != expected {
		t.Errorf("%d bytes: choice %v, want %v", want.Bytes, choice, expected)
		return
	}
	proto, work := d.Choice.Proto, &l.Plan.Works[0]
	section := func(s plan.Section) expectedSection {
		if s.Count == 0 {
			return expectedSection{}
		}
		return expectedSection{s.Count, s.ChunkBytes, s.ProxySteps, work.ChunkSteps, work.SliceSteps, s.Loops}
	}
	got := expectedPlan{
		ChannelLo: d.ChannelLo, ChannelHi: d.ChannelHi,
		CountLo: d.Lo.Count, CountMid: d.Mid.Count, CountHi: d.Hi.Count,
		ChunkGrainsLo: d.Lo.Grains(proto), ChunkGrainsMid: d.Mid.Grains(proto), ChunkGrainsHi: d.Hi.Grains(proto),
		GrainBytes: proto.Grain(), ThreadsPerBlock: l.Threads, NWorkBatches: len(l.Batches),
		Lo: section(d.Lo), Mid: section(d.Mid), Hi: section(d.Hi),
	}
	if got != want.Plan {
		t.Errorf("%d bytes %s/%s:\n got %+v\nwant %+v", want.Bytes, want.AlgoName, want.ProtoName, got, want.Plan)
	}
	checkTiling(t, work)
}

func checkTimes(t *testing.T, d *plan.Detail, want *expectedOp) {
	t.Helper()
	if d.Choice.Time != want.Time {
		t.Errorf("%d bytes: time %v, want %v", want.Bytes, d.Choice.Time, want.Time)
	}
	for a := range d.Choice.Times {
		for p, us := range d.Choice.Times[a] {
			key := fmt.Sprintf("%s/%s", allreduce.Algo(a), allreduce.Proto(p))
			expected, on := want.Times[key]
			if on != (us >= 0) || on && us != expected {
				t.Errorf("%d bytes: %s takes %v, want %v (on: %v)", want.Bytes, key, us, expected, on)
			}
		}
	}
}

// checkTiling sees that the parts cover a message without hole or overlap.
func checkTiling(t testing.TB, w *allreduce.Work) {
	t.Helper()
	at, last := int64(0), -1
	for _, part := range w.Parts {
		if part.Offset != at || part.Count < 1 || part.Channel <= last {
			t.Errorf("part %+v after element %d and channel %d", part, at, last)
		}
		if part.Offset*int64(w.DType.Size())%16 != 0 {
			t.Errorf("part %+v is not aligned to 16 bytes", part)
		}
		at, last = at+part.Count, part.Channel
	}
	if at != w.Count {
		t.Errorf("parts end at %d of %d elements", at, w.Count)
	}
}
