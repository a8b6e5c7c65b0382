package gpu

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// machine is a fake machine that remembers ring launches.
type machine struct {
	*cudafake.Driver
	mu    sync.Mutex
	rings []launchWire
	seen  []cudafake.Launch
}

func newMachine(t *testing.T, gpus int) (*machine, *cuda.Driver) {
	t.Helper()
	m := &machine{Driver: cudafake.New(gpus)}
	m.OnLaunch = func(l cudafake.Launch) cuda.Result {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.seen = append(m.seen, l)
		if strings.HasPrefix(l.Kernel, "ring") {
			m.rings = append(m.rings, **(**launchWire)(l.Params))
		}
		return 0
	}
	drv, err := cuda.New(m.API())
	if err != nil {
		t.Fatal(err)
	}
	return m, drv
}

func fourRanks(channels int) *allreduce.Layout {
	l := &allreduce.Layout{NRanks: 4, BuffSize: [3]int{65536, 614400, 65536}}
	for range channels {
		l.Rings = append(l.Rings, []int{0, 2, 1, 3})
	}
	return l
}

func plans(t *testing.T, l *allreduce.Layout, tasks ...plan.Task) (*allreduce.Layout, *allreduce.Plan) {
	t.Helper()
	s := plan.DefaultSettings()
	s.BuffSize = l.BuffSize
	pl, err := plan.New(plan.Nominal(l), s)
	if err != nil {
		t.Fatal(err)
	}
	ring, simple := allreduce.Ring, allreduce.Simple
	launches, err := pl.Plan(tasks, plan.Force{Algo: &ring, Proto: &simple})
	if err != nil {
		t.Fatal(err)
	}
	return pl.Layout(), launches[0].Plan
}

func TestLayoutOfWires(t *testing.T) {
	for name, sizes := range map[string][2]uintptr{
		"channel": {unsafe.Sizeof(channelWire{}), 128}, "work": {unsafe.Sizeof(workWire{}), 472}, "launch": {unsafe.Sizeof(launchWire{}), 560},
		"report": {unsafe.Sizeof(reportWire{}), 72}, "direct": {unsafe.Sizeof(directWire{}), 1024}, "part": {unsafe.Sizeof(partWire{}), 24},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s: %d bytes, the kernels have %d", name, sizes[0], sizes[1])
		}
	}
}

func TestLaunchMatchesPlan(t *testing.T) {
	m, drv := newMachine(t, 2)
	l, p := plans(t, fourRanks(3), plan.Task{Count: 100003, DType: allreduce.Float32})
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(m.rings) != 2 {
		t.Fatalf("%d ring launches on 2 GPUs", len(m.rings))
	}
	w := p.Works[0]
	for _, k := range m.rings {
		if k.mask != p.Mask || k.nRanks != 4 || k.nLocal != 2 || k.nChannels != 3 || k.nWorks != 1 || k.work.direct != 1 {
			t.Errorf("launch %+v", k)
		}
		if k.work.countLo+k.work.countMid*uint64(len(w.Parts)-2)+k.work.countHi != uint64(w.Count) {
			t.Errorf("parts %d %d %d do not make %d", k.work.countLo, k.work.countMid, k.work.countHi, w.Count)
		}
		if int(k.work.threads) != w.Threads || int(k.work.chunkLo) != w.Parts[0].ChunkBytes/4 || int(k.work.stepBytes) != w.StepBytes {
			t.Errorf("work %+v, planned %+v", k.work, w)
		}
	}
	for _, s := range m.seen {
		if strings.HasPrefix(s.Kernel, "ring") && (s.Grid != 2*len(w.Parts) || s.Block != p.Threads || !s.Cooperative) {
			t.Errorf("launch %+v, want %d blocks of %d, cooperative", s, 2*len(w.Parts), p.Threads)
		}
	}
	trial.Close()
	if err := ex.Close(); err != nil {
		t.Error(err)
	}
	if m.Live() != 0 || m.Contexts() != 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
}

// Both ends of every connection must agree on where it is.
func TestConnections(t *testing.T) {
	for name, o := range map[string]Options{"peers": {}, "staged": {NoP2P: true}} {
		t.Run(name, func(t *testing.T) {
			m, drv := newMachine(t, 2)
			l := fourRanks(2)
			o.Driver = drv
			ex, err := New(l, o)
			if err != nil {
				t.Fatal(err)
			}
			defer ex.Close()
			at := func(rank, c int) channelWire {
				s := ex.seats[rank]
				size := int(unsafe.Sizeof(channelWire{}))
				b := m.Bytes(s.channels+cuda.Ptr((s.place*2+c)*size), size)
				return *(*channelWire)(unsafe.Pointer(&b[0]))
			}
			used := map[uint64]bool{}
			for c, ring := range l.Rings {
				for i, rank := range ring {
					a, b := at(rank, c), at(ring[(i+1)%4], c)
					if int(a.rank) != rank || int(a.index) != i || a.next != b.rank || b.prev != a.rank {
						t.Errorf("channel %d rank %d: %+v", c, rank, a)
					}
					if a.nextTail != b.tail || b.prevHead != a.head || a.send != b.recv || used[a.head] || used[b.tail] {
						t.Errorf("channel %d: rank %d and its next disagree: %+v %+v", c, rank, a, b)
					}
					used[a.head], used[b.tail] = true, true
				}
			}
			err = ex.Can(allreduce.Ring, allreduce.LL128)
			if (err == nil) != (name == "peers") {
				t.Errorf("LL128: %v", err)
			}
			if notes := strings.Join(ex.Notes(), "\n"); strings.Contains(notes, "switched off") != (name == "staged") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestIrregularParts(t *testing.T) {
	w := &allreduce.Work{Count: 60, DType: allreduce.Float32, Threads: 96, Parts: []allreduce.Part{
		{Channel: 2, Count: 20, ChunkBytes: 32}, {Channel: 0, Offset: 20, Count: 40, ChunkBytes: 64}}}
	k, parts := encodeWork(w, 4)
	if k.mask != 0b101 || len(parts) != 3 || parts[2] != (partWire{0, 20, 8}) || parts[0] != (partWire{20, 40, 16}) {
		t.Errorf("mask %b, parts %+v", k.mask, parts)
	}
}

func TestAverages(t *testing.T) {
	for _, c := range []struct {
		t      allreduce.DType
		n      int
		divide uint32
		scalar uint64
	}{{allreduce.Int32, 3, 3, 0}, {allreduce.Float32, 4, 0, 0x3e800000}, {allreduce.Float16, 2, 0, 0x3800}, {allreduce.BFloat16, 2, 0, 0x3f00}, {allreduce.Float64, 2, 0, 0x3fe0000000000000}} {
		_, scale, divide, scalar := recipe(c.t, allreduce.Avg, c.n)
		if (scale == 1) != c.t.IsFloat() || divide != c.divide || scalar != c.scalar {
			t.Errorf("%v over %d: scale %d, divide %d, scalar %#x", c.t, c.n, scale, divide, scalar)
		}
	}
}

func TestDoesNotFit(t *testing.T) {
	m, _ := newMachine(t, 1)
	m.SMs = 8
	drv, err := cuda.New(m.API())
	if err != nil {
		t.Fatal(err)
	}
	l, p := plans(t, fourRanks(4), plan.Task{Count: 1 << 22, DType: allreduce.Float32})
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if _, err := trial.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "use at most 2 channels") {
		t.Errorf("16 blocks on 8 multiprocessors: %v", err)
	}
	if most, err := ex.MostChannels(p); most != 2 || err != nil {
		t.Errorf("%d channels fit, %v; want 2", most, err)
	}
}

func TestNoDevice(t *testing.T) {
	drv, err := cuda.New(cudafake.New(0).API())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(fourRanks(1), Options{Driver: drv}); !errors.Is(err, allreduce.ErrNoDevice) {
		t.Errorf("got %v", err)
	}
}

// Whatever call fails while an executor is made, nothing must be left behind.
func TestFailedStartReleasesAll(t *testing.T) {
	for _, call := range []string{"PrimaryRetain", "StreamCreate", "EventCreate", "MemAlloc", "MemHostAlloc", "ModuleLoadDataEx", "MemcpyHtoD", "CtxSetCurrent"} {
		m, drv := newMachine(t, 2)
		m.Fail[call] = 999
		if _, err := New(fourRanks(2), Options{Driver: drv, NoP2P: call == "MemHostAlloc"}); err == nil {
			t.Errorf("%s failed, and New did not", call)
		}
		if m.Live() != 0 || m.Contexts() != 0 {
			t.Errorf("%s failed: %d allocations and %d contexts left", call, m.Live(), m.Contexts())
		}
	}
}
