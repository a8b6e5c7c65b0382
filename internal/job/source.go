package job

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/ringtopo/ringtopo/internal/ncclenv"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/machinejson"
	"github.com/ringtopo/ringtopo/topo/machines"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
	"github.com/ringtopo/ringtopo/topo/probe"
	"github.com/ringtopo/ringtopo/topo/smi"
)

// Names with a meaning of their own.
const (
	Auto  = "auto" // the machine this runs on
	Stdin = "-"
)

// Source opens machines.
type Source struct {
	Stdin io.Reader
	// Sources are what auto asks; probe.System for the machine this runs on.
	Sources probe.Sources
	// Env are NCCL's variables. Recordings know their own, and those of Set.
	Env *ncclenv.Env
	Set map[string]string
	// Matrix says what the text of nvidia-smi topo -m does not.
	Matrix smi.Options
}

// Open finds a machine: the live one for "auto", a built-in one by its name,
// a file recognised by its content, a folder with a recording, or standard
// input for "-". What is none of these is a *machines.UnknownError, except that
// a path that leads nowhere wraps fs.ErrNotExist.
func (s Source) Open(name string) (*Machine, error) {
	switch name {
	case Auto:
		return s.live()
	case Stdin:
		return s.read(s.Stdin, "standard input")
	}
	doc, unknown := machines.Open(name)
	if unknown == nil {
		return &Machine{Name: name, doc: doc}, nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !looksLikePath(name):
		return nil, unknown
	case errors.Is(err, fs.ErrNotExist):
		return nil, &missingError{name}
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
	return s.read(f, name)
}

// missingError says that a path leads nowhere.
type missingError struct{ path string }

func (e *missingError) Error() string { return e.path + ": no such file or folder" }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// looksLikePath tells a path from a name that no built-in machine has.
func looksLikePath(name string) bool {
	return bytes.ContainsAny([]byte(name), "./\\")
}

// live is the machine this runs on, completed from the file that NCCL_TOPO_FILE
// names, if any. One that is not there is passed over, as NCCL does.
func (s Source) live() (*Machine, error) {
	m := &Machine{Name: Auto}
	opt := probe.Options{Env: s.Env.String}
	var notes []string
	if name, _ := s.Env.String("NCCL_TOPO_FILE"); name != "" {
		var err error
		if opt.File, err = decodeFile(name); errors.Is(err, fs.ErrNotExist) {
			notes = append(notes, "NCCL_TOPO_FILE: "+err.Error()+"; like NCCL, going on without it")
		} else if err != nil {
			return nil, err
		}
	}
	m.ask = func(gpus []int) (*probe.Result, error) {
		opt.GPUs = gpus
		r, err := probe.Live(s.Sources, opt)
		if err != nil {
			return nil, err
		}
		r.Notes = append(notes, r.Notes...)
		return r, nil
	}
	return m, nil
}

func decodeFile(name string) (*ncclxml.Document, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return ncclxml.Decode(f, name)
}

func (s Source) recording(dir string) (*Machine, error) {
	if !probe.IsRecording(dir) {
		return nil, fmt.Errorf("%s is a folder, but not a recording that probe --capture made; give a file or such a folder", dir)
	}
	return &Machine{Name: dir, ask: func(gpus []int) (*probe.Result, error) {
		return probe.Replay(dir, probe.Options{GPUs: gpus, Set: s.Set})
	}}, nil
}

// read recognises a file by its first bytes. Windows' tools write UTF-16, which
// its byte order mark tells.
func (s Source) read(r io.Reader, name string) (*Machine, error) {
	b := bufio.NewReader(transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder())))
	head, err := start(b)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty", name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	switch {
	case head[0] == '<':
		doc, err := ncclxml.Decode(b, name)
		if err != nil {
			return nil, err
		}
		return &Machine{Name: name, doc: doc}, nil
	case head[0] == '{':
		return described(machinejson.Decode, b, name)
	case isYAML(head):
		return described(machinejson.DecodeYAML, b, name)
	}
	m, err := smi.Parse(b, name, s.Matrix)
	if err != nil {
		return nil, err
	}
	return &Machine{Name: name, doc: ncclxml.FromSystem(m.System, name), matrix: m.Matrix}, nil
}

// described is a machine in words and numbers.
func described(decode func(io.Reader, string) (*topo.System, error), r io.Reader, name string) (*Machine, error) {
	sys, err := decode(r, name)
	if err != nil {
		return nil, err
	}
	return &Machine{Name: name, doc: ncclxml.FromSystem(sys, name)}, nil
}

// start looks at the beginning of a text from its first byte on that is neither
// space nor a byte order mark, and leaves all in place.
func start(b *bufio.Reader) ([]byte, error) {
	head, err := b.Peek(4096)
	if len(head) == 0 {
		return nil, err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return head, nil
	}
	return text, nil
}

// isYAML knows YAML by the schema that all of ours has at the margin of a line.
func isYAML(head []byte) bool {
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("schema:")) {
			return true
		}
	}
	return false
}
