package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
	"github.com/ringtopo/ringtopo/topo"
)

// systemA is one node of four GPUs, systemB two of eight: the worked examples
// of the cost model's description.
func systemA() *connect.Comm {
	set := rings.Set{Pattern: rings.BalancedTree, NChannels: 6, BWIntra: 12, BWInter: 12, TypeIntra: graph.NVL, TypeInter: graph.PIX}
	return withRings(&connect.Comm{NRanks: 4, NNodes: 1, NChannels: 12, Ring: set, Tree: set, MinSM: 80, MaxSM: 80,
		CPU: connect.CPU{Arch: topo.ArchX86, Vendor: topo.VendorIntel}})
}

func systemB() *connect.Comm {
	set := rings.Set{Pattern: rings.Ring, NChannels: 4, BWIntra: 24, BWInter: 24, TypeIntra: graph.NVL, TypeInter: graph.PXB}
	tree := set
	tree.Pattern = rings.BalancedTree
	return withRings(&connect.Comm{NRanks: 16, NNodes: 2, NChannels: 8, Ring: set, Tree: tree, MinSM: 80, MaxSM: 80,
		CPU: connect.CPU{Arch: topo.ArchX86, Vendor: topo.VendorAMD}})
}

// withRings gives a communicator the plainest rings.
func withRings(c *connect.Comm) *connect.Comm {
	order := make([]int, c.NRanks)
	for i := range order {
		order[i] = i
	}
	c.Rings = nil
	for range c.NChannels {
		c.Rings = append(c.Rings, ringOf(order))
	}
	return c
}

func newPlanner(t testing.TB, c *connect.Comm, change func(*plan.Settings), opts ...plan.Option) *plan.Planner {
	t.Helper()
	s := plan.DefaultSettings()
	if change != nil {
		change(&s)
	}
	p, err := plan.New(c, s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// latBW is a pair as the table prints it.
func latBW(p *plan.Planner, a allreduce.Algo, proto allreduce.Proto) string {
	return fmt.Sprintf("%.1f/%.1f", p.Latency[plan.AllReduce][a][proto], p.Bandwidth[plan.AllReduce][a][proto])
}

func TestTablesOfWorkedExamples(t *testing.T) {
	for _, c := range []struct {
		name string
		comm *connect.Comm
		want string // Tree LL, LL128, Simple, Ring LL, LL128, Simple
	}{
		{"A", systemA(), "10.4/8.7 21.5/25.8 168.0/33.1 10.2/24.0 25.4/44.2 28.8/48.0"},
		{"B", systemB(), "25.2/11.2 48.5/40.0 448.0/44.2 69.4/12.0 82.0/42.7 220.4/51.2"},
	} {
		p := newPlanner(t, c.comm, nil)
		var got []string
		for _, a := range []allreduce.Algo{allreduce.Tree, allreduce.Ring} {
			for _, proto := range allreduce.Protos() {
				got = append(got, latBW(p, a, proto))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("system %s: %s, want %s", c.name, s, c.want)
		}
	}
}

func TestChoicesOfWorkedExamples(t *testing.T) {
	a, b := systemA(), systemB()
	for _, c := range []struct {
		comm  *connect.Comm
		bytes int64
		want  string
	}{
		{a, 4, "Ring LL 10.200167 1 96"},
		{a, 1024, "Ring LL 10.242666 1 96"},
		{a, 4096, "Ring LL 10.370667 1 128"},
		{a, 16384, "Ring LL 10.882667 1 512"},
		{a, 65536, "Ring LL 12.930666 4 512"},
		{a, 262144, "Ring LL 21.122665 12 512"},
		{a, 1048576, "Ring LL128 49.144928 12 640"},
		{a, 4000012, "Ring Simple 112.133583 12 544"},
		{a, 4194304, "Ring Simple 116.181335 12 544"},
		{a, 16777216, "Ring Simple 378.325317 12 544"},
		{a, 67108864, "Ring Simple 1426.901367 12 544"},
		{a, 1073741824, "Ring Simple 22398.421875 12 544"},
		{b, 4096, "Tree LL 25.720127 1 640"},
		{b, 65536, "Tree LL 34.909035 8 640"},
		{b, 1 << 20, "Tree LL128 92.190666 8 640"},
		{b, 16 << 20, "Ring LL128 475.215973 8 640"},
		{b, 64 << 20, "Ring Simple 1619.279785 8 544"},
		{b, 1 << 30, "Ring Simple 21280.078125 8 544"},
	} {
		got, err := newPlanner(t, c.comm, nil).Choose(c.bytes, allreduce.Float32, allreduce.Sum, 1, plan.Force{})
		if err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprintf("%s %s %f %d %d", got.Algo, got.Proto, got.Time, got.NChannels, got.Threads); s != c.want {
			t.Errorf("%d ranks, %d bytes: %s, want %s", c.comm.NRanks, c.bytes, s, c.want)
		}
	}
}

func TestTimesToTheLastBit(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	for bytes, want := range map[int64][6]float32{
		4096:     {11.0713606, 21.6987572, 168.137405, 10.3706665, 25.492754, 28.885334},
		64 << 20: {7710.08887, 2916.11987, 2700.79224, 2806.40259, 1545.07544, 1426.90137},
	} {
		for i, w := range want {
			a, proto := allreduce.Algo(i/3), allreduce.Proto(i%3)
			if got, spare := p.Time(plan.AllReduce, a, proto, bytes, 1); got != w || spare {
				t.Errorf("%d bytes %s/%s: %v (spare %v), want %v", bytes, a, proto, got, spare, w)
			}
		}
	}
}

// Pipelined operations cost a latency each on a ring, one for sixteen on a tree.
func TestPipelinedLatency(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	one, _ := p.Time(plan.AllReduce, allreduce.Ring, allreduce.LL, 64, 1)
	five, _ := p.Time(plan.AllReduce, allreduce.Ring, allreduce.LL, 64, 5)
	if d := five - one; d < 40.7 || d > 40.9 {
		t.Errorf("ring: four more take %v us, want 40.8", d)
	}
	one, _ = p.Time(plan.AllReduce, allreduce.Tree, allreduce.LL, 64, 1)
	sixteen, _ := p.Time(plan.AllReduce, allreduce.Tree, allreduce.LL, 64, 16)
	if one != sixteen {
		t.Errorf("tree: %v and %v us", one, sixteen)
	}
}

func text(s string) *string { return &s }

func TestWhatIsOn(t *testing.T) {
	only := func(list ...string) string { return strings.Join(list, " ") }
	for _, c := range []struct {
		name          string
		algos, protos *string
		change        func(*connect.Comm)
		want          string
	}{
		{name: "all", want: only("Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/LL128 Ring/Simple")},
		{name: "one of each", algos: text("ring"), protos: text("SIMPLE"), want: only("Ring/Simple")},
		{name: "excluded", algos: text("^Tree"), protos: text("^LL128"), want: only("Ring/LL Ring/Simple")},
		{name: "excluding LL forces LL128 on", protos: text("^LL"), change: func(c *connect.Comm) { c.MinSM, c.MaxSM = 75, 75 },
			want: only("Tree/LL128 Tree/Simple Ring/LL128 Ring/Simple")},
		{name: "blanks and unknown names mean nothing", algos: text("Ring,, Tree,Star"), want: only("Ring/LL Ring/LL128 Ring/Simple")},
		{name: "nothing left of the algorithms", algos: text("CollNetChain"), want: only("Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/LL128 Ring/Simple")},
		{name: "an NVLS tree on one node", algos: text("NVLSTree"), want: only("Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/LL128 Ring/Simple")},
		{name: "NVLS alone without a switch: the ring stands in", algos: text("NVLS"), want: only("Ring/LL Ring/LL128 Ring/Simple")},
		{name: "no protocol", protos: text(""), want: ""},
		{name: "LL128 not on Turing", change: func(c *connect.Comm) { c.MinSM, c.MaxSM = 75, 75 }, want: only("Tree/LL Tree/Simple Ring/LL Ring/Simple")},
		{name: "LL128 not on unlike GPUs", change: func(c *connect.Comm) { c.MaxSM = 90 }, want: only("Tree/LL Tree/Simple Ring/LL Ring/Simple")},
		{name: "LL128 not over PCI", change: func(c *connect.Comm) { c.Ring.TypeIntra = graph.PIX }, want: only("Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/Simple")},
		{name: "LL128 over one more GPU", change: func(c *connect.Comm) { c.Ring.TypeIntra = graph.NVB }, want: only("Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/LL128 Ring/Simple")},
		{name: "LL128 not through a relay before Hopper", change: func(c *connect.Comm) { c.Tree.TypeInter = graph.PXN }, want: only("Tree/LL Tree/Simple Ring/LL Ring/LL128 Ring/Simple")},
		{name: "LL128 through a relay on Hopper", change: func(c *connect.Comm) { c.Tree.TypeInter, c.MinSM, c.MaxSM = graph.PXN, 90, 90 },
			want: only("Tree/LL Tree/LL128 Tree/Simple Ring/LL Ring/LL128 Ring/Simple")},
	} {
		comm := systemA()
		if c.change != nil {
			c.change(comm)
		}
		p := newPlanner(t, comm, func(s *plan.Settings) { s.Algos, s.Protos = c.algos, c.protos })
		var on []string
		for a := range p.Bandwidth[plan.AllReduce] {
			for _, proto := range allreduce.Protos() {
				if p.Bandwidth[plan.AllReduce][a][proto] > 0 {
					on = append(on, fmt.Sprintf("%s/%s", allreduce.Algo(a), proto))
				}
			}
		}
		if got := strings.Join(on, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNothingOn(t *testing.T) {
	p := newPlanner(t, systemA(), func(s *plan.Settings) { s.Protos = text("") })
	_, err := p.Plan([]plan.Task{{Count: 1, DType: allreduce.Float32}}, plan.Force{})
	if !errors.Is(err, plan.ErrNothingOn) {
		t.Errorf("error %v, want %v", err, plan.ErrNothingOn)
	}
}

func TestNamesThatThereAreNot(t *testing.T) {
	for _, c := range []struct{ algos, protos, want string }{
		{"Ring", "^ll128", ""},
		{"", "", ""},
		{"foo,ring,bar", "Simple", `NCCL_ALGO: there is no algorithm "foo"; NCCL passes over the name. NCCL_ALGO: there is no algorithm "bar"; NCCL passes over the name.`},
		{"^ foo", "simple", `NCCL_ALGO: there is no algorithm " foo"; NCCL passes over the name.`},
		{"Ring", "simple,LL256,LL256", `NCCL_PROTO: there is no protocol "LL256"; NCCL passes over the name.`},
	} {
		p := newPlanner(t, systemA(), func(s *plan.Settings) { s.Algos, s.Protos = text(c.algos), text(c.protos) })
		if got := strings.Join(p.Warnings, " "); got != c.want {
			t.Errorf("%q and %q: warnings %s, want %s", c.algos, c.protos, got, c.want)
		}
	}
}

// With the tree switched off by name but the ring by type only, the ring's time
// is kept in reserve.
func TestRingInReserve(t *testing.T) {
	comm := systemA()
	comm.NVLS = &rings.Set{}
	p := newPlanner(t, comm, func(s *plan.Settings) { s.Algos = text("NVLS") })
	c, err := p.Choose(4096, allreduce.Int8, allreduce.Sum, 1, plan.Force{})
	if err != nil || c.Algo != allreduce.Ring {
		t.Errorf("%v %v, want Ring", c.Algo, err)
	}
}

func TestThreadMaxima(t *testing.T) {
	for _, c := range []struct {
		threads, ll128 int
		want           string // Ring LL, LL128, Simple
		warnings       int
	}{
		{-2, -2, "512 640 512", 0},
		{0, 0, "512 640 512", 0},
		{128, 320, "128 320 128", 0},
		{100, 200, "512 640 512", 2},
		{1024, 1024, "512 640 512", 2},
		{32, 128, "64 160 64", 2},
	} {
		p := newPlanner(t, systemA(), func(s *plan.Settings) { s.Threads, s.LL128Threads = c.threads, c.ll128 })
		m := p.MaxThreads[allreduce.Ring]
		if got := fmt.Sprintf("%d %d %d", m[0], m[1], m[2]); got != c.want || len(p.Warnings) != c.warnings {
			t.Errorf("asked %d and %d: %s with warnings %q, want %s with %d", c.threads, c.ll128, got, p.Warnings, c.want, c.warnings)
		}
	}
	slow := systemA()
	slow.Ring.NChannels, slow.Ring.BWIntra = 1, 12
	if got := newPlanner(t, slow, nil).MaxThreads[allreduce.Ring][allreduce.Simple]; got != 256 {
		t.Errorf("slow ring: %d threads, want 256", got)
	}
	if got := newPlanner(t, slow, nil).MaxThreads[allreduce.NVLS]; got != [3]int{0, 0, 640} {
		t.Errorf("NVLS: %v threads", got)
	}
}

func TestThresholds(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	if p.Thresholds[allreduce.Tree] != [3]int64{8, 8, 64} || p.Thresholds[allreduce.Ring] != [3]int64{32, 8, 64} ||
		p.Thresholds[allreduce.CollNetDirect][allreduce.Simple] != 512 {
		t.Errorf("defaults: %v", p.Thresholds)
	}
	p = newPlanner(t, systemA(), func(s *plan.Settings) { s.Thresholds = "1 2 -1 4 x 6" })
	if p.Thresholds[allreduce.Tree] != [3]int64{1, 2, 64} || p.Thresholds[allreduce.Ring] != [3]int64{4, 8, 64} {
		t.Errorf("given: %v, want reading to end at the x", p.Thresholds[:2])
	}
}

// Processors count in three places, each its own way.
func TestProcessors(t *testing.T) {
	power := systemA()
	power.CPU = connect.CPU{Arch: topo.ArchPOWER, Vendor: topo.VendorUndefined}
	power.Tree.TypeIntra = graph.SYS
	if got := latBW(newPlanner(t, power, nil), allreduce.Tree, allreduce.Simple); got != "34.2/33.1" { // 6 x 5.7, not 6 x 28
		t.Errorf("POWER: tree %s, want 34.2/33.1", got)
	}
	b := systemB()
	b.CPU.Vendor = topo.VendorIntel
	if got := latBW(newPlanner(t, b, nil), allreduce.Ring, allreduce.LL); got != "43.4/20.8" {
		t.Errorf("Intel between nodes: %s, want 43.4/20.8", got)
	}
	p := newPlanner(t, b, func(s *plan.Settings) { s.NetOverhead = 10000 })
	if got := latBW(p, allreduce.Ring, allreduce.Simple); got != "844.4/51.2" {
		t.Errorf("10 us overhead: %s, want 844.4/51.2", got)
	}
}

func TestMulticastTypes(t *testing.T) {
	comm := systemA()
	comm.NVLS = &rings.Set{NChannels: 4, BWIntra: 1000, BWInter: 1000, TypeIntra: graph.NVL}
	comm.NVLSChannels, comm.NVLSHeads = 8, 4
	p := newPlanner(t, comm, nil)
	for _, d := range allreduce.DTypes() {
		for _, op := range allreduce.Ops() {
			c, err := p.Choose(1<<30, d, op, 1, plan.Force{})
			if err != nil {
				t.Fatal(err)
			}
			want := op == allreduce.Sum && d != allreduce.Int8 && d != allreduce.Uint8 ||
				(op == allreduce.Min || op == allreduce.Max) && d != allreduce.Int8 && d != allreduce.Uint8 && d != allreduce.Float32 && d != allreduce.Float64
			if (c.Algo == allreduce.NVLS) != want {
				t.Errorf("%s %s: %s, want NVLS: %v", d, op, c.Algo, want)
			}
		}
	}
}

func TestWhatCannotRunIsReplaced(t *testing.T) {
	comm := systemA()
	comm.NVLS = &rings.Set{NChannels: 4, BWIntra: 1000, BWInter: 1000, TypeIntra: graph.NVL}
	comm.NVLSChannels, comm.NVLSHeads = 8, 4
	p := newPlanner(t, comm, nil)
	noSwitch := errors.New("no switch")
	can := func(a allreduce.Algo, _ allreduce.Proto) error {
		if a == allreduce.NVLS {
			return noSwitch
		}
		return nil
	}
	c, err := p.Choose(1<<30, allreduce.Float32, allreduce.Sum, 1, plan.Force{Can: can})
	if err != nil {
		t.Fatal(err)
	}
	if c.Algo != allreduce.Ring || c.Proto != allreduce.Simple || c.Replaced == nil || c.Replaced.Algo != allreduce.NVLS || !errors.Is(c.Replaced.Reason, noSwitch) {
		t.Errorf("chose %s/%s, replaced %v", c.Algo, c.Proto, c.Replaced)
	}
	if c, _ := p.Choose(4096, allreduce.Float32, allreduce.Sum, 1, plan.Force{Can: can}); c.Replaced != nil {
		t.Errorf("4 KiB: %v, want nothing replaced", c.Replaced)
	}
	nothing := func(allreduce.Algo, allreduce.Proto) error { return noSwitch }
	if _, err := p.Choose(4096, allreduce.Float32, allreduce.Sum, 1, plan.Force{Can: nothing}); !errors.Is(err, noSwitch) {
		t.Errorf("an executor that can do nothing: %v", err)
	}
}

func TestForcedChoices(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	algo := func(a allreduce.Algo) *allreduce.Algo { return &a }
	proto := func(x allreduce.Proto) *allreduce.Proto { return &x }
	for _, c := range []struct {
		force plan.Force
		want  string // or an error
	}{
		{plan.Force{Algo: algo(allreduce.Tree)}, "Tree/LL"},
		{plan.Force{Proto: proto(allreduce.Simple)}, "Ring/Simple"},
		{plan.Force{Algo: algo(allreduce.OneShot)}, "OneShot/Simple"},
		{plan.Force{Algo: algo(allreduce.TwoShot), Proto: proto(allreduce.LL)}, "TwoShot/LL"},
		{plan.Force{Algo: algo(allreduce.NVLS), Proto: proto(allreduce.Simple)}, "no NVSwitch"},
		{plan.Force{Algo: algo(allreduce.NVLS), Proto: proto(allreduce.LL)}, "runs with Simple only"},
		{plan.Force{Algo: algo(allreduce.CollNetChain), Proto: proto(allreduce.LL)}, "no network that reduces"},
	} {
		choice, err := p.Choose(4096, allreduce.Float32, allreduce.Sum, 1, c.force)
		if got := fmt.Sprintf("%s/%s", choice.Algo, choice.Proto); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
	}
}

// A rank alone copies: nothing else can be forced, and the error says so.
func TestForcedAlone(t *testing.T) {
	p, err := plan.New(plan.Nominal(&allreduce.Layout{NRanks: 1, Rings: [][]int{{0}}}), plan.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	simple, ll := allreduce.Simple, allreduce.LL
	if c, err := p.Choose(4096, allreduce.Float32, allreduce.Sum, 1, plan.Force{Proto: &simple}); err != nil || c.Algo != allreduce.Ring || c.Proto != simple {
		t.Errorf("got %s/%s, %v", c.Algo, c.Proto, err)
	}
	if _, err := p.Choose(4096, allreduce.Float32, allreduce.Sum, 1, plan.Force{Proto: &ll}); !errors.Is(err, plan.ErrNothingOn) || !strings.Contains(err.Error(), "alone") {
		t.Errorf("LL of one rank: %v", err)
	}
}
