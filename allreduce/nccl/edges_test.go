package nccl_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/cuda"
)

// A run that does not end is given up after the limit, its communicator aborted,
// and everything can be closed.
func TestRunsThatDoNotEnd(t *testing.T) {
	lib, fake, drv := fakes(t, 2)
	fake.Fail["EventQuery"] = cuda.NotReady
	pl := twoRanks(t)
	ex := open(t, pl.Layout(), nccl.Options{Driver: drv, API: lib.api(), Limit: 20 * time.Millisecond})
	p, trial := small(t, ex, pl)
	if _, err := trial.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "GPU 0 does not answer after 20ms") || !strings.Contains(err.Error(), "GPU 1") {
		t.Errorf("error %v", err)
	}
	if len(lib.aborted) != 1 {
		t.Errorf("aborted %v", lib.aborted)
	}
	if err := errors.Join(trial.Close(), ex.Close()); err != nil || lib.live != 0 || fake.Live() != 0 || fake.Contexts() != 0 {
		t.Errorf("%v, %d communicators, %d allocations, %d contexts left", err, lib.live, fake.Live(), fake.Contexts())
	}
	if _, err := ex.Run(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
}

// An interrupt is looked at before anything is enqueued, and breaks nothing.
func TestInterruptsBreakNothing(t *testing.T) {
	lib, _, drv := fakes(t, 2)
	pl := twoRanks(t)
	ex := open(t, pl.Layout(), nccl.Options{Driver: drv, API: lib.api()})
	defer ex.Close()
	p, trial := small(t, ex, pl)
	defer trial.Close()
	r, err := ex.Capture(p, trial.Args(), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = trial.Run(ctx)
	_, again := r.Run(ctx, 1)
	if !errors.Is(err, context.Canceled) || !errors.Is(again, context.Canceled) || len(lib.calls) != 0 || len(lib.aborted) != 0 {
		t.Errorf("%v, %v, %d calls, aborted %v", err, again, len(lib.calls), lib.aborted)
	}
	if _, err := r.Run(context.Background(), 3); err != nil || len(lib.calls) != 2*2*3 {
		t.Errorf("after it: %v, %d calls", err, len(lib.calls))
	}
}

// Buffers give back what was written to them, and refuse what is not in them.
func TestBuffers(t *testing.T) {
	lib, _, drv := fakes(t, 2)
	ex := open(t, twoRanks(t).Layout(), nccl.Options{Driver: drv, API: lib.api()})
	defer ex.Close()
	rapid.Check(t, func(rt *rapid.T) {
		rank, size := rapid.IntRange(0, 1).Draw(rt, "rank"), rapid.Int64Range(1, 1000).Draw(rt, "size")
		b, err := ex.Alloc(rank, size)
		if err != nil {
			rt.Fatal(err)
		}
		off := rapid.Int64Range(0, size-1).Draw(rt, "offset")
		data := rapid.SliceOfN(rapid.Byte(), 1, int(size-off)).Draw(rt, "data")
		back := make([]byte, len(data))
		if err := errors.Join(b.Write(data, off), b.Read(back, off)); err != nil || !bytes.Equal(back, data) {
			rt.Fatalf("%v: %v comes back as %v", err, data, back)
		}
		if b.Rank() != rank || b.Size() != size {
			rt.Fatalf("rank %d, %d bytes", b.Rank(), b.Size())
		}
		for _, at := range []int64{-1, size, size - int64(len(data)) + 1} {
			if b.Write(data, at) == nil || b.Read(back, at) == nil {
				rt.Fatalf("%d bytes at %d of %d", len(data), at, size)
			}
		}
		if err := errors.Join(b.Free(), b.Free()); err != nil || b.Write(data, off) == nil {
			rt.Fatalf("after Free: %v", err)
		}
	})
	for _, c := range []struct {
		rank int
		size int64
	}{{-1, 8}, {2, 8}, {0, -8}} {
		if _, err := ex.Alloc(c.rank, c.size); err == nil {
			t.Errorf("%d bytes of rank %d", c.size, c.rank)
		}
	}
}

// NCCL accepts what it may choose itself, and says who it is.
func TestWhatNCCLCan(t *testing.T) {
	lib, _, drv := fakes(t, 2)
	pl := twoRanks(t)
	ex := open(t, pl.Layout(), nccl.Options{Driver: drv, API: lib.api()})
	defer ex.Close()
	for _, p := range allreduce.Protos() {
		for _, a := range []allreduce.Algo{allreduce.Ring, allreduce.Tree} {
			if err := ex.Can(a, p); err != nil {
				t.Errorf("%s/%s: %v", a, p, err)
			}
		}
		for _, a := range []allreduce.Algo{allreduce.OneShot, allreduce.TwoShot} {
			var no *allreduce.UnsupportedError
			if err := ex.Can(a, p); !errors.As(err, &no) {
				t.Errorf("%s/%s: %v", a, p, err)
			}
		}
	}
	if v, err := ex.Version(); err != nil || v != "2.28.9" || ex.Name() != "nccl" || ex.Layout() != pl.Layout() || len(ex.Local()) != 2 {
		t.Errorf("%v, %s %s of ranks %v", err, ex.Name(), v, ex.Local())
	}
	for number, want := range map[int32]string{2708: "2.7.8", 20903: "2.9.3", 22203: "2.22.3"} {
		api := lib.api()
		api.GetVersion = func(v *int32) nccl.Result { *v = number; return 0 }
		if v, err := api.Version(); err != nil || v != want {
			t.Errorf("%d is %q, %v, want %s", number, v, err, want)
		}
	}
	api := lib.api()
	api.GetVersion = func(*int32) nccl.Result { return 1 }
	if _, err := api.Version(); err == nil || !strings.Contains(err.Error(), "ncclGetVersion: fake trouble (1): the last words") {
		t.Errorf("error %v", err)
	}
}
