package plan_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/rings"
)

// oneLaunch plans a single message by its size.
func oneLaunch(t *testing.T, p *plan.Planner, bytes int64, force plan.Force) *plan.Launch {
	t.Helper()
	launches, err := p.Plan([]plan.Task{{Count: bytes / 4, DType: allreduce.Float32}}, force)
	if err != nil {
		t.Fatal(err)
	}
	return launches[0]
}

// Blocks are those that the chosen threads need, at least 128: 512 workers of
// Simple have a posting warp beside them.
func TestGeometry(t *testing.T) {
	algo, proto := allreduce.Ring, allreduce.Simple
	force := plan.Force{Algo: &algo, Proto: &proto}
	l := oneLaunch(t, newPlanner(t, systemA(), nil), 4096, plan.Force{})
	if l.Grid() != 1 || l.Plan.Threads != 128 {
		t.Errorf("4 KiB: %d blocks of %d, want 1 of 128", l.Grid(), l.Plan.Threads)
	}
	for threads, block := range map[int]int{64: 128, 128: 160, 256: 288, 512: 544} {
		p := newPlanner(t, systemA(), func(s *plan.Settings) { s.Threads = threads })
		if l := oneLaunch(t, p, 1<<20, force); l.Grid() != 12 || l.Plan.Threads != block {
			t.Errorf("1 MiB with %d threads: %d blocks of %d, want 12 of %d", threads, l.Grid(), l.Plan.Threads, block)
		}
	}
}

// Small messages lose channels first, then threads.
func TestSmallMessages(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	algo, proto := allreduce.Ring, allreduce.Simple
	for bytes, want := range map[int64]string{
		1 << 20: "12 544", 256 << 10: "8 544", 64 << 10: "2 544", 32 << 10: "1 544", 16 << 10: "1 288", 8 << 10: "1 160", 4 << 10: "1 96", 4: "1 96",
	} {
		c, err := p.Choose(bytes, allreduce.Float32, allreduce.Sum, 1, plan.Force{Algo: &algo, Proto: &proto})
		if got := fmt.Sprint(c.NChannels, c.Threads); err != nil || got != want {
			t.Errorf("%d bytes: %s (%v), want %s", bytes, got, err, want)
		}
	}
}

// Mask 0b100101: block 1 runs channel 2.
func TestSparseMask(t *testing.T) {
	p := newPlanner(t, systemA(), nil, plan.OnChannels([]int{0, 2, 5}))
	l := oneLaunch(t, p, 1<<20, plan.Force{})
	if l.Plan.Mask != 0b100101 || l.Grid() != 3 {
		t.Fatalf("mask %b, grid %d, want 100101 and 3", l.Plan.Mask, l.Grid())
	}
	if ch := l.Plan.Channels(); ch[1] != 2 {
		t.Errorf("blocks run channels %v, want block 1 on channel 2", ch)
	}
	w := &l.Plan.Works[0]
	checkTiling(t, w)
	if part := w.Part(2); part == nil || part.Offset != w.Parts[0].Count {
		t.Errorf("channel 2 has %+v", part)
	}
	if w.Part(1) != nil {
		t.Error("channel 1 has a part")
	}
	if err := l.Plan.Check([]allreduce.Args{{Send: make([]allreduce.Span, 4), Recv: make([]allreduce.Span, 4)}}, nil); err != nil {
		t.Error(err)
	}
}

func TestBadChannelLists(t *testing.T) {
	for want, list := range map[string][]int{"has channels 0 to 11": {0, 12}, "listed twice": {3, 3}, "empty list": {}, "channel -1": {-1}} {
		if _, err := plan.New(systemA(), plan.DefaultSettings(), plan.OnChannels(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", list, err, want)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for want, change := range map[string]func(*plan.Settings){
		"NCCL_WORK_ARGS_BYTES is 100":  func(s *plan.Settings) { s.WorkArgs = 100 },
		"NCCL_WORK_FIFO_BYTES is 1000": func(s *plan.Settings) { s.WorkFIFO = 1000 },
		"NCCL_WORK_FIFO_BYTES is 2147": func(s *plan.Settings) { s.WorkFIFO = 1 << 31 },
		"LL buffer of -5":              func(s *plan.Settings) { s.BuffSize[allreduce.LL] = -5 },
		"Simple buffer of 1099511":     func(s *plan.Settings) { s.BuffSize[allreduce.Simple] = 1 << 40 },
	} {
		s := plan.DefaultSettings()
		change(&s)
		if _, err := plan.New(systemA(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := plan.New(&connect.Comm{}, plan.DefaultSettings()); err == nil {
		t.Error("an empty communicator passes")
	}
}

func TestBadTasks(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	for _, count := range []int64{-1, 1 << 62} {
		if _, err := p.Plan([]plan.Task{{Count: count, DType: allreduce.Float32}}, plan.Force{}); err == nil || !strings.Contains(err.Error(), "operation 0") {
			t.Errorf("%d elements: %v", count, err)
		}
	}
	if l, err := p.Plan([]plan.Task{{Count: 0}}, plan.Force{}); err != nil || len(l) != 0 {
		t.Errorf("nothing to do: %d launches, %v", len(l), err)
	}
}

func TestKernelAndFunctionNames(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	tree, simple := allreduce.Tree, allreduce.Simple
	for _, c := range []struct {
		task     plan.Task
		force    plan.Force
		kernel   string
		function string
	}{
		{plan.Task{Count: 4, DType: allreduce.Float32}, plan.Force{}, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "AllReduce_Sum_f32_RING_LL"},
		{plan.Task{Count: 4, DType: allreduce.Int32, Op: allreduce.Max}, plan.Force{Algo: &tree, Proto: &simple}, "ncclDevKernel_AllReduce_Sum_u32_TREE_LL", "AllReduce_MinMax_i32_TREE_SIMPLE"},
		{plan.Task{Count: 4, DType: allreduce.BFloat16, Op: allreduce.Avg}, plan.Force{}, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "AllReduce_PreMulSum_bf16_RING_LL"},
		{plan.Task{Count: 4, DType: allreduce.Uint8, Op: allreduce.Avg}, plan.Force{}, "ncclDevKernel_AllReduce_Sum_u8_RING_LL", "AllReduce_SumPostDiv_u8_RING_LL"},
		{plan.Task{Count: 4, DType: allreduce.Float64, Op: allreduce.Prod}, plan.Force{}, "ncclDevKernel_AllReduce_Sum_f64_RING_LL", "AllReduce_Prod_f64_RING_LL"},
	} {
		l, err := p.Plan([]plan.Task{c.task}, c.force)
		if err != nil {
			t.Fatal(err)
		}
		if l[0].Kernel != c.kernel || l[0].Batches[0].Function != c.function {
			t.Errorf("%v: %s and %s, want %s and %s", c.task, l[0].Kernel, l[0].Batches[0].Function, c.kernel, c.function)
		}
	}
}

func TestDirectAlgorithmsRunNoKernelOfNCCL(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	for _, algo := range []allreduce.Algo{allreduce.OneShot, allreduce.TwoShot} {
		if l := oneLaunch(t, p, 1<<20, plan.Force{Algo: &algo}); l.Kernel != "" {
			t.Errorf("%s: kernel %s, want none", algo, l.Kernel)
		}
	}
}

func TestSharedMemoryAndClusters(t *testing.T) {
	for _, c := range []struct{ sm, asked, shared, cluster int }{
		{70, 4, 41280, 0}, {80, 4, 82240, 0}, {90, 4, 82240, 4}, {90, 0, 82240, 0}, {90, 5, 82240, 1}, {90, 99, 82240, 1}, {100, 4, 82240, 0},
	} {
		comm := systemA()
		comm.MinSM, comm.MaxSM = c.sm, c.sm
		p := newPlanner(t, comm, func(s *plan.Settings) { s.ClusterSize = c.asked })
		if l := oneLaunch(t, p, 64<<20, plan.Force{}); l.SharedBytes != c.shared || l.Cluster != c.cluster || l.Grid() != 12 {
			t.Errorf("sm %d, cluster %d: %d bytes, cluster %d of grid %d, want %d and %d", c.sm, c.asked, l.SharedBytes, l.Cluster, l.Grid(), c.shared, c.cluster)
		}
	}
}

// The first batch of the i-th channel stands at i; jumps lead to the channel's
// next one; one batch holds sixteen records of one function.
func TestBatches(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	var tasks []plan.Task
	for range 40 {
		tasks = append(tasks, plan.Task{Count: 100, DType: allreduce.Float32})
	}
	launches, err := p.Plan(tasks, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	if len(launches) != 1 {
		t.Fatalf("%d launches, want 1", len(launches))
	}
	l := launches[0]
	records := 0
	for slot, b := range l.Batches {
		if b.Slot != slot {
			t.Errorf("batch %d says %d", slot, b.Slot)
		}
		if n := bits.OnesCount64(b.Records); n > 16 || n < 1 {
			t.Errorf("batch %d has %d records", slot, n)
		}
		records += bits.OnesCount64(b.Records)
	}
	parts := 0
	for _, w := range l.Plan.Works {
		parts += len(w.Parts)
	}
	if records != parts {
		t.Errorf("%d records in batches, %d parts", records, parts)
	}
	for first := range l.Grid() {
		total := 0
		for at := first; ; at += l.Batches[at].Jump {
			total += bits.OnesCount64(l.Batches[at].Records)
			if l.Batches[at].Jump == 0 {
				break
			}
		}
		channel, want := l.Plan.Channels()[first], 0
		for _, w := range l.Plan.Works {
			if w.Part(channel) != nil {
				want++
			}
		}
		if total != want {
			t.Errorf("channel %d: %d records on its chain, want %d", channel, total, want)
		}
	}
	if l.WorkBytes != 40*64 || !l.InArguments || l.ArgBytes != 32+16*len(l.Batches)+40*64 {
		t.Errorf("%d bytes of work, in arguments %v, %d bytes of arguments", l.WorkBytes, l.InArguments, l.ArgBytes)
	}
}

// Two functions on a channel need two batches; a record more than 63 records
// away extends the batch.
func TestBatchKinds(t *testing.T) {
	p := newPlanner(t, systemA(), nil, plan.OnChannels([]int{3}))
	var tasks []plan.Task
	for i := range 6 {
		tasks = append(tasks, plan.Task{Count: 10, DType: []allreduce.DType{allreduce.Float32, allreduce.Int8}[i%2]})
	}
	l, err := p.Plan(tasks, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l[0].Batches); n != 2 || l[0].Batches[0].Jump != 1 || l[0].Plan.Mask != 1<<3 {
		t.Errorf("%d batches %+v on %b, want 2 on channel 3", n, l[0].Batches, l[0].Plan.Mask)
	}
	if got, want := plan.ExtendedBatches(), []bool{true, false}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("extended: %v, want %v", got, want)
	}
}

// More than fits goes to the queue, and beyond that to a second launch.
func TestBudgets(t *testing.T) {
	var tasks []plan.Task
	for range 200 {
		tasks = append(tasks, plan.Task{Count: 100, DType: allreduce.Float32})
	}
	l, err := newPlanner(t, systemA(), nil).Plan(tasks, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	if len(l) != 1 || l[0].InArguments || l[0].ArgBytes != 32+16*len(l[0].Batches) {
		t.Errorf("200 operations: %d launches, in arguments %v, %d bytes", len(l), l[0].InArguments, l[0].ArgBytes)
	}
	l, err = newPlanner(t, systemA(), func(s *plan.Settings) { s.WorkFIFO = 1 << 13 }).Plan(tasks, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, x := range l {
		total += len(x.Details)
		if x.WorkBytes > 1<<12 {
			t.Errorf("%d bytes of work in a queue of %d", x.WorkBytes, 1<<12)
		}
	}
	if len(l) != 4 || total != 200 {
		t.Errorf("small queue: %d launches with %d works, want 4 with 200", len(l), total)
	}
}

// Equal sizes keep their order; larger ones come after smaller ones of their
// class; classes come by their largest.
func TestOrderOfGroups(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	sizes := []plan.Task{
		{Count: 10, DType: allreduce.Float32}, {Count: 1 << 20, DType: allreduce.Int8}, {Count: 10, DType: allreduce.Float32},
		{Count: 1 << 22, DType: allreduce.Float32}, {Count: 4096, DType: allreduce.Int8}, {Count: 4096, DType: allreduce.Int8, Op: allreduce.Max},
		{Count: 4096, DType: allreduce.Int8, Op: allreduce.Min},
	}
	launches, err := p.Plan(sizes, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	var calls []int
	for _, w := range launches[0].Plan.Works {
		calls = append(calls, w.Call)
	}
	if got := fmt.Sprint(calls); got != "[0 2 3 4 1 5 6]" {
		t.Errorf("order %s, want [0 2 3 4 1 5 6]", got)
	}
}

// Messages of less than four times the smallest are chosen for together.
func TestAggregates(t *testing.T) {
	p := newPlanner(t, systemA(), nil)
	launches, err := p.Plan([]plan.Task{{Count: 256, DType: allreduce.Float32}, {Count: 1023, DType: allreduce.Float32}, {Count: 1024, DType: allreduce.Float32}}, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	d := launches[0].Details
	together, _ := p.Choose(4*(256+1023), allreduce.Float32, allreduce.Sum, 1, plan.Force{})
	alone, _ := p.Choose(4*1024, allreduce.Float32, allreduce.Sum, 1, plan.Force{})
	if d[0].Choice.Time != together.Time || d[1].Choice.Time != together.Time || d[2].Choice.Time != alone.Time {
		t.Errorf("times %v %v %v, want %v twice and %v", d[0].Choice.Time, d[1].Choice.Time, d[2].Choice.Time, together.Time, alone.Time)
	}
}

func TestOneRank(t *testing.T) {
	l := &allreduce.Layout{NRanks: 1, Rings: [][]int{{0}}, BuffSize: allreduce.DefaultBuffSize()}
	p := newPlanner(t, plan.Nominal(l), nil)
	launch := oneLaunch(t, p, 4<<20, plan.Force{})
	if w := launch.Plan.Works[0]; len(w.Parts) != 1 || w.Parts[0].Count != 1<<20 {
		t.Errorf("%+v", w)
	}
	if lines := p.Lines(); len(lines) != 1 {
		t.Errorf("%d lines of tables for one rank, want the thresholds only", len(lines))
	}
}

func TestLoggedTables(t *testing.T) {
	want := `  Algorithm   |                            Tree                  |                            Ring                  |                   CollNetDirect                  |
  Protocol    |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |
 Max NThreads |            512 |            640 |            512 |            512 |            640 |            512 |              0 |              0 |            640 |
    Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     9.0/  36.0 |    21.6/  66.2 |   120.4/  72.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |
       Reduce |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     9.0/  36.0 |    21.6/  66.2 |   120.4/  72.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |
    AllGather |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     8.4/  48.0 |    19.7/  88.3 |    18.6/  96.0 |     2.4/   0.0 |     2.4/   0.0 |    40.8/   0.0 |
ReduceScatter |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     8.4/  48.0 |    19.7/  88.3 |    18.6/  96.0 |     2.4/   0.0 |     2.4/   0.0 |    40.8/   0.0 |
    AllReduce |    10.4/   8.7 |    21.5/  25.8 |   168.0/  33.1 |    10.2/  24.0 |    25.4/  44.2 |    28.8/  48.0 |     2.4/   0.0 |     2.4/   0.0 |    40.8/   0.0 |`
	got := newPlanner(t, systemA(), nil).Lines()
	wanted := strings.Split(want, "\n")
	for i, line := range wanted {
		if got[i] != line {
			t.Errorf("line %d:\n got %s\nwant %s", i, got[i], line)
		}
	}
	if len(got) != 17 || got[16] != "threadThresholds 8/8/64 | 32/8/64 | 512 | 512" {
		t.Errorf("%d lines, last %s", len(got), got[len(got)-1])
	}
}

// Operations that the switch carries queue behind those of rings and trees, and
// begin on the first channel again.
func TestGroupOfTwoKinds(t *testing.T) {
	comm := systemA()
	comm.NVLS = &rings.Set{NChannels: 4, BWIntra: 1000, BWInter: 1000, TypeIntra: graph.NVL}
	comm.NVLSChannels, comm.NVLSHeads = 8, 4
	launches, err := newPlanner(t, comm, nil).Plan([]plan.Task{
		{Count: 64 << 20, DType: allreduce.Float32}, {Count: 32 << 20, DType: allreduce.Uint8}, {Count: 64 << 20, DType: allreduce.Float32}}, plan.Force{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, w := range launches[0].Plan.Works {
		d := launches[0].Details[i]
		got = append(got, fmt.Sprintf("%d %s %d-%d", w.Call, w.Algo, d.ChannelLo, d.ChannelHi))
	}
	if s := strings.Join(got, ", "); s != "1 Ring 0-11, 0 NVLS 0-3, 2 NVLS 4-7" {
		t.Errorf("%s, want 1 Ring 0-11, 0 NVLS 0-3, 2 NVLS 4-7", s)
	}
}
