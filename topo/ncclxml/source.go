package ncclxml

import (
	"bufio"
	"errors"
	"io"
)

// Limits on what is read. NCCL's own are lower: 256 elements of a machine, 4096
// of a graph file, 16 attributes, 255 characters of a name or value.
const (
	MaxBytes      = 8 << 20  // of a file
	MaxTag        = 64 << 10 // bytes of one tag, comment or run of blanks
	MaxElements   = 64 << 10 // and comments, of a file
	MaxDepth      = 64       // elements inside each other
	MaxAttributes = 64       // of an element
)

var (
	errBytes = errors.New("file too large")
	errTag   = errors.New("tag too long")
)

// source feeds the XML decoder byte by byte, so that no token can grow beyond
// its limit in memory, and keeps the text of the current token.
type source struct {
	r     *bufio.Reader
	token []byte
	total int
}

func newSource(r io.Reader) *source {
	s := &source{r: bufio.NewReader(r)}
	if b, err := s.r.Peek(3); err == nil && string(b) == "\xef\xbb\xbf" {
		_, _ = s.r.Discard(3) // what was peeked can be discarded
	}
	return s
}

// next forgets the current token.
func (s *source) next() { s.token = s.token[:0] }

// ReadByte makes the decoder take single bytes instead of buffering ahead.
func (s *source) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if s.total++; s.total > MaxBytes {
		return 0, errBytes
	}
	if len(s.token) == MaxTag {
		return 0, errTag
	}
	s.token = append(s.token, b)
	return b, nil
}

// Read is there because the decoder asks for an io.Reader; it never calls it.
func (s *source) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := s.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = b
	return 1, nil
}
