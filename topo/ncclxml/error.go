package ncclxml

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What an Error can be about, for errors.Is.
var (
	// ErrSyntax: not well-formed XML, or something that the format never holds.
	ErrSyntax = errors.New("malformed XML")
	// ErrTruncated: the file ends too early.
	ErrTruncated = errors.New("truncated file")
	// ErrLimit: larger than any file of the format can be.
	ErrLimit = errors.New("over a limit")
	// ErrOtherFormat: a file of another format, or one that is not supported.
	ErrOtherFormat = errors.New("another format")
	// ErrNonsense: well formed, but no machine can be like that.
	ErrNonsense = errors.New("inconsistent topology")
)

// Error says what is wrong in a file, where, and what to do about it.
type Error struct {
	File    string
	Line    int    // 0: the file as a whole
	Element string // the element and what tells it from its like, or ""
	Msg     string
	Remedy  string // "" if Msg says it all
	Err     error  // one of the errors above, or that of the reader
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Element != "" {
		fmt.Fprintf(&b, "%s: ", e.Element)
	}
	b.WriteString(e.Msg)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// DeviceError says that a GPU that was asked for is not there, or was asked for
// twice.
type DeviceError struct {
	File      string
	Dev       int
	Duplicate bool
	Have      []int // the device numbers that there are
}

func (e *DeviceError) Error() string {
	if e.Duplicate {
		return fmt.Sprintf("%s: GPU %d is given twice; a GPU takes part once", e.File, e.Dev)
	}
	return fmt.Sprintf("%s: there is no GPU %d; the machine has %s", e.File, e.Dev, ints(e.Have))
}

// ints writes numbers as a list, runs of three and more as ranges.
func ints(v []int) string {
	var parts []string
	for i := 0; i < len(v); {
		j := i
		for j+1 < len(v) && v[j+1] == v[j]+1 {
			j++
		}
		if j-i < 2 {
			j = i
			parts = append(parts, fmt.Sprint(v[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", v[i], v[j]))
		}
		i = j + 1
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Bounds on how much of a file's text a message repeats.
const (
	maxQuoted  = 48  // of a name or value
	maxMessage = 160 // of the XML decoder's words
)

// quote makes a text of a file fit for a message.
func quote(s string) string {
	if cut := short(s); cut != s {
		return fmt.Sprintf("%q...", cut)
	}
	return fmt.Sprintf("%q", s)
}

// short is the beginning of a name or value.
func short(s string) string { return beginning(s, maxQuoted) }

// beginning is as much of a text as fits in n bytes, in whole runes.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
