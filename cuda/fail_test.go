package cuda_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// Close may be called again, and a closed context refuses every caller.
func TestCloseTwiceAndWhileOthersCall(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := c.Do(func() error { return nil }); err != nil {
					t.Errorf("before the end: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Do(func() error { t.Error("ran"); return nil }); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if fake.Count("PrimaryRelease") != 1 {
		t.Errorf("released %d times", fake.Count("PrimaryRelease"))
	}
}

// Do gives its function's own error, unchanged.
func TestDoReturnsTheError(t *testing.T) {
	c := open(t, cudafake.New(1))
	mine := errors.New("mine")
	if err := c.Do(func() error { return mine }); err != mine {
		t.Errorf("got %v", err)
	}
}

// Peer access that is there already is no error; any other refusal is, and
// names both GPUs.
func TestPeers(t *testing.T) {
	fake := cudafake.New(2)
	drv, err := cuda.New(fake.API())
	if err != nil {
		t.Fatal(err)
	}
	var c [2]*cuda.Context
	for i := range c {
		if c[i], err = drv.Devices()[i].Open(); err != nil {
			t.Fatal(err)
		}
		defer c[i].Close()
	}
	for code, ok := range map[cuda.Result]bool{0: true, cuda.PeerEnabled: true, 217: false} {
		fake.Fail["CtxEnablePeer"] = code
		err := c[0].Do(func() error { return c[0].EnablePeer(c[1]) })
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "GPU 0 to 1") {
			t.Errorf("code %d: %v", code, err)
		}
	}
	if can, err := drv.Devices()[0].CanAccess(drv.Devices()[1]); err != nil || !can {
		t.Errorf("access %v, %v", can, err)
	}
	if can, err := drv.Devices()[0].CanAccess(drv.Devices()[0]); err != nil || can {
		t.Errorf("to itself: access %v, %v", can, err)
	}
	fake.Fail["DeviceP2P"] = 1
	if drv.Devices()[0].NativeAtomics(drv.Devices()[1]) {
		t.Error("atomics that the driver could not tell of")
	}
}

// Pinned memory is zeroed, and is given back when devices cannot reach it.
func TestHostMemory(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := c.Do(func() error {
		m, err := c.AllocHost(100)
		if err != nil {
			return err
		}
		if len(m.Bytes) != 100 || !bytes.Equal(m.Bytes, make([]byte, 100)) || m.Ptr == 0 {
			t.Errorf("%d bytes at %#x", len(m.Bytes), m.Ptr)
		}
		for range 2 { // again: nothing happens
			if err := c.FreeHost(m); err != nil {
				return err
			}
		}
		if m.Bytes != nil || fake.Count("MemFreeHost") != 1 {
			t.Errorf("freed %d times", fake.Count("MemFreeHost"))
		}
		fake.Fail["MemHostPtr"] = 999
		if _, err := c.AllocHost(100); !cuda.HasCode(err, 999) {
			t.Errorf("got %v", err)
		}
		if _, err := c.RegisterHost(make([]byte, 100)); !cuda.HasCode(err, 999) {
			t.Errorf("registered: %v", err)
		}
		return c.FreeHost(nil)
	})
	if err != nil || fake.Live() != 0 {
		t.Errorf("%v, %d allocations left", err, fake.Live())
	}
	if on, off := fake.Count("MemHostRegister"), fake.Count("MemHostUnreg"); on != off {
		t.Errorf("registered %d times, unregistered %d times", on, off)
	}
}

// Nothing to do needs no driver; an address that is none is told.
func TestEmptyAndWildCopies(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := c.Do(func() error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		calls := len(fake.Calls())
		if err := errors.Join(c.Upload(1, nil), c.Download(nil, 1), s.Fill(1, 0, 0), c.Free(0)); err != nil {
			return err
		}
		if n := len(fake.Calls()) - calls; n != 0 {
			t.Errorf("%d calls for nothing", n)
		}
		for what, err := range map[string]error{
			"cuMemcpyHtoD": c.Upload(1, make([]byte, 12)), "cuMemcpyDtoH": c.Download(make([]byte, 12), 1),
			"cuMemsetD8Async": s.Fill(1, 0, 12),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), what) || !strings.Contains(err.Error(), "[12 bytes]") {
				t.Errorf("%s: %v", what, err)
			}
		}
		return s.Destroy()
	})
	if err != nil {
		t.Error(err)
	}
}

// Work that is not done yet is no error.
func TestNotReady(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := c.Do(func() error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		e, err := c.NewEvent()
		if err != nil {
			return err
		}
		for code, want := range map[cuda.Result]bool{0: true, cuda.NotReady: false} {
			fake.Fail["StreamQuery"], fake.Fail["EventQuery"] = code, code
			if done, err := s.Done(); err != nil || done != want {
				t.Errorf("queue, code %d: %v, %v", code, done, err)
			}
			if done, err := e.Reached(); err != nil || done != want {
				t.Errorf("mark, code %d: %v, %v", code, done, err)
			}
		}
		fake.Fail["StreamQuery"], fake.Fail["EventQuery"] = cuda.LaunchFailed, cuda.LaunchFailed
		if done, err := s.Done(); done || !cuda.HasCode(err, cuda.LaunchFailed) {
			t.Errorf("queue of a dead kernel: %v, %v", done, err)
		}
		if done, err := e.Reached(); done || !cuda.HasCode(err, cuda.LaunchFailed) {
			t.Errorf("mark behind a dead kernel: %v, %v", done, err)
		}
		if d, err := e.Since(e); err != nil || (d-10*time.Microsecond).Abs() > time.Nanosecond {
			t.Errorf("0.01 ms is %v, %v", d, err)
		}
		return errors.Join(e.Destroy(), s.Destroy())
	})
	if err != nil {
		t.Error(err)
	}
}

// A driver without an optional function is asked for nothing.
func TestOptionalFunctions(t *testing.T) {
	fake := cudafake.New(1)
	api := fake.API()
	api.StreamWaitValue, api.FuncLoad = nil, nil
	drv, err := cuda.New(api)
	if err != nil {
		t.Fatal(err)
	}
	c, err := drv.Devices()[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Do(func() error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		if waits, err := s.WaitValue(1, 1); waits || err != nil {
			t.Errorf("waits %v, %v", waits, err)
		}
		m, err := c.Load([]byte("ptx"))
		if err != nil {
			return err
		}
		_, err = m.Function("ring")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A kernel is found by name and loaded at once, and its limits are the device's.
func TestFunctions(t *testing.T) {
	fake := cudafake.New(1)
	fake.PerSM = 2
	c := open(t, fake)
	err := c.Do(func() error {
		m, err := c.Load([]byte("ptx"))
		if err != nil {
			return err
		}
		f, err := m.Function("tree")
		if err != nil {
			return err
		}
		if f.Name != "tree" || fake.Count("FuncLoad") != 1 {
			t.Errorf("%s was loaded %d times", f.Name, fake.Count("FuncLoad"))
		}
		if n, err := f.Resident(512); err != nil || n != 2*132 {
			t.Errorf("%d blocks at once, %v, want 264", n, err)
		}
		for field, call := range map[string]string{"ModuleFunction": "cuModuleGetFunction", "FuncLoad": "cuFuncLoad"} {
			fake.Fail[field] = 500
			if _, err := m.Function("none"); err == nil || !strings.HasPrefix(err.Error(), call) || !strings.Contains(err.Error(), "entry none") {
				t.Errorf("%s: %v", field, err)
			}
			fake.Fail[field] = 0
		}
		fake.Fail["FuncAttribute"] = 500
		if _, err := f.Resources(); !cuda.HasCode(err, 500) || !strings.Contains(err.Error(), "[tree]") {
			t.Errorf("resources: %v", err)
		}
		fake.OnLaunch = func(l cudafake.Launch) cuda.Result {
			if l.Params != unsafe.Pointer(nil) {
				t.Error("parameters of a launch without any")
			}
			return cuda.LaunchFailed
		}
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		if err := f.Launch(s, cuda.Grid{Blocks: 2, Threads: 64}); !cuda.HasCode(err, cuda.LaunchFailed) || !strings.HasPrefix(err.Error(), "cuLaunchKernel") {
			t.Errorf("launch: %v", err)
		}
		return m.Unload()
	})
	if err != nil {
		t.Error(err)
	}
}

// A capture that fails at any point leaves no graph behind.
func TestFailedCaptures(t *testing.T) {
	for field, graphs := range map[string]int{"StreamCapture": 0, "StreamEndCapture": 0, "GraphInstantiate": 1} {
		fake := cudafake.New(1)
		c := open(t, fake)
		fake.Fail[field] = 999
		err := c.Do(func() error {
			s, err := c.NewStream()
			if err != nil {
				return err
			}
			_, err = s.Capture(func() error { return nil })
			return err
		})
		if !cuda.HasCode(err, 999) || fake.Count("GraphDestroy") != graphs {
			t.Errorf("%s: %v, %d graphs destroyed, want %d", field, err, fake.Count("GraphDestroy"), graphs)
		}
	}
}

// Destroying a graph goes on to the end and tells the first failure.
func TestDestroyGoesOn(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := c.Do(func() error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		g, err := s.Capture(func() error { return nil })
		if err != nil {
			return err
		}
		fake.Fail["GraphExecDestroy"], fake.Fail["GraphDestroy"] = 1, 2
		return g.Destroy()
	})
	if !cuda.HasCode(err, 1) || !slices.Contains(fake.Calls(), "GraphDestroy") {
		t.Errorf("%v after %v", err, fake.Calls())
	}
}
