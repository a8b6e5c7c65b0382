package contest_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// library is a fake NCCL of two ranks that adds floats, when both have called.
type library struct {
	fake    *cudafake.Driver
	mu      sync.Mutex
	waiting [2][]call // by rank
	calls   int
	windows int
	driver  *cuda.API
}

type call struct {
	send, recv cuda.Ptr
	n          uint64
}

func (l *library) api() *nccl.API {
	return &nccl.API{
		GetVersion:     func(v *int32) nccl.Result { *v = 22809; return 0 },
		GetErrorString: func(nccl.Result) string { return "fake trouble" },
		CommInitAll: func(comms *uintptr, n int32, _ *int32) nccl.Result {
			for i := range unsafe.Slice(comms, n) {
				unsafe.Slice(comms, n)[i] = uintptr(i + 1)
			}
			return 0
		},
		CommDestroy: func(uintptr) nccl.Result { return 0 },
		CommAbort:   func(uintptr) nccl.Result { return 0 },
		AllReduce: func(send, recv cuda.Ptr, n uint64, dtype, op int32, comm, _ uintptr) nccl.Result {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.calls++
			w := &l.waiting
			w[comm-1] = append(w[comm-1], call{send, recv, n})
			for len(w[0]) > 0 && len(w[1]) > 0 {
				l.add(w[0][0], w[1][0])
				w[0], w[1] = w[0][1:], w[1][1:]
			}
			return 0
		},
		MemAlloc: func(p *cuda.Ptr, n uint64) nccl.Result { return nccl.Result(l.driver.MemAlloc(p, n)) },
		MemFree:  func(p cuda.Ptr) nccl.Result { return nccl.Result(l.driver.MemFree(p)) },
		WindowRegister: func(_ uintptr, _ cuda.Ptr, _ uint64, w *uintptr, _ int32) nccl.Result {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.windows++
			*w = uintptr(l.windows)
			return 0
		},
		WindowDeregister: func(uintptr, uintptr) nccl.Result { return 0 },
	}
}

func (l *library) bytes(p cuda.Ptr, n int) []byte { return l.fake.Bytes(p, n) }

func (l *library) add(a, b call) {
	n := int(a.n) * 4
	sum := make([]byte, n)
	x, y := l.bytes(a.send, n), l.bytes(b.send, n)
	for i := 0; i < n; i += 4 {
		v := math.Float32frombits(binary.NativeEndian.Uint32(x[i:])) + math.Float32frombits(binary.NativeEndian.Uint32(y[i:]))
		binary.NativeEndian.PutUint32(sum[i:], math.Float32bits(v))
	}
	copy(l.bytes(a.recv, n), sum)
	copy(l.bytes(b.recv, n), sum)
}

func gpus(t *testing.T) (lib *library, pl *plan.Planner, ours *gpu.Executor, plain, symmetric *nccl.Executor) {
	t.Helper()
	fake := cudafake.New(2)
	api := fake.API()
	drv, err := cuda.New(api)
	if err != nil {
		t.Fatal(err)
	}
	lib = &library{fake: fake, driver: api}
	pl = planner(t, 2)
	ours, err = gpu.New(pl.Layout(), gpu.Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	for symmetrical, to := range map[bool]**nccl.Executor{false: &plain, true: &symmetric} {
		if *to, err = nccl.New(pl.Layout(), nccl.Options{Driver: drv, API: lib.api(), Symmetric: symmetrical}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*to).Close() })
	}
	return lib, pl, ours, plain, symmetric
}

// NCCL's calls work on our buffers, and on windows of its own.
func TestNCCLPlays(t *testing.T) {
	lib, pl, ours, plain, symmetric := gpus(t)
	p := planOne(t, pl, plan.Task{Count: 1000, DType: allreduce.Float32}, allreduce.TwoShot)
	m := &contest.Match{Hows: []contest.How{contest.Stream}, Rules: contest.Rules{Rounds: 2, Launches: 3},
		Entries: []contest.Entry{
			{Name: contest.Plain, Player: contest.ByNCCL(plain, false), Plan: p, Memory: contest.OnGPUs(ours, gpu.DirectTuning{})},
			{Name: contest.Symmetric, Player: contest.ByNCCL(symmetric, true), Plan: p},
		}}
	for _, s := range play(t, m)[0].Series {
		if len(s.Samples) != 2 || s.Median() <= 0 {
			t.Errorf("series %+v", s)
		}
	}
	if lib.windows != 4 {
		t.Errorf("%d windows, want one for each rank's input and output", lib.windows)
	}
	if lib.calls == 0 || len(lib.waiting[0]) != 0 || len(lib.waiting[1]) != 0 {
		t.Errorf("%d calls, some without a peer: %v", lib.calls, lib.waiting)
	}
}

// Fake GPUs compute nothing: the match must not believe them.
func TestKernelsThatDoNothingAreCaught(t *testing.T) {
	_, pl, ours, _, _ := gpus(t)
	p := planOne(t, pl, plan.Task{Count: 1000, DType: allreduce.Float32}, allreduce.TwoShot)
	for _, how := range []contest.How{contest.Graph, contest.Stream} {
		m := &contest.Match{Hows: []contest.How{how}, Rules: contest.Rules{Rounds: 2, Launches: 3},
			Entries: []contest.Entry{{Name: contest.Ours, Player: contest.OnGPUs(ours, gpu.DirectTuning{}), Plan: p}}}
		_, err := m.Play(context.Background())
		var wrong *contest.WrongError
		if !errors.As(err, &wrong) || wrong.Entry != contest.Ours || !strings.Contains(err.Error(), "before the rounds") {
			t.Errorf("%s: error %v", how, err)
		}
	}
}

// Two players of one executor launch as each is tuned.
func TestTuningIsThePlayers(t *testing.T) {
	lib, pl, ours, _, _ := gpus(t)
	grids := map[int]bool{}
	var mu sync.Mutex
	lib.fake.OnLaunch = func(l cudafake.Launch) cuda.Result {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(l.Kernel, "twoshot") {
			grids[l.Grid] = true
		}
		return 0
	}
	p := planOne(t, pl, plan.Task{Count: 1 << 20, DType: allreduce.Float32}, allreduce.TwoShot)
	for _, blocks := range []int{8, 16} {
		m := &contest.Match{Hows: []contest.How{contest.Stream}, Rules: contest.Rules{Rounds: 1, Launches: 1},
			Entries: []contest.Entry{{Name: contest.Ours, Player: contest.OnGPUs(ours, gpu.DirectTuning{Blocks: blocks}), Plan: p}}}
		if _, err := m.Play(context.Background()); err == nil {
			t.Error("fake kernels were believed")
		}
	}
	if !grids[8] || !grids[16] {
		t.Errorf("grids of %v blocks, want 8 and 16", grids)
	}
}
