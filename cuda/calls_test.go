package cuda_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// kit is one of each thing that a context makes.
type kit struct {
	c    *cuda.Context
	s    *cuda.Stream
	e    *cuda.Event
	m    *cuda.Module
	f    *cuda.Function
	p    cuda.Ptr
	host []byte
}

func makeKit(c *cuda.Context) (k kit, err error) {
	k = kit{c: c, host: make([]byte, 64)}
	var errs [5]error
	k.s, errs[0] = c.NewStream()
	k.e, errs[1] = c.NewEvent()
	k.p, errs[2] = c.Alloc(64)
	k.m, errs[3] = c.Load([]byte("ptx"))
	if err := errors.Join(errs[:]...); err != nil {
		return k, err
	}
	k.f, errs[4] = k.m.Function("ring")
	return k, errs[4]
}

// withKit does something with a kit on the context's thread.
func withKit(c *cuda.Context, f func(k kit) error) error {
	return c.Do(func() error {
		k, err := makeKit(c)
		if err != nil {
			return err
		}
		return f(k)
	})
}

func second[T any](_ T, err error) error { return err }

// calls are all that can be asked of a context and what it makes, by the driver's
// name. The last ones destroy what the others use.
var calls = []struct {
	symbol string
	do     func(k kit) error
}{
	{"cuMemAlloc", func(k kit) error { return second(k.c.Alloc(8)) }},
	{"cuMemHostAlloc", func(k kit) error { return second(k.c.AllocHost(8)) }},
	{"cuMemGetInfo", func(k kit) error { _, _, err := k.c.MemInfo(); return err }},
	{"cuMemcpyHtoD", func(k kit) error { return k.c.Upload(k.p, k.host) }},
	{"cuMemcpyDtoH", func(k kit) error { return k.c.Download(k.host, k.p) }},
	{"cuMemcpyAsync", func(k kit) error { return k.s.Copy(k.p, k.p, 8) }},
	{"cuMemsetD8Async", func(k kit) error { return k.s.Fill(k.p, 1, 8) }},
	{"cuMemHostRegister", func(k kit) error { return second(k.c.RegisterHost(k.host)) }},
	{"cuMemHostUnregister", func(k kit) error { return k.c.UnregisterHost(k.host) }},
	{"cuPointerGetAttribute", func(k kit) error { _, _, err := k.c.Where(k.p); return err }},
	{"cuIpcGetMemHandle", func(k kit) error { return second(k.c.Export(k.p)) }},
	{"cuIpcOpenMemHandle", func(k kit) error { return second(k.c.Import(cuda.IPCHandle{})) }},
	{"cuIpcCloseMemHandle", func(k kit) error { return k.c.Drop(0) }},
	{"cuCtxSynchronize", func(k kit) error { return k.c.Synchronize() }},
	{"cuCtxEnablePeerAccess", func(k kit) error { return k.c.EnablePeer(k.c) }},
	{"cuCtxDisablePeerAccess", func(k kit) error { return k.c.DisablePeer(k.c) }},
	{"cuStreamCreate", func(k kit) error { return second(k.c.NewStream()) }},
	{"cuStreamSynchronize", func(k kit) error { return k.s.Synchronize() }},
	{"cuStreamQuery", func(k kit) error { return second(k.s.Done()) }},
	{"cuStreamWaitEvent", func(k kit) error { return k.s.Wait(k.e) }},
	{"cuStreamWaitValue32", func(k kit) error { return second(k.s.WaitValue(k.p, 1)) }},
	{"cuEventCreate", func(k kit) error { return second(k.c.NewEvent()) }},
	{"cuEventRecord", func(k kit) error { return k.e.Record(k.s) }},
	{"cuEventQuery", func(k kit) error { return second(k.e.Reached()) }},
	{"cuEventElapsedTime", func(k kit) error { return second(k.e.Since(k.e)) }},
	{"cuModuleLoadDataEx", func(k kit) error { return second(k.c.Load([]byte("ptx"))) }},
	{"cuModuleGetFunction", func(k kit) error { return second(k.m.Function("tree")) }},
	{"cuFuncGetAttribute", func(k kit) error { return second(k.f.Resources()) }},
	{"cuOccupancyMaxActiveBlocksPerMultiprocessor", func(k kit) error { return second(k.f.Resident(64)) }},
	{"cuLaunchKernel", func(k kit) error { return k.f.Launch(k.s, cuda.Grid{Blocks: 1, Threads: 32}) }},
	{"cuLaunchCooperativeKernel", func(k kit) error { return k.f.Launch(k.s, cuda.Grid{Blocks: 1, Threads: 32, Cooperative: true}) }},
	{"cuGraphLaunch", func(k kit) error {
		g, err := k.s.Capture(func() error { return nil })
		if err != nil {
			return err
		}
		return errors.Join(g.Launch(k.s), g.Destroy())
	}},
	{"cuModuleUnload", func(k kit) error { return k.m.Unload() }},
	{"cuMemFree", func(k kit) error { return k.c.Free(k.p) }},
	{"cuEventDestroy", func(k kit) error { return k.e.Destroy() }},
	{"cuStreamDestroy", func(k kit) error { return k.s.Destroy() }},
}

// Whatever call the driver refuses, the error says which it was, with the
// driver's number, and the context goes on.
func TestRefusedCallsAreNamed(t *testing.T) {
	fields := map[string]string{} // by symbol
	for _, name := range cudafake.Fields() {
		fields[cudafake.Symbol(name)] = name
	}
	for _, call := range calls {
		if fields[call.symbol] == "" {
			t.Errorf("the driver has no %s", call.symbol)
			continue
		}
		fake := cudafake.New(1)
		c := open(t, fake)
		err := withKit(c, func(k kit) error {
			fake.FailNext(1, 777, fields[call.symbol])
			err := call.do(k)
			var refused *cuda.Error
			if !errors.As(err, &refused) || refused.Call != call.symbol || refused.Code != 777 {
				t.Errorf("%s refuses: %v", call.symbol, err)
			}
			return k.s.Fill(k.p, 0, 0)
		})
		if err != nil {
			t.Errorf("after %s: %v", call.symbol, err)
		}
	}
}

// What was made and not destroyed is left, and told by its kind; what was destroyed
// is not known any more.
func TestFakeKnowsWhatIsLeft(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := withKit(c, func(k kit) error {
		if left := fake.Left(); left != "1 allocation, 1 context, 1 event, 1 module, 1 stream" {
			t.Errorf("left are %s", left)
		}
		if err := errors.Join(k.m.Unload(), k.e.Destroy(), k.s.Destroy(), k.c.Free(k.p)); err != nil {
			return err
		}
		for what, err := range map[string]error{
			"a module": second(k.m.Function("ring")), "a module again": k.m.Unload(), "a mark": k.e.Destroy(), "a queue": k.s.Synchronize(),
			"a queue again": k.s.Destroy(), "memory": k.c.Free(k.p), "an import": k.c.Drop(5),
			"a launch": k.f.Launch(k.s, cuda.Grid{Blocks: 1, Threads: 32}),
		} {
			if err == nil {
				t.Errorf("%s that is gone was used", what)
			}
		}
		return nil
	})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	if left := fake.Left(); left != "" {
		t.Errorf("left are %s", left)
	}
}

// Copies between addresses of devices arrive.
func TestCopy(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := withKit(c, func(k kit) error {
		copy(k.host, "from one place to another")
		got := make([]byte, 4)
		err := errors.Join(c.Upload(k.p, k.host), k.s.Copy(k.p+40, k.p+5, 3), k.s.Synchronize(), c.Download(got, k.p+39))
		if !bytes.Equal(got, []byte("\x00one")) {
			t.Errorf("read %q", got)
		}
		if err := k.s.Copy(k.p, k.p+60, 5); err == nil || !strings.Contains(err.Error(), "[5 bytes]") {
			t.Errorf("past the end: %v", err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A context that cannot be given back says so.
func TestCloseFails(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	fake.FailNext(1, 999, "PrimaryRelease")
	for range 2 {
		if err := c.Close(); !cuda.HasCode(err, 999) || !strings.Contains(fmt.Sprint(err), "cuDevicePrimaryCtxRelease") {
			t.Errorf("got %v", err)
		}
	}
}
