package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Variables of a launcher that cannot all be true are refused, and the one that
// is wrong is named with what it may be.
func TestContradictingVariables(t *testing.T) {
	torchrun := []string{"RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2"}
	with := func(list []string, change ...string) func(string) (string, bool) {
		return vars(append(change, list...)...)
	}
	for name, c := range map[string]struct {
		lookup func(string) (string, bool)
		want   string
	}{
		"a rank beyond the last":        {with(torchrun, "RANK=4"), `RANK="4": want a number from 0 to 3`},
		"more on this host than at all": {with(torchrun, "LOCAL_WORLD_SIZE=5"), `LOCAL_WORLD_SIZE="5": want a number from 1 to 4`},
		"nobody on this host":           {with(torchrun, "LOCAL_WORLD_SIZE=0"), `LOCAL_WORLD_SIZE="0"`},
		"a rank of another host":        {with(torchrun, "LOCAL_RANK=2"), `LOCAL_RANK="2": want a number from 0 to 1`},
		"no numbers":                    {with(torchrun, "WORLD_SIZE="), `WORLD_SIZE="": want a number from 1 to`},
		"too many":                      {with(torchrun, "WORLD_SIZE=100000"), `WORLD_SIZE="100000"`},
		"more hosts than processes": {vars("SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=3"),
			`SLURM_STEP_NUM_NODES="3": want a number from 1 to 2`},
		"a rank of another host by Slurm": {vars("SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=1", "SLURM_LOCALID=2"),
			`SLURM_LOCALID="2": want a number from 0 to 1`},
	} {
		w, ok, err := FromEnv(c.lookup)
		if err == nil || ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, %v", name, w, ok, err)
		}
	}
}

// Where one launcher has started another, the inner one's variables count.
func TestNestedLaunchers(t *testing.T) {
	torchrun := []string{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=x"}
	mpirun := []string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}
	srun := []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_NODES=2", "PMI_RANK=1", "PMI_SIZE=2"}
	for want, list := range map[string][]string{
		"torchrun 5 of 8": append(torchrun, mpirun...), "torchrun 5 of 8 ": append(torchrun, srun...),
		"Open MPI 1 of 2": append(mpirun, "RANK=0", "WORLD_SIZE=1"), // as a pod's variables are
		"Slurm 1 of 2":    srun,
	} {
		w, ok, err := FromEnv(vars(list...))
		if got := fmt.Sprintf("%s %d of %d", w.Launcher, w.Rank, w.Size); !ok || err != nil || got != strings.TrimSpace(want) {
			t.Errorf("%v: %s, %v, %v, want %s", list, got, ok, err, want)
		}
	}
}

// Whatever MASTER_ADDR is, a name or an address of either kind, processes meet at
// the port after MASTER_PORT; what names no port is refused with what was given.
func TestMeetingPoint(t *testing.T) {
	for _, c := range []struct{ host, port, want string }{
		{"node-1.cluster", "29500", "node-1.cluster:29501"}, {"10.0.0.1", "1", "10.0.0.1:2"}, {"fe80::1%eth0", "29500", "[fe80::1%eth0]:29501"},
		{"::1", "65534", "[::1]:65535"}, {"[::1]", "65534", "[::1]:65535"},
		{"h", "65535", ""}, {"h", "0", ""}, {"h", "-1", ""}, {"h", "http", ""}, {"h", "", ""},
	} {
		w, ok, err := FromEnv(vars("RANK=0", "WORLD_SIZE=4", "MASTER_ADDR="+c.host, "MASTER_PORT="+c.port))
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		network, address, err := w.meetingPoint()
		if (c.want == "") != (err != nil) || err == nil && (network != "tcp" || address != c.want) {
			t.Errorf("%s and %s: %s %s, %v, want %s", c.host, c.port, network, address, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", c.host+":"+c.port)) {
			t.Errorf("%s and %s: %v", c.host, c.port, err)
		}
	}
}

// Processes meet by a host's name, and by an address of the newer kind.
func TestJoinByName(t *testing.T) {
	for _, name := range []string{"localhost", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(name, "0"))
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		l.Close()
		w := World{Launcher: "test", Size: 2, LocalSize: 1, Job: name, Master: net.JoinHostPort(name, fmt.Sprint(freePort(t)-1))}
		for _, r := range meet(t, w) {
			defer r.Close()
		}
	}
}

// A process with a rank that there is already, or of a world of another size, is
// told so at once; so is rank 0 when it has waited in vain.
func TestJoinOfAContradictingProcess(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for want, stray := range map[string]World{
		"a second process with rank 1":                          {Rank: 1, Size: 3},
		"a process with rank 2 of 4, expected are 1 to 2 of 3":  {Rank: 2, Size: 4},
		"a process with rank 3 of 9, expected are 1 to 2 of 3 ": {Rank: 3, Size: 9},
	} {
		want = strings.TrimSpace(want)
		w := World{Launcher: "test", Size: 3, LocalSize: 3, Job: "j"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		stray.Launcher, stray.Job, stray.LocalSize = "test", "j", stray.Size
		right := w
		right.Rank = 1
		var wg sync.WaitGroup
		var hostErr error
		visitors := make(chan error, 2)
		wg.Go(func() { _, hostErr = Join(ctx, w) })
		for _, v := range []World{right, stray} { // of two with one rank, the later one is turned away
			wg.Go(func() {
				_, err := Join(ctx, v)
				visitors <- err
			})
		}
		if err := <-visitors; err == nil || !strings.Contains(err.Error(), want) || ctx.Err() != nil {
			t.Errorf("the process: %v, want %s", err, want)
		}
		cancel()
		wg.Wait()
		if hostErr == nil || !strings.Contains(hostErr.Error(), " of 3 came: context canceled") || !strings.Contains(hostErr.Error(), want) {
			t.Errorf("rank 0: %v, want %s", hostErr, want)
		}
	}
}

// joining has a process join, and leave at once; it tells how joining went.
func joining(ctx context.Context, w World) <-chan error {
	done := make(chan error, 1)
	go func() {
		r, err := Join(ctx, w)
		if err == nil {
			defer r.Close()
		}
		done <- err
	}()
	return done
}

// Two processes that both think that they are rank 0 do not take the meeting point
// from each other.
func TestTwoRanksZero(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	w := World{Launcher: "test", Size: 2, LocalSize: 2, Job: "z"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first := joining(ctx, w)
	path, err := socketPath(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := os.Lstat(path); err != nil; _, err = os.Lstat(path) {
		time.Sleep(time.Millisecond)
	}
	if _, err := Join(ctx, w); err == nil || !strings.Contains(err.Error(), "has rank 0 of this job, too") {
		t.Errorf("the second rank 0: %v", err)
	}
	w.Rank = 1
	r, err := Join(ctx, w)
	if err := errors.Join(err, <-first); err != nil {
		t.Fatalf("the others: %v", err)
	}
	r.Close()
}

// Strangers at an open port, that say nothing, leave, or talk of other things, do
// not keep a job from meeting.
func TestStrangers(t *testing.T) {
	port := freePort(t)
	w := World{Launcher: "test", Size: 2, LocalSize: 1, Job: "s", Master: fmt.Sprintf("127.0.0.1:%d", port-1)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first := joining(ctx, w)
	other, err := json.Marshal(card{Rank: 1, Size: 2, Job: "another"})
	if err != nil {
		t.Fatal(err)
	}
	for _, say := range []func(l *link){
		func(l *link) { l.conn.Close() },
		func(l *link) { _, _ = l.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")) },
		func(l *link) { _ = l.send(frame{kind: hello, payload: []byte("{")}) },
		func(l *link) { _ = l.send(frame{kind: hello, payload: other}) },
		func(*link) {}, // and stays
	} {
		conn := dial(t, fmt.Sprintf("127.0.0.1:%d", port))
		defer conn.Close()
		say(&link{conn: conn})
	}
	w.Rank = 1
	r, err := Join(ctx, w)
	if err := errors.Join(err, <-first); err != nil {
		t.Fatal(err)
	}
	r.Close()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	for range 5000 {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("nobody listens")
	return nil
}

// The meeting point of one host is where this user alone can go, also where the
// session's directory is gone; a name that no socket can have is told.
func TestMeetingPointOfOneHost(t *testing.T) {
	base := t.TempDir()
	w := World{Launcher: "test", Size: 2, LocalSize: 2, Job: "m"}
	t.Setenv("TMPDIR", base)
	for _, runtime := range []string{"", filepath.Join(base, "gone")} {
		t.Setenv("XDG_RUNTIME_DIR", runtime)
		_, address, err := w.meetingPoint()
		if dir := filepath.Dir(filepath.Dir(address)); err != nil || dir != base {
			t.Errorf("XDG_RUNTIME_DIR=%q: %s, %v", runtime, address, err)
		}
	}
	_, nameless, err := World{Launcher: "test", Size: 2, LocalSize: 2}.meetingPoint()
	if _, named, _ := w.meetingPoint(); err != nil || nameless == named {
		t.Errorf("jobs with a name and without meet at %s, %v", nameless, err)
	}
	long := filepath.Join(base, strings.Repeat("x", maxSocketPath))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", long)
	if _, err := Join(t.Context(), w); err == nil || !strings.Contains(err.Error(), "set XDG_RUNTIME_DIR to a directory with a shorter name") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(base, "file"))
	if _, err := Join(t.Context(), w); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
}
