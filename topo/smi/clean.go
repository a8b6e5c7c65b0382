package smi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// Limits on what is read; the largest machines have some 50 columns.
const (
	MaxBytes   = 1 << 20
	MaxColumns = 256
)

// line is a line of the text without what terminals and editors put into it.
type line struct {
	number int // from 1
	text   string
}

// readLines reads a whole text.
func readLines(r io.Reader, name string) ([]line, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, &Error{File: name, Msg: "reading: " + err.Error(), Err: err}
	}
	if len(data) > MaxBytes {
		return nil, &Error{File: name, Msg: fmt.Sprintf("more than %d bytes", MaxBytes),
			Remedy: "no matrix is that large; give the output of nvidia-smi topo -m alone", Err: ErrNoMatrix}
	}
	var lines []line
	for i, text := range strings.Split(plain(data), "\n") {
		lines = append(lines, line{i + 1, text})
	}
	return lines, nil
}

// escapes are the codes that underline the header since driver 590, and what is
// left of them where a copy lost the escape character.
var escapes = pattern(`(?:\x1b|\x9b|\^\[)?\[[0-9;?]*[mK]|\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]`)

// plain removes escape codes, byte order marks and carriage returns.
func plain(data []byte) string {
	text := decode(data)
	text = escapes().ReplaceAllString(text, "")
	return strings.NewReplacer("\ufeff", "", "\r\n", "\n", "\r", "\n", "\u00a0", " ", "\x00", "").Replace(text)
}

// decode reads UTF-16, which PowerShell writes into files, and UTF-8.
func decode(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return string(data)
	}
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// token is a word of a line.
type token struct {
	text  string
	start int // byte offset in the line
}

func (t token) end() int { return t.start + len(t.text) }

// tokens splits a line at blanks.
func tokens(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		end := strings.IndexAny(s[i:], " \t")
		if end < 0 {
			end = len(s) - i
		}
		out = append(out, token{s[i : i+end], i})
		i += end
	}
	return out
}
