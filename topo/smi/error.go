package smi

import (
	"errors"
	"fmt"
	"strings"
)

// What an Error can be about, for errors.Is.
var (
	// ErrNoMatrix: a text of another kind, or an error message.
	ErrNoMatrix = errors.New("not a matrix of nvidia-smi topo -m")
	// ErrTruncated: rows or cells are missing.
	ErrTruncated = errors.New("truncated matrix")
	// ErrNonsense: no machine can have these distances.
	ErrNonsense = errors.New("inconsistent matrix")
)

// Error says what is wrong in a text, where, and what to do about it.
type Error struct {
	File   string
	Line   int // 0: the text as a whole
	Msg    string
	Remedy string // "" if Msg says it all
	Err    error  // one of the errors above, or that of the reader
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": " + e.Msg)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// quote makes a word of the text fit for a message.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(s[:most], ""))
	}
	return fmt.Sprintf("%q", s)
}
