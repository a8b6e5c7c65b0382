package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// started is when this process came to its own code.
var started = time.Now()

// coldVariable tells a process to measure its start, and when it was started.
const coldVariable = "RINGTOPO_COLD"

// lap is how long a part of the start took.
type lap struct {
	Name string
	Took time.Duration
}

// watch takes the times of parts that follow each other.
type watch struct {
	laps []lap
	last time.Time
}

func (w *watch) lap(name string) {
	now := time.Now()
	w.laps = append(w.laps, lap{name, now.Sub(w.last)})
	w.last = now
}

// start goes from nothing to a second result, part by part.
func (w *watch) start(drv *cuda.Driver) (err error) {
	l := &allreduce.Layout{NRanks: max(2, len(drv.Devices())), BuffSize: allreduce.DefaultBuffSize()}
	for c := range 4 {
		ring := make([]int, l.NRanks)
		for i := range ring {
			ring[i] = (i*(1-c%2*2) + l.NRanks) % l.NRanks // there, and back
		}
		l.Rings = append(l.Rings, ring)
	}
	where, err := place(drv, l.NRanks, &Options{})
	if err != nil {
		return err
	}
	contexts := make([]*cuda.Context, len(drv.Devices()))
	err = atOnce(drv.Devices(), func(i int, d *cuda.Device) (err error) { // as openDevices does
		contexts[i], err = d.Open()
		return err
	})
	defer func() {
		for _, c := range contexts {
			if c != nil {
				_ = c.Close() // it only releases
			}
		}
	}()
	if err != nil {
		return err
	}
	w.lap("contexts")
	e := prepared(l, Options{}, drv)
	defer func() { err = errors.Join(err, e.Close()) }()
	for i, s := range e.steps(where) {
		if err := s.do(); err != nil {
			return err
		}
		w.lap(s.name)
		if i > 0 {
			continue
		}
		if err := e.load(between("pattern")); err != nil {
			return err
		}
		w.lap("compilation of the proof's kernels")
	}
	return w.firstResults(e)
}

// firstResults compiles a ring kernel and runs it twice, with all bits checked.
func (w *watch) firstResults(e *Executor) (err error) {
	pl, err := plan.New(plan.Nominal(e.layout), plan.DefaultSettings())
	if err != nil {
		return err
	}
	ring, ll := allreduce.Ring, allreduce.LL
	launches, err := pl.Plan([]plan.Task{{Count: 1000, DType: allreduce.Float32}}, plan.Force{Algo: &ring, Proto: &ll})
	if err != nil {
		return err
	}
	launches[0].Plan.Layout = e.layout
	if _, err := e.MostChannels(launches[0].Plan); err != nil { // on one GPU, too, it loads the kernel
		return err
	}
	w.lap("plan, compilation of the ring's kernel")
	trial, err := verify.NewTrial(e, launches[0].Plan, verify.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trial.Close()) }()
	if err := trial.Fill(); err != nil {
		return err
	}
	w.lap("buffers, data")
	for _, name := range []string{"first run", "second run"} {
		if _, err := trial.Run(context.Background()); err != nil {
			return err
		}
		w.lap(name)
	}
	r, err := trial.Check()
	if err == nil && !r.OK() {
		err = fmt.Errorf("%d wrong, the first %v", r.Wrong, r.First)
	}
	return err
}

// TestColdChild is the process that TestStartupCold starts.
func TestColdChild(t *testing.T) {
	since, err := strconv.ParseInt(os.Getenv(coldVariable), 10, 64)
	if err != nil {
		t.Skip(coldVariable + " is not set")
	}
	w := watch{last: time.Unix(0, since)}
	w.laps, w.last = append(w.laps, lap{"start of the process", started.Sub(w.last)}), started
	drv, err := cuda.Open()
	if err != nil {
		t.Fatal(err)
	}
	w.lap("driver (cuInit)")
	if err := w.start(drv); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(w.laps)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nlaps %s\n", text)
}

// coldStart measures the start of a process of its own.
func coldStart(env ...string) ([]lap, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestColdChild$", "-test.timeout=60s")
	cmd.Env = append(append(os.Environ(), env...), fmt.Sprintf("%s=%d", coldVariable, time.Now().UnixNano()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	_, text, ok := strings.Cut(string(out), "\nlaps ")
	text, _, _ = strings.Cut(text, "\n")
	var laps []lap
	if err := json.Unmarshal([]byte(text), &laps); !ok || err != nil {
		return nil, fmt.Errorf("no laps, %w, in\n%s", err, out)
	}
	return laps, nil
}

// TestStartupCold measures the time from the start of a process to the first
// result, with the driver's cache of compiled kernels and without.
func TestStartupCold(t *testing.T) {
	drv, err := cuda.Open()
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var columns [3][]lap
	for i, env := range []string{"CUDA_CACHE_DISABLE=1", "CUDA_CACHE_DISABLE=0", "CUDA_CACHE_DISABLE=0"} {
		if columns[i], err = coldStart(env); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d x %s, milliseconds\n%s", len(drv.Devices()), drv.Devices()[0].Name, coldTable([]string{"without the cache", "with it", "once more"}, columns[:]))
}

// coldTable has a row for each part, in milliseconds, and their sum up to the
// first result.
func coldTable(heads []string, columns [][]lap) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| part | %s |\n|---%s|\n", strings.Join(heads, " | "), strings.Repeat("|---", len(heads)))
	row := func(name string, value func(list []lap) time.Duration) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, list := range columns {
			fmt.Fprintf(&b, " %.1f |", value(list).Seconds()*1e3)
		}
		b.WriteString("\n")
	}
	sum := func(but ...string) func([]lap) time.Duration {
		return func(list []lap) (all time.Duration) {
			for _, x := range list {
				if !strings.HasPrefix(x.Name, "second") && !strings.Contains(strings.Join(but, ","), x.Name) {
					all += x.Took
				}
			}
			return all
		}
	}
	for i, x := range columns[0] {
		row(x.Name, func(list []lap) time.Duration { return list[i].Took })
	}
	row("start to first result", sum())
	row("of it beyond driver and contexts", sum("driver (cuInit)", "contexts", "start of the process"))
	return b.String()
}

// The parts are those of a real start, in a fake driver here, which computes
// nothing: all that can go wrong is the result.
func TestColdParts(t *testing.T) {
	m := cudafake.New(2)
	drv, err := cuda.New(m.API())
	if err != nil {
		t.Fatal(err)
	}
	w := watch{last: time.Now()}
	if err := w.start(drv); err == nil || !strings.Contains(err.Error(), "2000 wrong") {
		t.Errorf("got %v", err)
	}
	var names []string
	for _, x := range w.laps {
		names = append(names, x.Name)
	}
	want := "contexts; memory; compilation of the proof's kernels; words that are shared with the host; peer access, proved; connections; " +
		"plan, compilation of the ring's kernel; buffers, data; first run; second run"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("parts %s, want %s", got, want)
	}
	if m.Live() > 0 || m.Contexts() > 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
}

func TestColdTable(t *testing.T) {
	laps := []lap{{"driver (cuInit)", 100 * time.Millisecond}, {"contexts", 200 * time.Millisecond}, {"first run", 1500 * time.Microsecond}, {"second run", time.Second}}
	want := "| part | a | b |\n|---|---|---|\n| driver (cuInit) | 100.0 | 100.0 |\n| contexts | 200.0 | 200.0 |\n| first run | 1.5 | 1.5 |\n| second run | 1000.0 | 1000.0 |\n" +
		"| start to first result | 301.5 | 301.5 |\n| of it beyond driver and contexts | 1.5 | 1.5 |\n"
	if got := coldTable([]string{"a", "b"}, [][]lap{laps, laps}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
