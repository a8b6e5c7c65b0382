package ncclxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// syntax is an error at the current token.
func (p *parser) syntax(msg, remedy string) error {
	return &Error{File: p.doc.Name, Line: p.line, Element: p.inside(), Msg: msg, Remedy: remedy, Err: ErrSyntax}
}

// at is an error of one element.
func (p *parser) at(e *Element, msg, remedy string) error {
	return &Error{File: p.doc.Name, Line: e.Line, Element: e.label(), Msg: msg, Remedy: remedy, Err: ErrSyntax}
}

func (p *parser) limit(format string, limit int) error {
	return &Error{File: p.doc.Name, Line: p.line, Msg: fmt.Sprintf(format, limit),
		Remedy: "no topology or graph file is that large", Err: ErrLimit}
}

// inside names the innermost open element.
func (p *parser) inside() string {
	if len(p.open) == 0 {
		return ""
	}
	return "in " + p.open[len(p.open)-1].label()
}

// truncated is the error for a file that ends too early. It names what was
// open, or, where the rest of the file would be of no use either, why.
func (p *parser) truncated() error {
	end, _ := p.dec.InputPos()
	if root := p.doc.Root; root != nil && p.doc.Expect(Graphs) != nil {
		var other *Error
		if err := p.doc.Expect(Topology); errors.As(err, &other) {
			other.Msg += fmt.Sprintf("; besides, it ends early, at line %d", end)
			return other
		}
	}
	msg := "the file ends inside a tag"
	if len(p.open) > 0 {
		var open []string
		for i := len(p.open) - 1; i >= 0; i-- {
			open = append(open, fmt.Sprintf("<%s> of line %d", short(p.open[i].Name), p.open[i].Line))
		}
		msg = "the file ends early: not closed are " + strings.Join(open, ", ")
	}
	return &Error{File: p.doc.Name, Line: end, Msg: msg,
		Remedy: "get the whole file; a part of it is not used", Err: ErrTruncated}
}

// rawName is a name as the file has it, prefix included.
func rawName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return short(word)
}

// glued tells whether a value in a start tag is followed at once by another
// attribute, which XML forbids and the decoder lets pass.
func glued(tag []byte) bool {
	for {
		i := bytes.IndexAny(tag, `"'`)
		if i < 0 {
			return false
		}
		n := bytes.IndexByte(tag[i+1:], tag[i])
		if n < 0 || i+n+2 >= len(tag) {
			return false
		}
		tag = tag[i+n+2:]
		if !strings.ContainsRune(" \t\r\n/>", rune(tag[0])) {
			return true
		}
	}
}
