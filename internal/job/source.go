package job

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
)

// Names with a meaning of their own.
const (
	Auto  = "auto" // the machine this runs on
	Stdin = "-"
)

// Source opens machines.
type Source struct {
	Stdin io.Reader
	// Live asks the machine this runs on. Its error wraps probe.ErrNoDriver
	// where there is no driver.
	Live func() (*probe.Prober, error)
	// Set are variables that act on recordings.
	Set map[string]string
}

// Open finds a machine: the live one for "auto", a built-in one by its name,
// a file recognised by its content, a folder with a recording, or standard
// input for "-". What is none of these is a *machines.UnknownError, except that
// a path that leads nowhere wraps fs.ErrNotExist.
func (s Source) Open(name string) (*Machine, error) {
	switch name {
	case Auto:
		p, err := s.Live()
		if err != nil {
			return nil, err
		}
		return &Machine{Name: name, prober: p}, nil
	case Stdin:
		return read(s.Stdin, "standard input")
	}
	doc, unknown := machines.Open(name)
	if unknown == nil {
		return &Machine{Name: name, doc: doc}, nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !looksLikePath(name):
		return nil, unknown
	case err != nil:
		return nil, err
	case info.IsDir():
		return s.recording(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return read(f, name)
}

// looksLikePath tells a path from a name that no built-in machine has.
func looksLikePath(name string) bool {
	return bytes.ContainsAny([]byte(name), "./\\")
}

func (s Source) recording(dir string) (*Machine, error) {
	if !probe.IsRecording(dir) {
		return nil, fmt.Errorf("%s is a folder, but not a recording that probe --capture made; give a file or such a folder", dir)
	}
	p, ranks, err := probe.Load(dir, s.Set)
	if err != nil {
		return nil, err
	}
	return &Machine{Name: dir, prober: p, ranks: ranks}, nil
}

// read recognises a file by its first bytes.
func read(r io.Reader, name string) (*Machine, error) {
	b := bufio.NewReader(r)
	switch first, err := firstByte(b); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is empty", name)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case first == '<':
		doc, err := ncclxml.Decode(b, name)
		if err != nil {
			return nil, err
		}
		return &Machine{Name: name, doc: doc}, nil
	}
	return nil, fmt.Errorf("%s is neither topology XML nor the text of nvidia-smi topo -m", name)
}

// firstByte looks at the first byte that is neither space nor a byte order
// mark, and leaves all in place.
func firstByte(b *bufio.Reader) (byte, error) {
	head, err := b.Peek(4096)
	if len(head) == 0 {
		return 0, err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return head[0], nil
	}
	return text[0], nil
}
