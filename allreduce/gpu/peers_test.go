package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// bouncing answers a machine's latency kernels as if every trip took 2 us, and
// counts the wrong words that it is told to.
func bouncing(m *machine, wrong uint32) {
	m.OnLaunch = func(l cudafake.Launch) cuda.Result {
		param := func(i int) unsafe.Pointer {
			return *(*unsafe.Pointer)(unsafe.Add(l.Params, i*int(unsafe.Sizeof(uintptr(0)))))
		}
		switch l.Kernel {
		case "bounce":
			trips := *(*uint32)(param(2))
			m.Poke(cuda.Ptr(*(*uint64)(param(5))), bytesOf(&[2]uint64{2000 * uint64(trips), uint64(trips)}))
		case "compare":
			m.Poke(cuda.Ptr(*(*uint64)(param(3))), bytesOf(&wrong))
		}
		return 0
	}
}

func TestPeers(t *testing.T) {
	m, drv := newMachine(t, 3)
	bouncing(m, 0)
	p, err := OpenPeers(Options{Driver: drv, Devices: []int{2, 0}}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Measure(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.GPUs) != 2 || r.GPUs[0].Ordinal != 2 || r.Reach[0][1] != "NVLink" || r.Reach[0][0] != "self" || !r.OK {
		t.Errorf("report %+v", r)
	}
	// The fake's events are 10 us apart, for four copies.
	want := float64(1<<20) / (10e3 / repeats)
	for _, got := range []float64{r.Write[0][1], r.Read[1][0], r.Both[0][1], r.OneToMany[0], r.ManyToOne[1]} {
		if math.Abs(got-want) > want/1000 {
			t.Errorf("%.2f GB/s, want %.2f", got, want)
		}
	}
	if r.Latency[0][1] != 1 {
		t.Errorf("latency %v us, want 1", r.Latency[0][1])
	}
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"schema":"ringtopo.p2p/v1"`) {
		t.Errorf("%s, %v", text, err)
	}
	if err := p.Close(); err != nil || m.Live() != 0 || m.Contexts() != 0 {
		t.Errorf("%v; %d allocations and %d contexts left", err, m.Live(), m.Contexts())
	}
}

// Peer access that the driver allows, and that corrupts: it must not be used.
func TestLyingPeerAccess(t *testing.T) {
	m, drv := newMachine(t, 2)
	bouncing(m, 7)
	p, err := OpenPeers(Options{Driver: drv}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Measure(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Reach[0][1] != "host" || r.Write[0][1] != 0 || !strings.Contains(strings.Join(r.Notes, " "), "arrived wrong") {
		t.Errorf("report %+v", r)
	}
}

func TestNoPeerAccess(t *testing.T) {
	m, drv := newMachine(t, 2)
	m.NoPeers = true
	ex, err := New(fourRanks(1), Options{Driver: drv})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if notes := strings.Join(ex.Notes(), " "); !strings.Contains(notes, "offers no peer access") {
		t.Errorf("notes %q", notes)
	}
	for _, p := range allreduce.Protos() {
		if err := ex.Can(allreduce.TwoShot, p); err == nil {
			t.Errorf("two-shot by %s through host memory", p)
		}
	}
	// Ranks 0 and 2 are on different GPUs.
	if _, err := ex.MeasureHop(context.Background(), 0, 2, 1<<20); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("measured a hop through host memory by peer access: %v", err)
	}
}

func TestPeersArguments(t *testing.T) {
	_, drv := newMachine(t, 2)
	for name, c := range map[string]struct {
		devices []int
		bytes   int64
	}{"twice": {[]int{1, 1}, 1 << 20}, "unknown": {[]int{2}, 1 << 20}, "too small": {nil, 16}, "odd": {nil, 5000}} {
		if p, err := OpenPeers(Options{Driver: drv, Devices: c.devices}, c.bytes); err == nil {
			t.Errorf("%s: accepted", name)
			p.Close()
		}
	}
	none, err := cuda.New(cudafake.New(0).API())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPeers(Options{Driver: none}, 1<<20); !errors.Is(err, allreduce.ErrNoDevice) {
		t.Errorf("no GPU: %v", err)
	}
}
