package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// library is a fake NCCL that records AllReduces.
type library struct {
	mu      sync.Mutex
	calls   []string
	live    int // communicators
	aborted []uintptr
	windows int
	refuse  nccl.Result
	fail    nccl.Result // of AllReduces
}

func (l *library) api() *nccl.API {
	return &nccl.API{
		GetVersion:     func(v *int32) nccl.Result { *v = 22809; return 0 },
		GetErrorString: func(nccl.Result) string { return "fake trouble" },
		GetLastError:   func(uintptr) string { return "the last words\n" },
		CommInitAll: func(comms *uintptr, n int32, _ *int32) nccl.Result {
			if l.refuse == 0 {
				*comms = 1 // the others stay 0, as where NCCL fails half way
				l.live++
			}
			return l.refuse
		},
		CommDestroy: func(uintptr) nccl.Result { l.live--; return 0 },
		CommAbort: func(comm uintptr) nccl.Result {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.live--
			l.aborted = append(l.aborted, comm)
			return 0
		},
		AllReduce: func(send, recv cuda.Ptr, n uint64, dtype, op int32, _, stream uintptr) nccl.Result {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.calls = append(l.calls, fmt.Sprint(n, dtype, op, send == recv, stream != 0))
			return l.fail
		},
		WindowRegister: func(_ uintptr, _ cuda.Ptr, _ uint64, w *uintptr, flags int32) nccl.Result {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.windows++
			*w = uintptr(l.windows)
			return nccl.Result(1 - flags)
		},
		WindowDeregister: func(uintptr, uintptr) nccl.Result { l.windows--; return 0 },
	}
}

func fakes(t *testing.T, gpus int) (*library, *cudafake.Driver, *cuda.Driver) {
	t.Helper()
	fake := cudafake.New(gpus)
	drv, err := cuda.New(fake.API())
	if err != nil {
		t.Fatal(err)
	}
	return &library{}, fake, drv
}

func open(t *testing.T, l *allreduce.Layout, o nccl.Options) *nccl.Executor {
	t.Helper()
	ex, err := nccl.New(l, o)
	if err != nil {
		t.Fatal(err)
	}
	return ex
}

// small is a plan of eight numbers, and a trial of it.
func small(t *testing.T, ex allreduce.Executor, pl *plan.Planner) (*allreduce.Plan, *verify.Trial) {
	t.Helper()
	p := planOne(t, pl, plan.Task{Count: 8, DType: allreduce.Float32}, allreduce.Ring, allreduce.LL)
	trial, err := verify.NewTrial(ex, p, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p, trial
}

func TestCallsCarryTheWork(t *testing.T) {
	lib, fake, drv := fakes(t, 2)
	pl := twoRanks(t)
	ex := open(t, pl.Layout(), nccl.Options{Driver: drv, API: lib.api()})
	p := planOne(t, pl, plan.Task{Count: 77, DType: allreduce.BFloat16, Op: allreduce.Avg}, allreduce.Ring, allreduce.LL)
	trial, err := verify.NewTrial(ex, p, verify.Options{InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(lib.calls) != 2 || lib.calls[0] != "77 9 4 true true" || lib.calls[1] != lib.calls[0] {
		t.Errorf("calls %q", lib.calls)
	}
	for _, graph := range []bool{true, false} {
		lib.calls = nil
		r, err := ex.Capture(p, trial.Args(), 3, graph)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Run(context.Background(), 2); err != nil {
			t.Fatal(err)
		}
		if n := len(lib.calls); graph && n != 2*3 || !graph && n != 2*3*2 {
			t.Errorf("graph %v: %d calls", graph, n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	trial.Close()
	for range 2 {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}
	if lib.live != 0 || fake.Live() != 0 || fake.Contexts() != 0 {
		t.Errorf("%d communicators, %d allocations, %d contexts left", lib.live, fake.Live(), fake.Contexts())
	}
}

func TestRefusals(t *testing.T) {
	lib, fake, drv := fakes(t, 2)
	l := twoRanks(t).Layout()
	old := lib.api()
	old.MemAlloc, old.WindowRegister = nil, nil
	lib.refuse = 5
	for name, o := range map[string]nccl.Options{
		"no windows before 2.27":           {API: old, Symmetric: true},
		"a GPU for each rank":              {API: lib.api(), Devices: []int{0, 0}},
		"fake trouble (5): the last words": {API: lib.api()},
		"GPU 7":                            {API: lib.api(), Devices: []int{0, 7}},
	} {
		o.Driver = drv
		if _, err := nccl.New(l, o); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "no windows before ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fake.Live() != 0 || fake.Contexts() != 0 {
		t.Errorf("%d allocations, %d contexts left", fake.Live(), fake.Contexts())
	}
	none, err := cuda.New(cudafake.New(0).API())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nccl.New(l, nccl.Options{Driver: none, API: lib.api()}); !errors.Is(err, allreduce.ErrNoDevice) {
		t.Errorf("no GPU: %v", err)
	}
}

func TestLibrary(t *testing.T) {
	if _, err := nccl.Open("no-such-library.so"); !errors.Is(err, nccl.ErrNoLibrary) {
		t.Errorf("got %v", err)
	}
	if err := nccl.Usable("no-such-library.so"); !errors.Is(err, allreduce.ErrNoDevice) {
		t.Errorf("got %v", err)
	}
	lib := &library{}
	if v, err := lib.api().Version(); err != nil || v != "2.28.9" {
		t.Errorf("version %q, %v", v, err)
	}
}

// After a failed run the communicator is gone at once, so that nothing waits for
// its kernels; memory can be freed, and nothing more can be run.
func TestFailedRunsAreAborted(t *testing.T) {
	lib, fake, drv := fakes(t, 2)
	pl := twoRanks(t)
	ex := open(t, pl.Layout(), nccl.Options{Driver: drv, API: lib.api()})
	p, trial := small(t, ex, pl)
	r, err := ex.Capture(p, trial.Args(), 1, true)
	if err != nil {
		t.Fatal(err)
	}
	lib.fail = 3
	var refused *nccl.Error
	if _, err := trial.Run(context.Background()); !errors.As(err, &refused) || refused.Call != "ncclAllReduce" || refused.Code != 3 {
		t.Fatalf("error %v", err)
	}
	if len(lib.aborted) != 1 || lib.aborted[0] != 1 || lib.live != 0 { // the fake has one of two
		t.Errorf("aborted %v, %d communicators left", lib.aborted, lib.live)
	}
	lib.fail, lib.calls = 0, nil
	if _, err := trial.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "only Close may follow") || len(lib.calls) > 0 {
		t.Errorf("after it: %v, %d calls", err, len(lib.calls))
	}
	if _, err := r.Run(context.Background(), 1); err == nil {
		t.Error("a replay after it")
	}
	if err := errors.Join(r.Close(), trial.Close(), ex.Close()); err != nil {
		t.Error(err)
	}
	if len(lib.aborted) != 1 || lib.live != 0 || fake.Live() != 0 || fake.Contexts() != 0 {
		t.Errorf("aborted %v, %d communicators, %d allocations, %d contexts left", lib.aborted, lib.live, fake.Live(), fake.Contexts())
	}
}

// A window is one buffer of each rank, all alike; anything else reaches no rank,
// which would wait for the others.
func TestWindowsThatCannotBe(t *testing.T) {
	lib, fake, drv := fakes(t, 2)
	api := lib.api()
	driver := fake.API()
	api.MemAlloc = func(p *cuda.Ptr, n uint64) nccl.Result { return nccl.Result(driver.MemAlloc(p, n)) }
	api.MemFree = func(p cuda.Ptr) nccl.Result { return nccl.Result(driver.MemFree(p)) }
	ex := open(t, twoRanks(t).Layout(), nccl.Options{Driver: drv, API: api, Symmetric: true})
	alloc := func(rank int, size int64) allreduce.Buffer {
		b, err := ex.Alloc(rank, size)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	zero, one, large, freed := alloc(0, 64), alloc(1, 64), alloc(1, 128), alloc(1, 64)
	if err := freed.Free(); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]allreduce.Buffer{
		"none": nil, "one of two": {zero}, "three of two": {zero, one, one}, "crossed": {one, zero}, "unlike": {zero, large}, "freed": {zero, freed}, "missing": {zero, nil},
	} {
		if err := ex.Register(list); err == nil || !strings.Contains(err.Error(), "register: ") || lib.windows != 0 {
			t.Errorf("%s: %v, %d windows", name, err, lib.windows)
		}
	}
	if err := ex.Register([]allreduce.Buffer{zero, one}); err != nil || lib.windows != 2 {
		t.Errorf("%v, %d windows", err, lib.windows)
	}
	if err := ex.Close(); err != nil || lib.windows != 0 || fake.Live() != 0 {
		t.Errorf("%v, %d windows and %d allocations left", err, lib.windows, fake.Live())
	}
	if err := ex.Register([]allreduce.Buffer{zero, one}); err == nil {
		t.Error("registered after Close")
	}
}
