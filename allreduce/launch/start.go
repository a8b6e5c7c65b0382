package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// endTime is how long processes get to end by themselves.
const endTime = 5 * time.Second

// variable tells a child which of its open files leads to its parent.
const (
	variable = "RINGTOPO_PARENT_FD"
	childFD  = 3
)

// Options say what Start starts.
type Options struct {
	N      int        // processes
	Worker string     // which of the child's workers they run
	Setup  []byte     // given to each
	Files  []*os.File // shared with each; they stay open here
	Own    []*os.File // one for each rank alone, behind the shared ones; they stay open here
	Stderr io.Writer  // where their messages go; nil: nowhere
	// Program and Args are what is started; this very program, without
	// arguments, if empty.
	Program string
	Args    []string
}

// Job is a set of processes that this one has started.
type Job struct {
	hub   *hub
	procs []*process
	once  sync.Once
}

// process is one child.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was reaped
}

// greeting is what a child is told first.
type greeting struct {
	Rank, Size int
	Worker     string
	Setup      []byte
}

// Start starts N processes of this program, which must call Child.
func Start(o Options) (*Job, error) {
	if o.N < 1 {
		return nil, fmt.Errorf("start %d processes: want at least 1", o.N)
	}
	if len(o.Own) > 0 && len(o.Own) != o.N {
		return nil, fmt.Errorf("start %d processes: %d files of their own", o.N, len(o.Own))
	}
	if o.Program == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("start processes: this program: %w", err)
		}
		o.Program = self
	}
	if _, isFile := o.Stderr.(*os.File); o.Stderr != nil && !isFile {
		o.Stderr = &oneAtATime{w: o.Stderr}
	}
	j := &Job{}
	links := make([]*link, 0, o.N)
	for rank := range o.N {
		p, l, err := startOne(&o, rank)
		if err != nil {
			for _, l := range links {
				l.conn.Close()
			}
			j.reap()
			return nil, fmt.Errorf("start process of rank %d: %w", rank, err)
		}
		j.procs, links = append(j.procs, p), append(links, l)
	}
	j.hub = newHub(links, j.autopsy)
	for rank := range links {
		go j.hub.serve(rank)
	}
	return j, nil
}

// oneAtATime is a writer that several processes share.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

// startOne starts one process and greets it.
func startOne(o *Options, rank int) (*process, *link, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(o.Program, o.Args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isVariable), fmt.Sprintf("%s=%d", variable, childFD))
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = o.Stderr
	cmd.WaitDelay = time.Second
	// An interrupt from the terminal is for the parent, which ends the others.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait() // its state tells how it ended
		close(p.done)
	}()
	g, err := json.Marshal(greeting{rank, o.N, o.Worker, o.Setup})
	l := &link{conn: ours}
	if err == nil {
		files := slices.Clone(o.Files)
		if len(o.Own) > 0 {
			files = append(files, o.Own[rank])
		}
		err = l.send(frame{kind: hello, rank: rank, payload: g, files: files})
	}
	if err != nil {
		ours.Close()
		_ = cmd.Process.Kill() // it may have ended, or not listen
		<-p.done
		return nil, nil, err
	}
	return p, l, nil
}

func isVariable(s string) bool { return strings.HasPrefix(s, variable+"=") }

// pair makes two connected sockets, one to keep and one to give away.
func pair() (*net.UnixConn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	theirs := os.NewFile(uintptr(fds[1]), "to parent")
	ours, err := unixConn(os.NewFile(uintptr(fds[0]), "to child"))
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// unixConn takes over an open socket.
func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("socket is not a unix socket")
	}
	return u, nil
}

// autopsy says how a rank's process ended.
func (j *Job) autopsy(rank int) *DeathError {
	p := j.procs[rank]
	d := &DeathError{Rank: rank, Pid: p.cmd.Process.Pid, Reason: "its connection is closed"}
	select {
	case <-p.done:
		d.Reason = p.cmd.ProcessState.String()
	case <-time.After(time.Second):
	}
	return d
}

// Size is the number of processes.
func (j *Job) Size() int { return len(j.procs) }

// Pid is the process of a rank.
func (j *Job) Pid(rank int) int { return j.procs[rank].cmd.Process.Pid }

// Done is closed when a process is lost.
func (j *Job) Done() <-chan struct{} { return j.hub.done }

// Lost is the first lost process, a *DeathError; nil while all live.
func (j *Job) Lost() error { return j.hub.loss() }

// Close ends all processes: those that do not end by themselves in five
// seconds are killed. Nothing of theirs remains.
func (j *Job) Close() error {
	j.once.Do(func() {
		j.hub.dismiss()
		j.reap()
		for _, l := range j.hub.links {
			l.conn.Close()
		}
	})
	return nil
}

// reap waits for all processes, and kills those that stay.
func (j *Job) reap() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for _, p := range j.procs {
		select {
		case <-p.done:
		case <-ctx.Done():
			p.cmd.Process.Kill()
			<-p.done
		}
	}
}
