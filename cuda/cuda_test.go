package cuda_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// open gives context 0 of a fake machine.
func open(t *testing.T, fake *cudafake.Driver) *cuda.Context {
	t.Helper()
	drv, err := cuda.New(fake.API())
	if err != nil {
		t.Fatal(err)
	}
	dev, err := drv.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestDevices(t *testing.T) {
	drv, err := cuda.New(cudafake.New(3).API())
	if err != nil {
		t.Fatal(err)
	}
	if drv.Version() != 13000 || len(drv.Devices()) != 3 {
		t.Fatalf("version %d, %d devices", drv.Version(), len(drv.Devices()))
	}
	d := drv.Devices()[2]
	if d.Name != "Fake GPU" || d.BusID != "0000:03:00.0" || d.Major != 9 || d.SMs != 132 || !d.Cooperative {
		t.Errorf("device %+v", d)
	}
	if _, err := drv.Device(3); !errors.Is(err, cuda.ErrNoDevice) || !strings.Contains(err.Error(), "GPU 3") {
		t.Errorf("GPU 3: %v", err)
	}
}

func TestNoDriver(t *testing.T) {
	drv, err := cuda.Open()
	if err == nil {
		t.Skipf("this machine has a driver for CUDA %d", drv.Version())
	}
	if !errors.Is(err, cuda.ErrNoDriver) && !errors.Is(err, cuda.ErrNoDevice) {
		t.Errorf("an untyped error: %v", err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	for code, want := range map[cuda.Result]error{100: cuda.ErrNoDevice, 34: cuda.ErrNoDriver, 803: cuda.ErrOldDriver} {
		fake := cudafake.New(1)
		fake.Fail["Init"] = code
		if _, err := cuda.New(fake.API()); !errors.Is(err, want) {
			t.Errorf("cuInit answers %d: %v", code, err)
		}
	}
}

func TestCompilerLog(t *testing.T) {
	fake := cudafake.New(1)
	fake.Fail["ModuleLoadDataEx"] = cuda.InvalidPTX
	fake.CompilerLog = "ptxas fatal: line 3"
	c := open(t, fake)
	err := c.Do(func() error { _, err := c.Load([]byte("nonsense")); return err })
	if !cuda.HasCode(err, cuda.InvalidPTX) {
		t.Fatalf("got %v", err)
	}
	if short := err.Error(); strings.Contains(short, "line 3") || !strings.Contains(short, "8 bytes of PTX on GPU 0") {
		t.Errorf("short: %s", short)
	}
	if long := fmt.Sprintf("%+v", err); !strings.Contains(long, "ptxas fatal: line 3") {
		t.Errorf("long: %s", long)
	}
}

func TestMemory(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := c.Do(func() error {
		p, err := c.Alloc(1000)
		if err != nil {
			return err
		}
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		if err := s.Fill(p, 7, 1000); err != nil {
			return err
		}
		if err := c.Upload(p+10, []byte("ring")); err != nil {
			return err
		}
		var b [6]byte
		if err := c.Download(b[:], p+9); err != nil {
			return err
		}
		if string(b[:]) != "\x07ring\x07" {
			t.Errorf("read %q", b)
		}
		return c.Free(p)
	})
	if err != nil || fake.Live() != 0 {
		t.Errorf("%v, %d allocations left", err, fake.Live())
	}
}

func TestOutOfMemory(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	err := c.Do(func() error { _, err := c.Alloc(fake.Memory + 1); return err })
	if !cuda.HasCode(err, cuda.OutOfMemory) || !strings.Contains(err.Error(), "on GPU 0") {
		t.Errorf("got %v", err)
	}
}

func TestIPCHandle(t *testing.T) {
	c := open(t, cudafake.New(1))
	err := c.Do(func() error {
		p, err := c.Alloc(64)
		if err != nil {
			return err
		}
		h, err := c.Export(p)
		if err != nil {
			return err
		}
		q, err := c.Import(h)
		if q != p {
			t.Errorf("imported %#x, exported %#x", q, p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLaunch(t *testing.T) {
	fake := cudafake.New(1)
	var seen []string
	fake.OnLaunch = func(l cudafake.Launch) cuda.Result {
		p := *(*unsafe.Pointer)(l.Params)
		seen = append(seen, fmt.Sprint(l.Kernel, " ", l.Grid, l.Block, l.Cooperative, *(*uint32)(p)))
		return 0
	}
	c := open(t, fake)
	err := c.Do(func() error {
		m, err := c.Load([]byte("ptx"))
		if err != nil {
			return err
		}
		f, err := m.Function("ring")
		if err != nil {
			return err
		}
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		x := uint32(42)
		if err := f.Launch(s, cuda.Grid{Blocks: 12, Threads: 544}, unsafe.Pointer(&x)); err != nil {
			return err
		}
		if err := f.Launch(s, cuda.Grid{Blocks: 132, Threads: 96, Cooperative: true}, unsafe.Pointer(&x)); err != nil {
			return err
		}
		return f.Launch(s, cuda.Grid{Blocks: 133, Threads: 96, Cooperative: true}, unsafe.Pointer(&x))
	})
	if !cuda.HasCode(err, cuda.CoopTooLarge) || !strings.Contains(err.Error(), "ring, 133 blocks of 96 threads on GPU 0") {
		t.Errorf("too many blocks: %v", err)
	}
	if got := strings.Join(seen, "; "); got != "ring 12 544 false 42; ring 132 96 true 42" {
		t.Errorf("launches %s", got)
	}
}

func TestGraph(t *testing.T) {
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
		if err := g.Launch(s); err != nil {
			return err
		}
		if _, err := s.Capture(func() error { return errors.New("mine") }); err == nil || err.Error() != "mine" {
			t.Errorf("a failed capture: %v", err)
		}
		return g.Destroy()
	})
	if err != nil {
		t.Error(err)
	}
	if made, freed := fake.Count("StreamCapture"), fake.Count("GraphDestroy"); made != freed {
		t.Errorf("%d captures, %d graphs destroyed", made, freed)
	}
}

func TestClosedContext(t *testing.T) {
	fake := cudafake.New(1)
	c := open(t, fake)
	c.Close()
	if err := c.Do(func() error { return nil }); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if fake.Contexts() != 0 {
		t.Error("the primary context is still retained")
	}
}
