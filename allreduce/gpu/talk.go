package gpu

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// order is what the caller has a rank's process do.
type order struct {
	Do     task
	Buffer int   // number of a buffer of that process
	Off, N int64 // bytes; N bytes follow an order to write, or its answer to one to read
	Value  byte
	Plan   *allreduce.Plan
	Args   []placeOf
}

type task uint8

const (
	doAlloc task = iota
	doFree
	doWrite
	doRead
	doSet
	doRun
	doLeave
)

// placeOf is where a rank's input and output of a work are.
type placeOf struct {
	Send, Recv       int // numbers of buffers
	SendOff, RecvOff int64
}

// answer is what a process has to say of an order.
type answer struct {
	Failure *failure
	Usable  bool // although it failed, nothing has changed
	Elapsed time.Duration
	Welcome *welcome
}

// welcome is what a process says when it is ready.
type welcome struct {
	Ordinal int
	Refused map[way2]string // why not
	Notes   []string
}

// way2 is an algorithm with a protocol.
type way2 struct {
	Algo  allreduce.Algo
	Proto allreduce.Proto
}

// failure is an error on its way to another process.
type failure struct {
	Text     string
	NoDevice bool
	NoMemory bool
	Stalls   []allreduce.Stall // of a stuck run
	After    time.Duration
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error(), NoDevice: errors.Is(err, allreduce.ErrNoDevice), NoMemory: errors.Is(err, syscall.ENOMEM)}
	var stuck *allreduce.StuckError
	if errors.As(err, &stuck) {
		f.Stalls, f.After = stuck.Stalls, stuck.After
	}
	return f
}

// err is the error again, as far as callers tell errors apart.
func (f *failure) err() error {
	switch {
	case f == nil:
		return nil
	case len(f.Stalls) > 0:
		return &allreduce.StuckError{Stalls: f.Stalls, After: f.After}
	case f.NoDevice:
		return &remoteError{f.Text, allreduce.ErrNoDevice}
	case f.NoMemory:
		return &remoteError{f.Text, syscall.ENOMEM}
	}
	return &remoteError{f.Text, nil}
}

// remoteError is an error of another process.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// talk is one end of a line between the caller and a rank's process.
type talk struct {
	conn net.Conn
	in   *bufio.Reader
	enc  *gob.Encoder
	dec  *gob.Decoder
}

func newTalk(f *os.File) (*talk, error) {
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("line between processes: %w", err)
	}
	// What is decoded reads no further than its message if it reads through this.
	in := bufio.NewReader(conn)
	return &talk{conn: conn, in: in, enc: gob.NewEncoder(conn), dec: gob.NewDecoder(in)}, nil
}

// say sends a message, and data behind it.
func (t *talk) say(message any, data []byte) error {
	if err := t.enc.Encode(message); err != nil || len(data) == 0 {
		return err // the other side may have left on this message: write no more
	}
	_, err := t.conn.Write(data)
	return err
}

// data reads what follows a message.
func (t *talk) data(into []byte) error {
	_, err := io.ReadFull(t.in, into)
	return err
}

// line makes the two ends of a line, one of them to be given away.
func line() (ours *talk, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("line between processes: %w", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	f := os.NewFile(uintptr(fds[0]), "line")
	theirs = os.NewFile(uintptr(fds[1]), "line")
	ours, err = newTalk(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}
