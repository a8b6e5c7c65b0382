package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// links are the two ends of a connection.
func links(t *testing.T) (a, b *link) {
	t.Helper()
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	other, err := unixConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); other.Close() })
	return &link{conn: ours}, &link{conn: other}
}

func TestFrames(t *testing.T) {
	a, b := links(t)
	f, err := Memory(8)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big := strings.Repeat("x", 1<<20)
	sent := []frame{{kind: part, rank: 3, payload: []byte("abc")}, {kind: end, rank: -1}, {kind: part, payload: []byte(big), files: []*os.File{f, f}}, {kind: dead, rank: 7}}
	go func() {
		for _, m := range sent {
			if err := a.send(m); err != nil {
				t.Error(err)
			}
		}
		a.conn.Close()
	}()
	for i, want := range sent {
		got, err := b.receive()
		if err != nil {
			t.Fatal(err)
		}
		if got.kind != want.kind || got.rank != want.rank || string(got.payload) != string(want.payload) || len(got.files) != len(want.files) {
			t.Errorf("frame %d: kind %d rank %d, %d bytes, %d files", i, got.kind, got.rank, len(got.payload), len(got.files))
		}
		closeAll(got.files)
	}
	if _, err := b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if err := b.send(frame{payload: make([]byte, maxPayload+1)}); err == nil {
		t.Error("too large a message was sent")
	}
}

// Whatever arrives, receive neither panics nor takes more memory than a message
// may have.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{3, 0, 1, 0, 2, 0, 0, 0, 'a', 'b'})
	f.Add([]byte{3, 9, 1, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		x, y := net.Pipe()
		go func() { x.Write(b); x.Close() }()
		l := &link{conn: y}
		for {
			if _, err := l.receive(); err != nil {
				return
			}
		}
	})
}

func vars(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		vars []string
		want World
	}{
		{[]string{"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=j1"},
			World{Launcher: "Open MPI", Rank: 2, Size: 4, LocalRank: 0, LocalSize: 2, Job: "PMIX_NAMESPACE=j1 "}},
		{[]string{"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500"},
			World{Launcher: "torchrun", Rank: 1, Size: 2, LocalRank: 1, LocalSize: 2, Job: "MASTER_PORT=29500 ", Master: "10.0.0.1:29500"}},
		{[]string{"PMI_RANK=0", "PMI_SIZE=3", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=3"},
			World{Launcher: "PMI", Rank: 0, Size: 3, LocalSize: 3}},
		{[]string{"SLURM_PROCID=5", "SLURM_STEP_NUM_TASKS=8", "SLURM_LOCALID=1", "SLURM_STEP_NUM_NODES=2", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "PMI_RANK=5", "PMI_SIZE=8"},
			World{Launcher: "Slurm", Rank: 5, Size: 8, LocalRank: 1, Job: "SLURM_JOB_ID=7 SLURM_STEP_ID=0 "}},
		{[]string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_LOCALID=1", "SLURM_STEP_NUM_NODES=1", "SLURM_STEP_ID=0"},
			World{Launcher: "Slurm", Rank: 1, Size: 2, LocalRank: 1, LocalSize: 2, Job: "SLURM_STEP_ID=0 "}},
	} {
		w, ok, err := FromEnv(vars(c.vars...))
		if !ok || err != nil || w != c.want {
			t.Errorf("%v:\n got %+v %v %v\nwant %+v", c.vars, w, ok, err, c.want)
		}
	}
	for _, none := range [][]string{nil, {"SLURM_PROCID=0", "SLURM_NTASKS=4"}, {"RANK=3"}, {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"}} {
		if _, ok, err := FromEnv(vars(none...)); ok || err != nil {
			t.Errorf("%v: taken for a job: %v", none, err)
		}
	}
	for _, bad := range [][]string{{"RANK=2", "WORLD_SIZE=2"}, {"RANK=x", "WORLD_SIZE=2"}, {"RANK=0", "WORLD_SIZE=0"}, {"RANK=-1", "WORLD_SIZE=9999999"}} {
		if _, _, err := FromEnv(vars(bad...)); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// meet lets n processes, here goroutines, join.
func meet(t *testing.T, w World) []*Rank {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ranks, errs := make([]*Rank, w.Size), make([]error, w.Size)
	var wg sync.WaitGroup
	for i := range w.Size {
		wg.Go(func() {
			mine := w
			mine.Rank = i
			ranks[i], errs[i] = Join(ctx, mine)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return ranks
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestJoin(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for name, w := range map[string]World{
		"one host":      {Launcher: "test", Size: 4, LocalSize: 4, Job: "a"},
		"several hosts": {Launcher: "test", Size: 3, LocalSize: 1, Job: "b", Master: fmt.Sprintf("127.0.0.1:%d", freePort(t)-1)},
	} {
		t.Run(name, func(t *testing.T) {
			ranks := meet(t, w)
			var wg sync.WaitGroup
			for _, r := range ranks {
				wg.Go(func() {
					for round := range 3 {
						all, err := r.Exchange(context.Background(), []byte{byte(r.Number), byte(round)})
						if err != nil {
							t.Error(err)
							return
						}
						for i, p := range all {
							if int(p.Data[0]) != i || int(p.Data[1]) != round {
								t.Errorf("round %d: rank %d gave %v", round, i, p.Data)
							}
						}
					}
				})
			}
			wg.Wait()
			lose(t, ranks)
		})
	}
}

// lose breaks the link of the last rank: the others hear of it.
func lose(t *testing.T, ranks []*Rank) {
	t.Helper()
	last := len(ranks) - 1
	ranks[last].link.conn.Close()
	for _, r := range ranks[:last] {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
			t.Fatalf("rank %d does not notice", r.Number)
		}
		var d *DeathError
		if !errors.As(r.Err(), &d) || d.Rank != last || d.Pid != os.Getpid() {
			t.Errorf("rank %d: %v", r.Number, r.Err())
		}
		r.Close()
	}
}

func TestJoinAlone(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for rank := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := Join(ctx, World{Launcher: "test", Rank: rank, Size: 2, LocalSize: 2, Job: "c"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("rank %d: %v", rank, err)
		}
		cancel()
	}
	if _, err := Join(t.Context(), World{Size: 2, LocalSize: 1}); err == nil || !strings.Contains(err.Error(), "MASTER_ADDR") {
		t.Errorf("several hosts without a meeting point: %v", err)
	}
}

func TestPrivateDir(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base)
	dir, err := privateDir()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	os.Chmod(dir, 0o755)
	if _, err := privateDir(); err == nil {
		t.Error("a directory that others can enter was taken")
	}
	os.Remove(dir)
	os.Symlink(filepath.Join(base, "elsewhere"), dir)
	if _, err := privateDir(); err == nil {
		t.Error("a link was taken")
	}
}
