package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// A wedge is a GPU that stops at some time: from then on what is queued there
// does not end, and calls that would wait for that do not come back, nor do
// calls that free or copy memory of any GPU.
type wedge struct {
	mu      sync.Mutex
	stream  uintptr          // of the GPU that has stopped; 0: none
	blocks  string           // a call that does not come back either
	apart   bool             // memory can be freed: that of other processes
	events  map[uintptr]bool // recorded there
	waiting []string         // calls that do not come back
	over    chan struct{}    // closed at the end of the test
}

// wedged is a fake machine that can stop.
func wedged(t *testing.T, gpus int) (*machine, *cuda.Driver, *wedge) {
	t.Helper()
	m, _ := newMachine(t, gpus)
	w := &wedge{events: map[uintptr]bool{}, over: make(chan struct{})}
	t.Cleanup(func() { close(w.over) })
	api := m.API()
	w.queues(api)
	w.memory(api)
	drv, err := cuda.New(api)
	if err != nil {
		t.Fatal(err)
	}
	return m, drv, w
}

// stop has a GPU stop; a call on its queue of the name blocks, too.
func (w *wedge) stop(d *device, blocks string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream, w.blocks = d.stream.Handle(), blocks
}

// hold does not return from a call on a queue that has stopped, if it is one
// that blocks; whether the queue has stopped it tells.
func (w *wedge) hold(call string, s uintptr) bool {
	w.mu.Lock()
	stopped, blocks := w.stream != 0 && s == w.stream, w.blocks == call
	w.mu.Unlock()
	if stopped && blocks {
		w.wait(call)
	}
	return stopped
}

func (w *wedge) wait(call string) {
	w.mu.Lock()
	w.waiting = append(w.waiting, call)
	w.mu.Unlock()
	<-w.over
}

// stuck are the calls that have not come back.
func (w *wedge) stuck() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

func (w *wedge) queues(api *cuda.API) {
	record, reached, done, sync, launch := api.EventRecord, api.EventQuery, api.StreamQuery, api.StreamSync, api.LaunchCooperative
	api.EventRecord = func(e, s uintptr) cuda.Result {
		if w.hold("EventRecord", s) {
			w.mu.Lock()
			w.events[e] = true
			w.mu.Unlock()
		}
		return record(e, s)
	}
	api.EventQuery = func(e uintptr) cuda.Result {
		w.mu.Lock()
		never := w.events[e]
		w.mu.Unlock()
		if never {
			return cuda.NotReady
		}
		return reached(e)
	}
	api.StreamQuery = func(s uintptr) cuda.Result {
		if w.hold("StreamQuery", s) {
			return cuda.NotReady
		}
		return done(s)
	}
	api.StreamSync = func(s uintptr) cuda.Result {
		w.hold(w.blocks, s)
		return sync(s)
	}
	api.LaunchCooperative = func(f uintptr, grid, block, shared uint32, s uintptr, p *unsafe.Pointer) cuda.Result {
		w.hold("LaunchCooperative", s)
		return launch(f, grid, block, shared, s, p)
	}
}

func (w *wedge) memory(api *cuda.API) {
	whenStopped := func(call string) {
		w.mu.Lock()
		stopped := w.stream != 0 && !w.apart
		w.mu.Unlock()
		if stopped {
			w.wait(call)
		}
	}
	free, freeHost, up, down := api.MemFree, api.MemFreeHost, api.MemcpyHtoD, api.MemcpyDtoH
	api.MemFree = func(p cuda.Ptr) cuda.Result { whenStopped("MemFree"); return free(p) }
	api.MemFreeHost = func(p unsafe.Pointer) cuda.Result { whenStopped("MemFreeHost"); return freeHost(p) }
	api.MemcpyHtoD = func(d cuda.Ptr, s unsafe.Pointer, n uint64) cuda.Result {
		whenStopped("MemcpyHtoD")
		return up(d, s, n)
	}
	api.MemcpyDtoH = func(d unsafe.Pointer, s cuda.Ptr, n uint64) cuda.Result {
		whenStopped("MemcpyDtoH")
		return down(d, s, n)
	}
}

// soon fails the test where f does not return: a minute is far beyond all limits.
func soon(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s does not return", what)
		return nil
	}
}

// named says whether err names one GPU as hung, by its type and in words.
func named(err error, ordinal int) bool {
	var h *HungError
	return errors.As(err, &h) && h.GPU == ordinal && h.After > 0 &&
		strings.Contains(err.Error(), fmt.Sprintf("GPU %d does not answer after", ordinal)) && strings.Count(err.Error(), "does not answer") == 1
}

// impatient is an executor that does not wait long.
func impatient(t *testing.T, drv *cuda.Driver, l *allreduce.Layout) *Executor {
	t.Helper()
	ex, err := New(l, Options{Driver: drv, Limit: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ex.grace = 20 * time.Millisecond
	return ex
}

// A GPU whose kernel does not end, or whose driver does not come back from a
// call, ends the run with its name. After that nothing waits for it, nor frees
// what it may write to: not buffers, replays or the executor.
func TestHungRun(t *testing.T) {
	for _, blocks := range []string{"", "LaunchCooperative", "EventRecord"} {
		for _, replayed := range []bool{false, true} {
			m, drv, w := wedged(t, 2)
			l := fourRanks(1)
			ex, p := impatient(t, drv, l), onChannels(t, l, allreduce.Ring, 0)
			buffers := func() (list []allreduce.Span) {
				for rank := range 4 {
					b, err := ex.Alloc(rank, 4<<20)
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, allreduce.Span{Buf: b})
				}
				return list
			}
			args := []allreduce.Args{{Send: buffers(), Recv: buffers()}}
			replay, err := ex.Capture(p, args, 1, false)
			if err != nil {
				t.Fatal(err)
			}
			live := m.Live()
			w.stop(ex.devices[1], blocks)
			err = soon(t, "run", func() error {
				if replayed {
					return second(replay.Run(context.Background(), 2))
				}
				return second(ex.Run(context.Background(), p, args))
			})
			if !named(err, 1) {
				t.Errorf("blocked by %q, replayed %v: %v", blocks, replayed, err)
			}
			for what, f := range map[string]func() error{
				"run":   func() error { return second(ex.Run(context.Background(), p, args)) },
				"write": func() error { return ex.devices[1].Do(func() error { return nil }) },
				"set":   func() error { return args[0].Recv[3].Buf.(allreduce.Setter).Set(1, 0, 1) },
			} {
				if err := soon(t, what, f); !named(err, 1) {
					t.Errorf("afterwards %s: %v", what, err)
				}
			}
			for what, f := range map[string]func() error{"free here": args[0].Send[0].Buf.Free, "free there": args[0].Recv[3].Buf.Free, "close replay": replay.Close} {
				if err := soon(t, what, f); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := soon(t, "close", ex.Close); !named(err, 1) {
				t.Errorf("close: %v", err)
			}
			if err := soon(t, "close again", ex.Close); err != nil {
				t.Errorf("close again: %v", err)
			}
			stuck := w.stuck()
			if blocks == "" && len(stuck) > 0 || blocks != "" && !slices.Equal(stuck, []string{blocks}) {
				t.Errorf("blocked by %q: calls that do not come back: %v", blocks, stuck)
			}
			if m.Live() != live {
				t.Errorf("%d of %d allocations are left: a kernel that does not end may write there", m.Live(), live)
			}
		}
	}
}

// A GPU that stops between runs is found by Close, which says so.
func TestHungClose(t *testing.T) {
	for _, blocks := range []string{"", "StreamQuery"} {
		_, drv, w := wedged(t, 3)
		ex := impatient(t, drv, fourRanks(1)) // on two of the GPUs
		w.stop(ex.devices[0], blocks)
		if err := soon(t, "close", ex.Close); !named(err, 0) {
			t.Errorf("blocked by %q: %v", blocks, err)
		}
	}
}

// A call that frees memory and does not come back is not waited for, either.
func TestHungFree(t *testing.T) {
	m, _ := newMachine(t, 2)
	over, stop := make(chan struct{}), make(chan struct{})
	api := m.API()
	unload := api.ModuleUnload
	api.ModuleUnload = func(h uintptr) cuda.Result {
		select {
		case <-stop:
			<-over
		default:
		}
		return unload(h)
	}
	drv, err := cuda.New(api)
	if err != nil {
		t.Fatal(err)
	}
	ex := impatient(t, drv, fourRanks(1))
	close(stop)
	if err := soon(t, "close", ex.Close); !named(err, 0) {
		t.Errorf("got %v", err)
	}
	close(over)
}

// Measurements do not wait for a GPU that has stopped.
func TestHungPeers(t *testing.T) {
	_, drv, w := wedged(t, 2)
	p, err := OpenPeers(Options{Driver: drv}, 1<<12)
	if err != nil {
		t.Fatal(err)
	}
	w.stop(p.devices[1], "")
	d := p.devices[1]
	if err := d.Do(func() error { return d.finish(time.Millisecond) }); !named(err, 1) {
		t.Errorf("measure: %v", err)
	}
	if err := soon(t, "close", p.Close); !named(err, 1) {
		t.Errorf("close: %v", err)
	}
	if stuck := w.stuck(); len(stuck) > 0 {
		t.Errorf("calls that do not come back: %v", stuck)
	}
}

// Of processes, each with a GPU, only that whose GPU has stopped is lost: the
// others free what they have.
func TestHungProcess(t *testing.T) {
	m, drv, w := wedged(t, 4)
	l := fourRanks(1)
	list, errs := joinAll(t, l, drv, Options{Limit: time.Millisecond})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		e.grace = 20 * time.Millisecond
	}
	w.apart = true
	w.stop(list[2].devices[0], "")
	each := m.Live() / len(list)
	errs = make([]error, len(list))
	var wg sync.WaitGroup
	for rank, e := range list {
		wg.Go(func() { errs[rank] = e.Close() })
	}
	wg.Wait()
	for rank, err := range errs {
		if rank == 2 && !named(err, 2) || rank != 2 && err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if m.Live() != each || m.Contexts() != 1 {
		t.Errorf("%d allocations and %d contexts left, want the %d of rank 2", m.Live(), m.Contexts(), each)
	}
}
