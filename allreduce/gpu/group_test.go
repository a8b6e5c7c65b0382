package gpu

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
)

// room is where processes that are goroutines of a test meet.
type room struct {
	mu    sync.Mutex
	parts []launch.Part
	here  int
	full  chan struct{}
}

func newRoom(n int) *room { return &room{parts: make([]launch.Part, n), full: make(chan struct{})} }

type guest struct {
	*room
	rank int
	ctx  context.Context
}

func (g *guest) Context() context.Context { return g.ctx }

func (g *guest) Exchange(ctx context.Context, data []byte, _ ...*os.File) ([]launch.Part, error) {
	g.mu.Lock()
	g.parts[g.rank] = launch.Part{Data: data}
	g.here++
	full, parts := g.full, g.parts
	if g.here == len(g.parts) {
		g.here, g.parts, g.full = 0, make([]launch.Part, len(g.parts)), make(chan struct{})
		close(full)
	}
	g.mu.Unlock()
	select {
	case <-full:
		return parts, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// joinAll runs one process for each rank.
func joinAll(t *testing.T, l *allreduce.Layout, drv *cuda.Driver, o Options) ([]*Executor, []error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	r := newRoom(l.NRanks)
	o.Driver = drv
	list, errs := make([]*Executor, l.NRanks), make([]error, l.NRanks)
	var wg sync.WaitGroup
	for rank := range l.NRanks {
		wg.Go(func() { list[rank], errs[rank] = Join(l, o, &guest{r, rank, ctx}, rank) })
	}
	wg.Wait()
	return list, errs
}

func closeAll(t *testing.T, list []*Executor) {
	t.Helper()
	var wg sync.WaitGroup
	for _, e := range list {
		wg.Go(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestJoinConnects(t *testing.T) {
	m, drv := newMachine(t, 4)
	l := fourRanks(2)
	list, errs := joinAll(t, l, drv, Options{})
	for rank, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", rank, err)
		}
	}
	at := func(rank, c int) channelWire {
		size := int(unsafe.Sizeof(channelWire{}))
		b := m.Bytes(list[rank].devices[0].channels+cuda.Ptr(c*size), size)
		return *(*channelWire)(unsafe.Pointer(&b[0]))
	}
	for c, ring := range l.Rings {
		for i, rank := range ring {
			a, b := at(rank, c), at(ring[(i+1)%4], c)
			if a.next != b.rank || b.prev != a.rank || a.nextTail != b.tail || b.prevHead != a.head || a.send != b.recv {
				t.Errorf("channel %d: rank %d and its next disagree: %+v %+v", c, rank, a, b)
			}
		}
	}
	if got := list[2].Local(); len(got) != 1 || got[0] != 2 {
		t.Errorf("rank 2 holds %v", got)
	}
	if err := list[0].Can(allreduce.TwoShot, allreduce.Simple); err == nil {
		t.Error("direct algorithms over processes")
	}
	closeAll(t, list)
	if m.Live() != 0 || m.Contexts() != 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
	if opened, closed := m.Count("IPCOpenHandle"), m.Count("IPCCloseHandle"); opened != 8 || closed != opened {
		t.Errorf("%d imports, %d closed; each of 4 ranks has 2 neighbours", opened, closed)
	}
}

func TestJoinRefusesASharedGPU(t *testing.T) {
	m, drv := newMachine(t, 4)
	_, errs := joinAll(t, fourRanks(1), drv, Options{Devices: []int{0, 1, 1, 2}})
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "ranks 1 and 2 are processes that share GPU 1") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if m.Live() != 0 || m.Contexts() != 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
}

// One process fails: all must hear of it, and none may wait for ever.
func TestJoinFailsTogether(t *testing.T) {
	m, drv := newMachine(t, 4)
	m.Fail["IPCOpenHandle"] = 999
	_, errs := joinAll(t, fourRanks(1), drv, Options{})
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "cuIpcOpenMemHandle") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if m.Live() != 0 {
		t.Errorf("%d allocations left", m.Live())
	}
}

// runAll runs a plan on all processes, which a process may change for itself.
func runAll(t *testing.T, list []*Executor, p *allreduce.Plan, change func(rank int, p *allreduce.Plan)) []error {
	t.Helper()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for rank, e := range list {
		wg.Go(func() {
			trial, err := verify.NewTrial(e, p, verify.Options{})
			if err != nil {
				errs[rank] = err
				return
			}
			mine := *p
			change(rank, &mine)
			_, errs[rank] = e.Run(context.Background(), &mine, trial.Args())
			errs[rank] = errors.Join(errs[rank], trial.Close())
		})
	}
	wg.Wait()
	return errs
}

// One process cannot prepare a run: the others do not wait for it, and all are
// ready for the next one.
func TestRunFailsTogether(t *testing.T) {
	m, drv := newMachine(t, 4)
	l, p := plans(t, fourRanks(1), plan.Task{Count: 1000, DType: allreduce.Float32})
	list, errs := joinAll(t, l, drv, Options{})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	errs = runAll(t, list, p, func(rank int, p *allreduce.Plan) {
		if rank == 2 {
			p.Threads = 31
		}
	})
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "blocks of 31 threads") || rank != 2 && !strings.HasPrefix(err.Error(), "rank 2: ") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if err := errors.Join(runAll(t, list, p, func(int, *allreduce.Plan) {})...); err != nil {
		t.Errorf("the next run: %v", err)
	}
	closeAll(t, list)
	if m.Live() != 0 {
		t.Errorf("%d allocations left", m.Live())
	}
}

// Hops between processes are not measured, and nothing breaks over that.
func TestNoHopsBetweenProcesses(t *testing.T) {
	_, drv := newMachine(t, 4)
	list, errs := joinAll(t, fourRanks(1), drv, Options{})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].MeasureHop(context.Background(), 0, 2, 1<<20); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	closeAll(t, list)
}
