package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/connect"
	"pgregory.net/rapid"
)

// planOf lays one message over channels of four ranks, as the worked examples
// have them.
type planOf struct {
	count    int64
	dtype    allreduce.DType
	proto    allreduce.Proto
	algo     allreduce.Algo
	channels int // of the communicator
	most     int // that are chosen
	buffer   int // of the protocol; 0: default
}

func (c planOf) plan(t testing.TB) *plan.Launch {
	t.Helper()
	comm := systemA()
	comm.NChannels = c.channels
	p := newPlanner(t, withRings(comm), func(s *plan.Settings) {
		if c.buffer != 0 {
			s.BuffSize[c.proto] = c.buffer
		}
	})
	launches, err := p.Plan([]plan.Task{{Count: c.count, DType: c.dtype}}, plan.Force{Algo: &c.algo, Proto: &c.proto, NChannels: c.most})
	if err != nil {
		t.Fatal(err)
	}
	checkTiling(t, &launches[0].Plan.Works[0])
	return launches[0]
}

// counts writes a work's parts as runs of equal ones: 84 10x88 60.
func counts(w *allreduce.Work) string {
	var runs []string
	for i := 0; i < len(w.Parts); {
		n := 1
		for i+n < len(w.Parts)-1 && i > 0 && w.Parts[i+n].Count == w.Parts[i].Count {
			n++
		}
		if n > 1 {
			runs = append(runs, fmt.Sprintf("%dx%d", n, w.Parts[i].Count))
		} else {
			runs = append(runs, fmt.Sprint(w.Parts[i].Count))
		}
		i += n
	}
	return strings.Join(runs, " ")
}

func TestKnownDistributions(t *testing.T) {
	f32, ring := allreduce.Float32, allreduce.Ring
	for _, c := range []struct {
		planOf
		want         string
		loops, steps int // of the first part
	}{
		{planOf{16777216, f32, allreduce.Simple, ring, 12, 12, 0}, "1398100 10x1398104 1398076", 1, 24},
		{planOf{1000003, f32, allreduce.Simple, ring, 12, 12, 0}, "83332 10x83336 83311", 1, 24},
		{planOf{1000003, f32, allreduce.LL, ring, 12, 12, 0}, "83332 10x83336 83311", 3, 18},
		{planOf{1000003, f32, allreduce.LL128, ring, 12, 12, 0}, "83332 10x83336 83311", 1, 6},
		{planOf{1000003, allreduce.Float16, allreduce.Simple, ring, 12, 12, 0}, "83328 10x83336 83315", 1, 24},
		{planOf{1000003, allreduce.Int8, allreduce.Simple, ring, 12, 12, 0}, "83328 10x83344 83235", 1, 24},
		{planOf{1000003, f32, allreduce.Simple, ring, 12, 3, 0}, "333332 333336 333335", 1, 24},
		{planOf{1024, f32, allreduce.LL, ring, 12, 1, 0}, "1024", 1, 6},
		{planOf{1024, f32, allreduce.LL, ring, 12, 12, 0}, "84 10x88 60", 1, 6},
		{planOf{1, f32, allreduce.LL, ring, 12, 1, 0}, "1", 1, 6},
		{planOf{16384, f32, allreduce.LL, ring, 12, 4, 0}, "4096 2x4096 4096", 1, 6},
		{planOf{65536, f32, allreduce.LL, ring, 12, 12, 0}, "5460 10x5464 5436", 1, 6},
		{planOf{262144, f32, allreduce.LL128, ring, 12, 12, 0}, "21844 10x21848 21820", 1, 6},
		{planOf{1048576, f32, allreduce.Simple, ring, 12, 12, 0}, "87380 10x87384 87356", 1, 24},
		{planOf{4194304, f32, allreduce.Simple, ring, 12, 12, 0}, "349524 10x349528 349500", 1, 24},
		{planOf{16777216, f32, allreduce.Simple, ring, 2, 2, 0}, "8388608 8388608", 4, 96},
		{planOf{16777216, f32, allreduce.Simple, ring, 24, 24, 0}, "699048 22x699052 699024", 1, 24},
		{planOf{16777216, f32, allreduce.LL, ring, 12, 12, 0}, "1398100 10x1398104 1398076", 43, 258},
		{planOf{16777216, f32, allreduce.LL128, ring, 12, 12, 0}, "1398100 10x1398104 1398076", 3, 18},
		{planOf{16777216, f32, allreduce.Simple, allreduce.Tree, 12, 12, 0}, "1398100 10x1398104 1398076", 11, 11},
	} {
		l := c.plan(t)
		d := l.Details[0]
		if got := counts(&l.Plan.Works[0]); got != c.want || d.Lo.Loops != c.loops || d.Lo.ProxySteps != c.steps {
			t.Errorf("%+v: %s, %d loops, %d steps, want %s, %d, %d", c.planOf, got, d.Lo.Loops, d.Lo.ProxySteps, c.want, c.loops, c.steps)
		}
	}
}

// 64 MiB on 12 channels: what NCCL_BUFFSIZE makes of steps, slices, chunks and
// loops.
func TestKnownBuffers(t *testing.T) {
	const KiB = 1 << 10
	for _, c := range []struct{ buffer, step, slice, chunk, loops, proxySteps, treeChunk, treeLoops int }{
		{64 * KiB, 8 * KiB, 16 * KiB, 32 * KiB, 43, 1032, 8 * KiB, 683},
		{256 * KiB, 32 * KiB, 64 * KiB, 128 * KiB, 11, 264, 32 * KiB, 171},
		{1024 * KiB, 128 * KiB, 256 * KiB, 512 * KiB, 3, 72, 128 * KiB, 43},
		{2048 * KiB, 256 * KiB, 512 * KiB, 1024 * KiB, 2, 48, 256 * KiB, 22},
		{4096 * KiB, 512 * KiB, 1024 * KiB, 2048 * KiB, 1, 24, 512 * KiB, 11},
		{16384 * KiB, 2048 * KiB, 4096 * KiB, 8192 * KiB, 1, 24, 2048 * KiB, 3},
	} {
		l := planOf{16 << 20, allreduce.Float32, allreduce.Simple, allreduce.Ring, 12, 12, c.buffer}.plan(t)
		w, d := &l.Plan.Works[0], l.Details[0]
		for _, s := range []plan.Section{d.Lo, d.Mid, d.Hi} {
			if s.ChunkBytes != c.chunk || s.Grains(w.Proto) != c.chunk/512 || s.Loops != c.loops || s.ProxySteps != c.proxySteps {
				t.Errorf("buffer %d: %+v, want chunk %d, %d loops, %d steps", c.buffer, s, c.chunk, c.loops, c.proxySteps)
			}
		}
		if w.StepBytes != c.step || w.SliceBytes() != c.slice || w.ChunkSteps != 4 || w.SliceSteps != 2 {
			t.Errorf("buffer %d: step %d, slice %d, want %d and %d", c.buffer, w.StepBytes, w.SliceBytes(), c.step, c.slice)
		}
		tree := planOf{16 << 20, allreduce.Float32, allreduce.Simple, allreduce.Tree, 12, 12, c.buffer}.plan(t).Details[0].Lo
		if tree.ChunkBytes != c.treeChunk || tree.Loops != c.treeLoops {
			t.Errorf("buffer %d: tree %+v, want chunk %d, %d loops", c.buffer, tree, c.treeChunk, c.treeLoops)
		}
	}
	// The chunk of a tree with LL128 shrinks until the pipeline is filled.
	tree := planOf{16 << 20, allreduce.Float32, allreduce.LL128, allreduce.Tree, 12, 12, 0}.plan(t).Details[0].Lo
	if tree.ChunkBytes != 144000 || tree.Grains(allreduce.LL128) != 75 {
		t.Errorf("tree LL128: %+v, want chunks of 144000 bytes, 75 grains", tree)
	}
}

func TestBufferTooSmall(t *testing.T) {
	s := plan.DefaultSettings()
	s.BuffSize[allreduce.Simple] = 8 * 128
	if _, err := plan.New(systemA(), s); err == nil || !strings.Contains(err.Error(), "Simple buffer of 1024 bytes") {
		t.Errorf("error %v", err)
	}
}

// groupOf plans tasks in the order given, each allowed so many channels.
func groupOf(t *testing.T, channels int, most []int, tasks ...plan.Task) []*plan.Launch {
	t.Helper()
	comm := systemA()
	comm.NChannels = channels
	p := newPlanner(t, withRings(comm), nil)
	launches, err := p.PlanChosen(tasks, most)
	if err != nil {
		t.Fatal(err)
	}
	return launches
}

func f32(counts ...int64) []plan.Task {
	var tasks []plan.Task
	for _, n := range counts {
		tasks = append(tasks, plan.Task{Count: n, DType: allreduce.Float32})
	}
	return tasks
}

func TestKnownGroups(t *testing.T) {
	l := groupOf(t, 12, []int{12}, f32(262144, 262144, 262144)...)
	for i, w := range l[0].Plan.Works {
		if w.Call != i || w.Parts[0].Channel != 4*i || counts(&w) != "65536 2x65536 65536" {
			t.Errorf("work %d: call %d from channel %d: %s", i, w.Call, w.Parts[0].Channel, counts(&w))
		}
	}
	l = groupOf(t, 12, []int{12}, f32(1024, 1024, 262144)...)
	var got []string
	for _, w := range l[0].Plan.Works {
		got = append(got, fmt.Sprintf("call %d from %d: %s", w.Call, w.Parts[0].Channel, counts(&w)))
	}
	want := []string{"call 0 from 0: 1024", "call 1 from 0: 1024", "call 2 from 0: 19968 10x22016 22016"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("group: %q, want %q", got, want)
	}
}

// The two places where the arithmetic oversteps are kept, and said.
func TestPeculiarities(t *testing.T) {
	l := planOf{241175, allreduce.Float16, allreduce.Simple, allreduce.Ring, 17, 13, 0}.plan(t)
	if got := counts(&l.Plan.Works[0]); got != "18544 12x18552 7" {
		t.Errorf("one channel more: %s, want 18544 12x18552 7", got)
	}
	if p := l.Details[0].Peculiarities; len(p) != 1 || !strings.Contains(p[0], "uses 14 channels although 13") {
		t.Errorf("one channel more: said %q", p)
	}
	launches := groupOf(t, 15, []int{15, 4}, plan.Task{Count: 26399, DType: allreduce.Uint8}, plan.Task{Count: 1020, DType: allreduce.Float32})
	d := launches[0].Details[1]
	if d.ChannelLo != 13 || d.ChannelHi != 15 || len(d.Peculiarities) != 1 || !strings.Contains(d.Peculiarities[0], "reaches channel 15 of 15") {
		t.Errorf("past the last channel: channels %d to %d, said %q", d.ChannelLo, d.ChannelHi, d.Peculiarities)
	}
	if err := launches[0].Plan.Check(nil, nil); err == nil {
		t.Error("a plan past the last channel passes for one that can be run")
	}
}

// After such an overrun no further task can be placed, unless it is mended.
func TestOverrun(t *testing.T) {
	comm := systemA()
	comm.NChannels = 5
	tasks := []plan.Task{{Count: 1662, DType: allreduce.Uint8}, {Count: 281, DType: allreduce.Float32}, {Count: 1, DType: allreduce.Float64}}
	most := []int{4, 1, 5}
	if _, err := newPlanner(t, withRings(comm), nil).PlanChosen(tasks, most); !errors.Is(err, plan.ErrOverrun) {
		t.Errorf("error %v, want %v", err, plan.ErrOverrun)
	}
	launches, err := newPlanner(t, comm, nil, plan.Mended()).PlanChosen(tasks, most)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range launches[0].Plan.Works {
		checkTiling(t, &w)
		if last := w.Parts[len(w.Parts)-1].Channel; last >= 5 {
			t.Errorf("work %d reaches channel %d of 5", i, last)
		}
	}
}

// Parts cover every message once, in order, on channels that exist, whatever
// the group; empty tasks drop out; every task is there once.
func TestEveryPlanCoversItsTasks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		comm := systemA()
		comm.NChannels = rapid.IntRange(1, 32).Draw(rt, "channels")
		var opts []plan.Option
		mended := rapid.Bool().Draw(rt, "mended")
		if mended {
			opts = append(opts, plan.Mended())
		}
		p, err := plan.New(withRings(comm), plan.DefaultSettings(), opts...)
		if err != nil {
			rt.Fatal(err)
		}
		var tasks []plan.Task
		for range rapid.IntRange(1, 12).Draw(rt, "tasks") {
			tasks = append(tasks, plan.Task{
				Count: rapid.Int64Range(0, 1<<rapid.IntRange(0, 26).Draw(rt, "bits")).Draw(rt, "count"),
				DType: rapid.SampledFrom(allreduce.DTypes()).Draw(rt, "type"),
				Op:    rapid.SampledFrom(allreduce.Ops()).Draw(rt, "op"),
			})
		}
		launches, err := p.Plan(tasks, plan.Force{})
		if errors.Is(err, plan.ErrOverrun) && !mended {
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		checkGroup(rt, comm, tasks, launches)
		for _, l := range launches {
			if mended && l.Plan.Mask>>comm.NChannels != 0 {
				rt.Fatalf("mended plan uses channels %b of %d", l.Plan.Mask, comm.NChannels)
			}
		}
	})
}

func checkGroup(rt *rapid.T, comm *connect.Comm, tasks []plan.Task, launches []*plan.Launch) {
	seen := map[int]int{}
	for _, l := range launches {
		var mask uint64
		for i := range l.Plan.Works {
			w := &l.Plan.Works[i]
			seen[w.Call]++
			if task := tasks[w.Call]; task.Count != w.Count || task.DType != w.DType || task.Op != w.Op {
				rt.Fatalf("work %+v is not task %+v", w, task)
			}
			at := int64(0)
			for _, part := range w.Parts {
				if part.Offset != at || part.Count < 1 || part.Loops < 1 {
					rt.Fatalf("%+v: part %+v, want offset %d", w, part, at)
				}
				at += part.Count
				mask |= 1 << part.Channel
				if part.Channel >= comm.NChannels && len(l.Details[i].Peculiarities) == 0 {
					rt.Fatalf("channel %d of %d, and nothing said", part.Channel, comm.NChannels)
				}
			}
			if at != w.Count || w.Threads%32 != 0 || w.Threads > l.Plan.Threads {
				rt.Fatalf("%+v of block %d: parts end at %d", w, l.Plan.Threads, at)
			}
		}
		if mask != l.Plan.Mask || l.Grid() != len(l.Plan.Channels()) || l.Plan.Threads < 128 {
			rt.Fatalf("mask %b, parts %b, grid %d, block %d", l.Plan.Mask, mask, l.Grid(), l.Plan.Threads)
		}
	}
	for i, task := range tasks {
		if want := min(1, task.Count); int64(seen[i]) != want {
			rt.Fatalf("task %d of %d elements is in %d works", i, task.Count, seen[i])
		}
	}
}
