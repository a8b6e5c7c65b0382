package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program is its own child.
func TestMain(m *testing.M) {
	started, err := Child(map[string]Worker{
		"exchange": exchange, "wait": wait, "hang": hang, "fail": fail, "quit": quit, "parent": parent,
	})
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case started:
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// exchange gives data and a file round three times and looks at all of it.
func exchange(r *Rank) error {
	shared, err := io.ReadAll(io.NewSectionReader(r.Files[0], 0, 100))
	if err != nil || string(shared) != "from the parent" || string(r.Setup) != "setup" {
		return fmt.Errorf("file %q, setup %q: %v", shared, r.Setup, err)
	}
	own, err := io.ReadAll(io.NewSectionReader(r.Files[1], 0, 100))
	if want := fmt.Sprintf("for rank %d", r.Number); err != nil || string(own) != want || len(r.Files) != 2 {
		return fmt.Errorf("its own of %d files is %q, want %q: %v", len(r.Files), own, want, err)
	}
	for round := range 3 {
		f, err := Memory(16)
		if err != nil {
			return err
		}
		defer f.Close()
		f.WriteAt([]byte{byte(10*round + r.Number)}, 3)
		all, err := r.Exchange(r.Context(), fmt.Appendf(nil, "%d of %d", r.Number, r.Size), f)
		if err != nil {
			return err
		}
		for i, p := range all {
			b := make([]byte, 1)
			if _, err := p.Files[0].ReadAt(b, 3); err != nil || int(b[0]) != 10*round+i {
				return fmt.Errorf("round %d: file of rank %d has %d: %v", round, i, b[0], err)
			}
			p.Files[0].Close()
			if want := fmt.Sprintf("%d of %d", i, r.Size); string(p.Data) != want {
				return fmt.Errorf("round %d: %q, want %q", round, p.Data, want)
			}
		}
	}
	return r.Barrier(r.Context())
}

// wait ends with the job.
func wait(r *Rank) error {
	<-r.Context().Done()
	return nil
}

// hang does not listen to anybody.
func hang(*Rank) error { select {} }

// fail ends with an error while the others wait.
func fail(r *Rank) error {
	if r.Number == 1 {
		return errors.New("out of ideas")
	}
	return r.Barrier(r.Context())
}

// quit leaves in peace while the others wait for it.
func quit(r *Rank) error {
	if r.Number == 1 {
		return nil
	}
	return r.Barrier(r.Context())
}

// parent starts a job of its own, writes its processes down and waits.
func parent(r *Rank) error {
	j, err := Start(Options{N: 2, Worker: "wait"})
	if err != nil {
		return err
	}
	defer j.Close()
	_, err = r.Files[0].WriteAt(fmt.Appendf(nil, "%8d%8d", j.Pid(0), j.Pid(1)), 0)
	if err != nil {
		return err
	}
	return hang(r)
}

func sharedFile(t *testing.T, content string) *os.File {
	t.Helper()
	f, err := Memory(int64(max(len(content), 16)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(int64(max(len(content), 1))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func start(t *testing.T, o Options) *Job {
	t.Helper()
	j, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// finished waits until all processes have ended.
func (j *Job) finished(t *testing.T, within time.Duration) {
	t.Helper()
	late := time.After(within)
	for rank, p := range j.procs {
		select {
		case <-p.done:
		case <-late:
			t.Fatalf("rank %d has not ended after %v", rank, within)
		}
	}
}

func TestExchange(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		var said bytes.Buffer
		var own []*os.File
		for rank := range n {
			own = append(own, sharedFile(t, fmt.Sprintf("for rank %d", rank)))
		}
		j := start(t, Options{N: n, Worker: "exchange", Setup: []byte("setup"), Files: []*os.File{sharedFile(t, "from the parent")}, Own: own, Stderr: &said})
		j.finished(t, 30*time.Second)
		if err := j.Lost(); err != nil || said.Len() > 0 {
			t.Errorf("%d ranks: %v %s", n, err, said.String())
		}
	}
}

// Files of their own for some ranks only are a mistake.
func TestTooFewFilesOfTheirOwn(t *testing.T) {
	if _, err := Start(Options{N: 2, Worker: "wait", Own: []*os.File{sharedFile(t, "one")}}); err == nil || !strings.Contains(err.Error(), "1 files of their own") {
		t.Errorf("got %v", err)
	}
}

// A killed process is named, and the others end within five seconds and say why.
func TestKilledProcess(t *testing.T) {
	var said bytes.Buffer
	j := start(t, Options{N: 4, Worker: "wait", Stderr: &said})
	time.Sleep(200 * time.Millisecond)
	syscall.Kill(j.Pid(2), syscall.SIGKILL)
	select {
	case <-j.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("nobody noticed")
	}
	var d *DeathError
	if err := j.Lost(); !errors.As(err, &d) || d.Rank != 2 || d.Pid != j.Pid(2) || d.Reason != "signal: killed" {
		t.Errorf("loss: %v", err)
	}
	j.finished(t, 5*time.Second)
	want := fmt.Sprintf("rank 2 (process %d) died: signal: killed", j.Pid(2))
	if got := strings.Count(said.String(), want); got != 3 {
		t.Errorf("%d others say why, want 3:\n%s", got, said.String())
	}
}

func TestFailingWorker(t *testing.T) {
	for worker, want := range map[string]string{"fail": "out of ideas", "quit": "rank 1 died: it ended while others waited"} {
		var said bytes.Buffer
		j := start(t, Options{N: 3, Worker: worker, Stderr: &said})
		j.finished(t, 10*time.Second)
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s: %s", worker, said.String())
		}
		if worker != "quit" {
			continue
		}
		select { // the others hear of it first
		case <-j.Done():
		case <-time.After(10 * time.Second):
			t.Error("a rank that left the others waiting is not missed")
		}
	}
}

func TestUnknownWorker(t *testing.T) {
	var said bytes.Buffer
	j := start(t, Options{N: 1, Worker: "none", Stderr: &said})
	j.finished(t, 10*time.Second)
	if !strings.Contains(said.String(), `unknown worker "none"`) {
		t.Errorf("said %q", said.String())
	}
}

// Processes that do not listen still end with their job.
func TestCloseEndsAll(t *testing.T) {
	for _, worker := range []string{"wait", "hang"} {
		j := start(t, Options{N: 2, Worker: worker})
		begin := time.Now()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 2*endTime {
			t.Errorf("%s: took %v", worker, took)
		}
		for rank := range j.Size() {
			if err := syscall.Kill(j.Pid(rank), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%s: rank %d is still there: %v", worker, rank, err)
			}
		}
	}
}

// When the parent is killed, its processes end too.
func TestKilledParent(t *testing.T) {
	f := sharedFile(t, strings.Repeat(" ", 16))
	j := start(t, Options{N: 1, Worker: "parent", Files: []*os.File{f}})
	var pids [2]int
	for begin := time.Now(); pids[1] == 0; time.Sleep(10 * time.Millisecond) {
		b := make([]byte, 16)
		f.ReadAt(b, 0)
		fmt.Sscan(string(b), &pids[0], &pids[1])
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the parent starts nobody")
		}
	}
	syscall.Kill(j.Pid(0), syscall.SIGKILL)
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if gone(pids[0]) && gone(pids[1]) {
			break
		}
		if time.Since(begin) > 5*time.Second {
			t.Fatal("orphans are left")
		}
	}
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestStartRefuses(t *testing.T) {
	if _, err := Start(Options{N: 0}); err == nil {
		t.Error("no processes were started")
	}
	if _, err := Start(Options{N: 2, Program: "/does/not/exist"}); err == nil {
		t.Error("a program that does not exist was started")
	}
}

func TestChildWithBadFile(t *testing.T) {
	for _, v := range []string{"x", "2", "9999"} {
		t.Setenv(variable, v)
		if started, err := Child(nil); !started || err == nil {
			t.Errorf("%s=%s: started %v, error %v", variable, v, started, err)
		}
	}
	os.Unsetenv(variable)
	if started, err := Child(nil); started || err != nil {
		t.Errorf("without a parent: started %v, error %v", started, err)
	}
}

func TestExchangeEndsWithContext(t *testing.T) {
	a, b := links(t)
	r := newRank(a, -1, 0, 2)
	go r.listen()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.Exchange(ctx, []byte("alone")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	b.conn.Close()
	<-r.Context().Done()
	var d *DeathError
	if !errors.As(r.Err(), &d) || d.Rank != -1 {
		t.Errorf("after the hub has gone: %v", r.Err())
	}
}
