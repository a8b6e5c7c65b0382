package gpu

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
)

// Many goroutines write, set and read parts of buffers on two GPUs at once: each
// must find what it wrote, pinned memory stays within its limit, and Close gives
// it back.
func TestBuffersFromManyGoroutines(t *testing.T) {
	m, drv := newMachine(t, 2)
	l := fourRanks(1)
	ex, err := New(l, Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	before := m.Live()
	const part = 3<<20 + 5 // three pieces and a bit
	var bufs []allreduce.Buffer
	for rank := range 4 {
		b, err := ex.Alloc(rank, 8*part)
		if err != nil {
			t.Fatal(err)
		}
		bufs = append(bufs, b)
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			b, off := bufs[i%4], int64(i/4)*part
			want, got := make([]byte, part), make([]byte, part)
			for k := range want {
				want[k] = byte(k>>10*7 + k*(2*i+1))
			}
			if err := b.Write(want, off); err != nil {
				t.Error(err)
			}
			if i%3 == 0 {
				copy(want[100:], bytes.Repeat([]byte{7}, 1000))
				if err := b.(allreduce.Setter).Set(7, off+100, 1000); err != nil {
					t.Error(err)
				}
			}
			if err := b.Read(got, off); err != nil || !bytes.Equal(got, want) {
				t.Errorf("part %d: %v, or other bytes", i, err)
			}
		})
	}
	wg.Wait()
	if lifts := m.Live() - before - 4; lifts < 1 || lifts > mostLifts {
		t.Errorf("%d pieces of pinned memory, want at most %d", lifts, mostLifts)
	}
	if err := ex.Close(); err != nil || m.Live() != 0 {
		t.Errorf("%v, %d allocations left", err, m.Live())
	}
}

// What is out of bounds, or gone, is refused and changes nothing.
func TestBufferBounds(t *testing.T) {
	_, drv := newMachine(t, 1)
	ex, err := New(fourRanks(1), Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	b, err := ex.Alloc(1, 100)
	if err != nil {
		t.Fatal(err)
	}
	set := b.(allreduce.Setter).Set
	for name, err := range map[string]error{
		"write past the end": b.Write(make([]byte, 2), 99), "read before": b.Read(make([]byte, 1), -1),
		"set past the end": set(1, 50, 51), "set less than nothing": set(1, 0, -1),
	} {
		if err == nil || !strings.Contains(err.Error(), "of a buffer of 100") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := set(1, 100, 0); err != nil {
		t.Errorf("nothing at the end: %v", err)
	}
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{b.Write([]byte{1}, 0), b.Read(make([]byte, 1), 0), set(1, 0, 1)} {
		if err == nil || !strings.Contains(err.Error(), "was freed") {
			t.Errorf("after Free: %v", err)
		}
	}
}

// Memory that a GPU does not have is told as such, with what is left, and is no
// buffer; the executor goes on.
func TestOutOfMemory(t *testing.T) {
	m, drv := newMachine(t, 1)
	ex, err := New(fourRanks(1), Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	live := m.Live()
	_, err = ex.Alloc(3, 1<<40)
	if !errors.Is(err, syscall.ENOMEM) || !cuda.HasCode(err, cuda.OutOfMemory) || !strings.Contains(err.Error(), "rank 3") || !strings.Contains(err.Error(), "MiB left") {
		t.Errorf("got %v", err)
	}
	if m.Live() != live {
		t.Errorf("%d allocations more", m.Live()-live)
	}
	if err := ex.Close(); err != nil || m.Live() != 0 {
		t.Errorf("%v, %d allocations left", err, m.Live())
	}
	m.Memory = 1000
	if _, err := New(fourRanks(1), Options{Driver: drv}); !errors.Is(err, syscall.ENOMEM) || !strings.Contains(err.Error(), "FIFOs of 1 channels") || m.Live() != 0 {
		t.Errorf("%v, %d allocations left", err, m.Live())
	}
}

// Pinned memory that is not to be had is an error of the transfer.
func TestNoPinnedMemory(t *testing.T) {
	m, drv := newMachine(t, 1)
	ex, err := New(fourRanks(1), Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	b, err := ex.Alloc(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	m.Fail["MemHostAlloc"] = 2
	if err := b.Write([]byte{1}, 0); err == nil || !strings.Contains(err.Error(), "cuMemHostAlloc") {
		t.Errorf("got %v", err)
	}
}
