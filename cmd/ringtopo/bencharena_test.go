package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/best"
	"github.com/ringtopo/ringtopo/allreduce/contest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// fakeMachine has GPUs whose kernels compute nothing, and an NCCL of two ranks that
// adds floats.
type fakeMachine struct {
	t       *testing.T
	gpus    *cudafake.Driver
	driver  *cuda.Driver
	others  string // the GPUs' name, if not the driver's
	windows bool   // NCCL has symmetric windows
	library error  // of opening NCCL
	// windowTrouble is the error of opening NCCL with symmetric windows; plays are
	// its AllReduces.
	windowTrouble error
	plays         int
	env           map[string]string
	opened        []engineOptions // of NCCL

	mu    sync.Mutex
	calls [2][]fakeCall // of NCCL's ranks, that wait for the other's
}

type fakeCall struct{ send, recv cuda.Ptr }

func newFakeMachine(t *testing.T, gpus int) *fakeMachine {
	t.Helper()
	m := &fakeMachine{t: t, gpus: cudafake.New(gpus), windows: true}
	var err error
	if m.driver, err = cuda.New(m.gpus.API()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, name := range []string{"NCCL_ALGO", "NCCL_PROTO"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	return m
}

func (m *fakeMachine) engines() []engine {
	return []engine{
		{name: "gpu", usable: usable, gpus: m.present, open: func(_ *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
			return gpu.New(l, gpu.Options{Driver: m.driver, Devices: o.devices, NoP2P: o.noP2P})
		}},
		{name: "nccl", usable: usable, gpus: m.present, open: func(_ *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
			m.opened, m.env = append(m.opened, o), ncclVariables(os.Environ())
			if m.library != nil {
				return nil, m.library
			}
			if o.symmetric && m.windowTrouble != nil {
				return nil, m.windowTrouble
			}
			return nccl.New(l, nccl.Options{Driver: m.driver, API: m.api(), Devices: o.devices, Symmetric: o.symmetric})
		}},
	}
}

func (m *fakeMachine) present() (gpu.Hardware, error) {
	return gpu.Hardware{Device: orWord(m.others, m.driver.Devices()[0].Name), Devices: len(m.driver.Devices()), CUDA: m.driver.Version()}, nil
}

// call adds up when both ranks have called.
func (m *fakeMachine) call(rank int, c fakeCall, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plays++
	m.calls[rank] = append(m.calls[rank], c)
	for len(m.calls[0]) > 0 && len(m.calls[1]) > 0 {
		a, b := m.calls[0][0], m.calls[1][0]
		m.calls[0], m.calls[1] = m.calls[0][1:], m.calls[1][1:]
		sum := make([]byte, 4*n)
		reduce.Reduce(sum, m.gpus.Bytes(a.send, 4*n), m.gpus.Bytes(b.send, 4*n), allreduce.Float32, allreduce.Sum)
		copy(m.gpus.Bytes(a.recv, 4*n), sum)
		copy(m.gpus.Bytes(b.recv, 4*n), sum)
	}
}

// api is the fake NCCL.
func (m *fakeMachine) api() *nccl.API {
	driver := m.gpus.API()
	a := &nccl.API{
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
		AllReduce: func(send, recv cuda.Ptr, n uint64, _, _ int32, comm, _ uintptr) nccl.Result {
			m.call(int(comm)-1, fakeCall{send, recv}, int(n))
			return 0
		},
	}
	if m.windows {
		a.MemAlloc = func(p *cuda.Ptr, n uint64) nccl.Result { return nccl.Result(driver.MemAlloc(p, n)) }
		a.MemFree = func(p cuda.Ptr) nccl.Result { return nccl.Result(driver.MemFree(p)) }
		a.WindowRegister = func(_ uintptr, _ cuda.Ptr, _ uint64, w *uintptr, _ int32) nccl.Result { *w = 1; return 0 }
		a.WindowDeregister = func(uintptr, uintptr) nccl.Result { return 0 }
	}
	return a
}

// bench runs the command on the fake machine.
func (m *fakeMachine) bench(args ...string) (out, notes string, err error) {
	m.t.Helper()
	var stdout, stderr strings.Builder
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, ctx: context.Background()}
	c, cmd := &benchCommand{}, &cobra.Command{}
	a.addBenchFlags(cmd, c)
	if err := cmd.ParseFlags(append(args, "--nchannels", "1")); err != nil { // few buffers
		m.t.Fatal(err)
	}
	c.engine.engines = m.engines()
	err = a.bench(cmd, c)
	if m.gpus.Live() != 0 || m.gpus.Contexts() != 0 {
		m.t.Errorf("%q: %d allocations and %d contexts left", args, m.gpus.Live(), m.gpus.Contexts())
	}
	return stdout.String(), stderr.String(), err
}

// GPUs that compute nothing lose no comparison: they are found out, after all
// was opened, and everything is closed again.
func TestPeerOnGPUs(t *testing.T) {
	m := newFakeMachine(t, 2)
	out, _, err := m.bench("--peer", "nccl", "-m", "h200x2", "--bytes", "4KiB")
	var wrong *contest.WrongError
	if !errors.As(err, &wrong) || wrong.Entry != contest.Ours || exitCode(err, true) != exitFailed || !strings.HasPrefix(err.Error(), "4096 bytes of float32: ") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"beside NCCL 2.28.9", "2 ranks on 2 x Fake GPU over nvlink, engine gpu", "CUDA 13.0", "symmetric"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if len(m.opened) != 2 || m.opened[0].symmetric || !m.opened[1].symmetric || len(m.opened[0].devices) != 2 || m.opened[0].devices[1] != 1 {
		t.Errorf("NCCL was opened with %+v", m.opened)
	}
	if m.env["NCCL_ALGO"] != "" {
		t.Errorf("NCCL was told %v", m.env)
	}
}

// A ring meets NCCL's ring by the same protocol: told before NCCL is opened, and
// without windows.
func TestPeerRing(t *testing.T) {
	m := newFakeMachine(t, 2)
	out, notes, err := m.bench("--peer", "nccl", "-m", "h200x2", "--bytes", "4KiB", "--algo", "ring", "--proto", "LL128")
	var wrong *contest.WrongError
	if !errors.As(err, &wrong) {
		t.Errorf("error %v", err)
	}
	if len(m.opened) != 1 || m.env["NCCL_ALGO"] != "Ring" || m.env["NCCL_PROTO"] != "LL128" {
		t.Errorf("NCCL was opened %d times and told %v", len(m.opened), m.env)
	}
	if !strings.Contains(out, "without NCCL's symmetric windows: NCCL_ALGO") || !strings.Contains(notes, "NCCL_ALGO=Ring NCCL_PROTO=LL128") {
		t.Errorf("out\n%s\nnotes %s", out, notes)
	}
}

// A table may name NCCL. Then it is our choice, in the comparison and elsewhere.
func TestNCCLIsTheBest(t *testing.T) {
	for _, symmetric := range []bool{false, true} {
		m := newFakeMachine(t, 2)
		path := tablesOf(t, best.Choice{Engine: best.NCCL, Symmetric: symmetric})
		out, _, err := m.bench("--peer", "nccl", "-m", "h200x2", "--bytes", "4KiB:16KiB:4", "--tuning", path, "--how", "stream", "--rounds", "2")
		if err != nil {
			t.Fatalf("symmetric %v: %v\n%s", symmetric, err, out)
		}
		want := best.Choice{Engine: best.NCCL, Symmetric: symmetric}.String() + " (table " + path + " of 2026-11-30)\n"
		if n := strings.Count(out, want); n != 4 {
			t.Errorf("symmetric %v: %d times %q in\n%s", symmetric, n, want, out)
		}
		m.opened = nil
		out, _, err = m.bench("--engine", "gpu", "-m", "h200x2", "--bytes", "4KiB", "--algo", "best", "--tuning", path, "--cycles", "1", "--iters", "1", "--warmup", "0")
		if err != nil || !strings.Contains(out, "nccl (table "+path+" of 2026-11-30)") {
			t.Errorf("symmetric %v: %v\n%s", symmetric, err, out)
		}
		if len(m.opened) != 2 || m.opened[0].symmetric != symmetric || len(m.opened[0].devices) != 0 {
			t.Errorf("symmetric %v: NCCL was opened with %+v", symmetric, m.opened)
		}
		// Without NCCL the size is left out, and the reason said.
		m.library = nccl.ErrNoLibrary
		out, _, err = m.bench("--engine", "gpu", "-m", "h200x2", "--bytes", "4KiB", "--algo", "best", "--tuning", path, "--cycles", "1", "--iters", "1")
		if exitCode(err, true) != exitUsage || !strings.Contains(out, "is the best by table "+path+" of 2026-11-30: no NCCL library") {
			t.Errorf("symmetric %v: %v\n%s", symmetric, err, out)
		}
	}
}

func TestPeerOfOldNCCL(t *testing.T) {
	m := newFakeMachine(t, 2)
	m.windows = false
	out, _, err := m.bench("--peer", "nccl", "-m", "h200x2", "--bytes", "4KiB")
	var wrong *contest.WrongError
	if !errors.As(err, &wrong) || !strings.Contains(out, "without NCCL's symmetric windows: this NCCL has no symmetric windows") {
		t.Errorf("error %v, out\n%s", err, out)
	}
}

func TestPeerRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		gpus    int
		library error
		args    []string
		code    int
		want    string
	}{
		"one GPU":        {1, nil, []string{"-m", "h200x2"}, exitUsage, "2 ranks on 1 GPUs: NCCL needs a GPU for each"},
		"one rank":       {2, nil, []string{"-m", "h200x2", "--gpus", "0"}, exitNoGPU, "NCCL needs a GPU for each of at least two ranks: there is one GPU here"},
		"many ranks":     {2, nil, []string{"-m", "v100x4"}, exitUsage, "4 ranks on 2 GPUs"},
		"several nodes":  {2, nil, []string{"-m", "h200x2", "--nodes", "2"}, exitUsage, "run on one node"},
		"no library":     {2, nccl.ErrNoLibrary, []string{"-m", "h200x2"}, exitNoGPU, "name the library with --libnccl"},
		"its own memory": {2, errors.New("unhandled cuda error"), []string{"-m", "h200x2"}, exitFailed, "unhandled cuda error"},
		"a bad table":    {2, nil, []string{"-m", "h200x2", "--tuning", "nowhere.json"}, exitUsage, "nowhere.json: no such file"},
	} {
		m := newFakeMachine(t, c.gpus)
		m.library = c.library
		_, _, err := m.bench(append([]string{"--peer", "nccl", "--bytes", "4KiB"}, c.args...)...)
		if err == nil || exitCode(err, true) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q with exit code %d", name, err, c.want, c.code)
		}
	}
}

// Tuning on GPUs believes no wrong bits, and does without NCCL where there is
// none, or no GPU for each rank.
func TestTuneOnGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		machine string
		library error
		opened  int
		note    string
	}{
		"two GPUs":         {"h200x2", nil, 2, ""},
		"without NCCL":     {"h200x2", nccl.ErrNoLibrary, 1, "without NCCL: no NCCL library"},
		"two ranks on one": {"v100x4", nil, 0, ""},
	} {
		m := newFakeMachine(t, 2)
		m.library = c.library
		_, notes, err := m.bench("--tune", "--engine", "gpu", "-m", c.machine, "--bytes", "4KiB")
		var wrong *contest.WrongError
		if !errors.As(err, &wrong) || exitCode(err, true) != exitFailed {
			t.Errorf("%s: error %v", name, err)
		}
		if len(m.opened) != c.opened || !strings.Contains(notes, c.note) {
			t.Errorf("%s: NCCL was opened %d times, notes %q", name, len(m.opened), notes)
		}
		path, _, _ := tuned(&benchCommand{out: &output{}})
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a table was kept at %s", name, path)
		}
	}
}

// Results name the GPUs they were measured on, whichever engine used them: in the
// file, above the table, in pictures, and where another result is set against them.
func TestResultsNameTheGPUs(t *testing.T) {
	for _, e := range []string{"gpu", "nccl"} {
		m := newFakeMachine(t, 2)
		tables := tablesOf(t, best.Choice{Engine: best.NCCL})
		args := []string{"--engine", e, "-m", "h200x2", "--bytes", "4KiB", "--cycles", "1", "--iters", "2", "--warmup", "0"}
		if e == "gpu" { // whose kernels compute nothing here
			args = append(args, "--algo", "best", "--tuning", tables)
		}
		name := filepath.Join(t.TempDir(), "r.json")
		if _, _, err := m.bench(append(args, "--out", name)...); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		res, err := readResult("resume", name)
		if err != nil || res.Host.GPUs != "2 x Fake GPU" || !strings.HasSuffix(res.Host.Driver, "CUDA 13.0") || res.Host.CPU == "" {
			t.Fatalf("%s: %v, %+v", e, err, res.Host)
		}
		out, _, err := m.bench(append(args, "--resume", name)...)
		if err != nil || !strings.Contains(out, "# ran on "+e+": 2 x Fake GPU, rings of h200x2\n") {
			t.Errorf("%s: %v\n%s", e, err, out)
		}
		if out, _, err = m.bench(append(args, "--resume", name, "-o", "svg")...); err != nil || !strings.Contains(out, e+": 2 x Fake GPU") {
			t.Errorf("%s: %v: the picture does not name the GPUs", e, err)
		}
		m.others = "Other GPU"
		out, _, err = m.bench(append(args, "--compare", name, "--tie", "1e9")...)
		if err != nil || !strings.Contains(out, "# not alike: GPUs: 2 x Fake GPU then, 2 x Other GPU now\n") {
			t.Errorf("%s: %v\n%s", e, err, out)
		}
	}
}

// A result in which NCCL ran does not say what it ran: no algorithm, no protocol.
func TestResultsOfNCCLNameNoAlgorithm(t *testing.T) {
	m := newFakeMachine(t, 2)
	tables := tablesOf(t, best.Choice{Engine: best.NCCL, Symmetric: true})
	peer, _, err := m.bench("--peer", "nccl", "-m", "h200x2", "--bytes", "4KiB", "--tuning", tables, "--how", "stream", "--rounds", "1", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	sweep, _, err := m.bench("--engine", "gpu", "-m", "h200x2", "--bytes", "4KiB", "--algo", "best", "--tuning", tables, "--cycles", "1", "--iters", "1", "--warmup", "0", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{peer: `"choice": {"engine": "nccl", "symmetric": true}`, sweep: "\"ran\": {\n        \"by\": \"nccl\",\n        \"from\": \"table "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// tablesOf is a file with one choice for two fake GPUs.
func tablesOf(t *testing.T, c best.Choice) string {
	t.Helper()
	f := &best.File{}
	f.Put(best.Table{Class: best.Class{Engine: "gpu", Device: "Fake GPU", Devices: 2, Ranks: 2, Link: best.NVLink}, Rows: []best.Row{{Choice: c}},
		Trial: best.Trial{Date: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}})
	path := filepath.Join(t.TempDir(), "t.json")
	if err := errors.Join(writeTables(path, f), os.Chmod(filepath.Dir(path), 0o700)); err != nil {
		t.Fatal(err)
	}
	return path
}
