package launch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// openFiles counts the open files of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// settled waits for a number to come down to what it was.
func settled(t *testing.T, what string, was int, now func() int) {
	t.Helper()
	n := now()
	for begin := time.Now(); n > was && time.Since(begin) < 10*time.Second; n = now() {
		time.Sleep(time.Millisecond)
	}
	if n > was {
		t.Errorf("%d %s, there were %d", n, what, was)
	}
}

// header is that of a frame, whether what it promises comes or not.
func header(k kind, files byte, bytes uint32) []byte {
	h := []byte{byte(k), files, 0, 0}
	return binary.LittleEndian.AppendUint32(h, bytes)
}

// However one process's line breaks in the middle of an exchange, the others hear
// within it whose it was, and no file that was sent stays open.
func TestExchangeBreaksOff(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	gift, err := Memory(8)
	if err != nil {
		t.Fatal(err)
	}
	defer gift.Close()
	for what, end := range map[string]func(r *Rank){
		"closed":                       func(r *Rank) { r.link.conn.Close() },
		"half a header":                func(r *Rank) { r.link.conn.Write([]byte{3, 0}); r.link.conn.Close() },
		"a payload that does not come": func(r *Rank) { r.link.conn.Write(header(part, 0, 100)); r.link.conn.Close() },
		"too much":                     func(r *Rank) { r.link.conn.Write(header(part, 0, maxPayload+1)) },
		"files that do not come":       func(r *Rank) { r.link.conn.Write(header(part, 2, 0)) },
		"left in peace":                func(r *Rank) { r.Close() },
		"failed":                       func(r *Rank) { r.fail(errors.New("out of ideas")) },
	} {
		before := openFiles(t)
		ranks := meet(t, World{Launcher: "test", Size: 3, LocalSize: 3, Job: "b"})
		var wg sync.WaitGroup
		for _, r := range ranks[:2] {
			wg.Go(func() {
				_, err := r.Exchange(context.Background(), []byte("here"), gift, gift)
				var d *DeathError
				if !errors.As(err, &d) || d.Rank != 2 || d.Reason == "" || !strings.HasPrefix(err.Error(), fmt.Sprintf("rank %d: exchange: rank 2", r.Number)) {
					t.Errorf("%s: rank %d: %v", what, r.Number, err)
				}
			})
		}
		end(ranks[2])
		wg.Wait()
		for _, r := range ranks {
			if err := r.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // of rank 2
				t.Errorf("%s: rank %d leaves: %v", what, r.Number, err)
			}
			r.link.conn.Close()
		}
		settled(t, what+": open files", before, func() int { return openFiles(t) })
	}
}

// A rank that stops waiting leaves the files of others closed when it leaves, too.
func TestExchangeGivenUp(t *testing.T) {
	ours, theirs := links(t)
	before := openFiles(t)
	gift, err := Memory(8)
	if err != nil {
		t.Fatal(err)
	}
	r := newRank(ours, -1, 0, 3)
	go r.listen()
	ctx, cancel := context.WithCancelCause(context.Background())
	for rank := range 2 {
		if err := theirs.send(frame{kind: part, rank: rank, files: []*os.File{gift}}); err != nil {
			t.Fatal(err)
		}
	}
	gift.Close()
	time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("tired")) })
	if _, err := r.Exchange(ctx, nil); err == nil || !strings.Contains(err.Error(), "tired") {
		t.Errorf("got %v", err)
	}
	r.Close()
	settled(t, "open files", before-1, func() int { return openFiles(t) }) // its own line is closed, too
}

// What a frame cannot carry is refused before anything is sent.
func TestSendRefuses(t *testing.T) {
	a, b := links(t)
	closed, err := Memory(8)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for what, f := range map[string]frame{
		"too many files": {kind: part, files: make([]*os.File, maxFiles+1)}, "too much": {kind: part, payload: make([]byte, maxPayload+1)},
		"a closed file": {kind: part, files: []*os.File{closed}},
	} {
		if err := a.send(f); err == nil {
			t.Errorf("%s was sent", what)
		}
	}
	if err := a.send(frame{kind: part, payload: []byte("after all")}); err != nil {
		t.Fatal(err)
	}
	if f, err := b.receive(); err != nil || string(f.payload) != "after all" {
		t.Errorf("%q, %v", f.payload, err)
	}
	x, y := net.Pipe()
	defer x.Close()
	defer y.Close()
	far := &link{conn: x}
	if err := far.send(frame{kind: part, files: []*os.File{os.Stdin}}); !errors.Is(err, errNoFiles) {
		t.Errorf("files to another host: %v", err)
	}
}

// A child whose parent says something else than what it is to do ends with that.
func TestGreetings(t *testing.T) {
	for want, say := range map[string]func(l *link){
		"EOF":                    func(l *link) { l.conn.Close() },
		"message of kind 4":      func(l *link) { _ = l.send(frame{kind: end}) },
		"invalid character":      func(l *link) { _ = l.send(frame{kind: hello, payload: []byte("x")}) },
		"unexpected end of JSON": func(l *link) { _ = l.send(frame{kind: hello}) },
	} {
		ours, theirs, err := pair()
		if err != nil {
			t.Fatal(err)
		}
		say(&link{conn: ours})
		if r, err := greet(given(t, theirs)); r != nil || err == nil || !strings.Contains(err.Error(), "first message of the parent: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		ours.Close()
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := greet(given(t, f)); err == nil || !strings.Contains(err.Error(), "socket") {
		t.Errorf("a file: %v", err)
	}
}

// given is the number of an open file as a child gets it: its own. The file here is
// closed.
func given(t *testing.T, f *os.File) string {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(fd)
}

// children counts this process's children.
func children(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(list) == 0 {
		t.Skip("no process file system")
	}
	n := 0
	for _, path := range list {
		b, _ := os.ReadFile(path) // it may have ended
		if _, rest, ok := strings.Cut(string(b), ") "); ok {
			var state string
			var parent int
			if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == os.Getpid() {
				n++
			}
		}
	}
	return n
}

// Where one of several processes cannot be started the error says which, and those
// that were started before end, also such as do not listen.
func TestStartFailsHalfWay(t *testing.T) {
	before, files := children(t), openFiles(t)
	for _, o := range []Options{{Worker: "wait"}, {Program: "/bin/sleep", Args: []string{"1000"}}} {
		closed, err := Memory(8)
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
		o.N, o.Own = 3, []*os.File{os.Stdin, os.Stdin, closed}
		begin := time.Now()
		if _, err := Start(o); err == nil || !strings.Contains(err.Error(), "start process of rank 2: ") {
			t.Errorf("%s: %v", o.Program, err)
		}
		if took := time.Since(begin); took > 2*endTime {
			t.Errorf("%s: took %v", o.Program, took)
		}
	}
	settled(t, "children", before, func() int { return children(t) })
	settled(t, "open files", files, func() int { return openFiles(t) })
}
