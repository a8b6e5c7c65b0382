package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Worker is what a child runs. It must return soon when the rank's context
// ends.
type Worker func(*Rank) error

// graceTime is how long a worker gets to return after the job has ended.
const graceTime = 2 * time.Second

// Child runs the worker that this process was started for, by name. started is
// false where no parent has started it: the program goes on as usual. After
// Child the program must exit; a worker that hangs is left behind.
func Child(workers map[string]Worker) (started bool, err error) {
	v, ok := os.LookupEnv(variable)
	if !ok {
		return false, nil
	}
	os.Unsetenv(variable)
	r, err := greet(v)
	if err != nil {
		return true, fmt.Errorf("process of a job: %w", err)
	}
	err = r.perform(workers[r.Worker])
	if err != nil {
		r.fail(err)
		return true, fmt.Errorf("rank %d ends: %w", r.Number, err)
	}
	return true, r.Close()
}

// perform runs a worker until it is done, or a while longer than the job.
func (r *Rank) perform(work Worker) error {
	if work == nil {
		return fmt.Errorf("unknown worker %q", r.Worker)
	}
	done := make(chan error, 1)
	go func() { done <- work(r) }()
	var err error
	select {
	case err = <-done:
	case <-r.ctx.Done():
		select {
		case err = <-done:
		case <-time.After(graceTime):
		}
	}
	if cause := r.Err(); cause != nil && !errors.Is(cause, ErrEnded) {
		return cause
	}
	return err
}

// greet hears from the parent what this process is.
func greet(fd string) (*Rank, error) {
	n, err := strconv.Atoi(fd)
	if err != nil || n < childFD {
		return nil, fmt.Errorf("%s=%q: want the number of an open file", variable, fd)
	}
	f := os.NewFile(uintptr(n), "to parent")
	conn, err := unixConn(f)
	if err != nil {
		return nil, fmt.Errorf("%s=%q: %w", variable, fd, err)
	}
	l := &link{conn: conn}
	m, err := l.receive()
	if err == nil && m.kind != hello {
		err = fmt.Errorf("message of kind %d", m.kind)
	}
	var g greeting
	if err == nil {
		err = json.Unmarshal(m.payload, &g)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("first message of the parent: %w", err)
	}
	r := newRank(l, -1, g.Rank, g.Size)
	r.Worker, r.Setup, r.Files = g.Worker, g.Setup, m.files
	go r.listen()
	return r, nil
}
