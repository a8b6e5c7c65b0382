package ncclxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Parse reads any XML file of NCCL's simple kind: elements, attributes,
// comments. The name is for messages. Every error is an *Error.
func Parse(r io.Reader, name string) (*Document, error) {
	p := &parser{src: newSource(r), doc: &Document{Name: name}}
	p.dec = xml.NewDecoder(p.src)
	for {
		more, err := p.step()
		if err != nil {
			return nil, err
		}
		if !more {
			return p.finish()
		}
	}
}

// parser builds the tree of a document token by token.
type parser struct {
	src      *source
	dec      *xml.Decoder
	doc      *Document
	open     []*Element
	comments []string // since the last tag
	nodes    int
	line     int // where the current token starts
}

// step takes one token; more is false at the end of the file.
func (p *parser) step() (more bool, err error) {
	p.line, _ = p.dec.InputPos()
	p.src.next()
	token, err := p.dec.RawToken()
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, p.readError(err)
	}
	switch t := token.(type) {
	case xml.StartElement:
		return true, p.start(t)
	case xml.EndElement:
		return true, p.end(rawName(t.Name))
	case xml.CharData:
		return true, p.text(string(t))
	case xml.Comment:
		p.comments = append(p.comments, strings.TrimSpace(string(t)))
		return true, p.count()
	case xml.Directive:
		return true, p.syntax("<!"+firstWord(string(t))+"> is not part of this format", "remove it")
	}
	return true, nil // <?xml ...?> and its like say nothing that is needed
}

func (p *parser) start(t xml.StartElement) error {
	e := &Element{Name: rawName(t.Name), Line: p.line, Comments: p.comments}
	p.comments = nil
	if err := p.admit(e, t); err != nil {
		return err
	}
	e.SelfClosed = bytes.HasSuffix(p.src.token, []byte("/>"))
	for _, a := range t.Attr {
		key := rawName(a.Name)
		if _, twice := e.Get(key); twice {
			return p.at(e, "attribute "+short(key)+" is there twice", "keep one of them")
		}
		e.Attrs = append(e.Attrs, Attr{key, a.Value})
	}
	if glued(p.src.token) {
		return p.at(e, "no space between two attributes", "put a space after each closing quote")
	}
	if len(p.open) == 0 {
		p.doc.Root = e
	} else {
		top := p.open[len(p.open)-1]
		top.Children = append(top.Children, e)
	}
	p.open = append(p.open, e)
	return nil
}

// admit refuses an element that the document has no room for.
func (p *parser) admit(e *Element, t xml.StartElement) error {
	if err := p.count(); err != nil {
		return err
	}
	if len(p.open) == MaxDepth {
		return p.limit("elements are nested more than %d deep", MaxDepth)
	}
	if len(t.Attr) > MaxAttributes {
		return p.limit("<"+short(e.Name)+"> has more than %d attributes", MaxAttributes)
	}
	if len(p.open) == 0 && p.doc.Root != nil {
		return p.syntax(fmt.Sprintf("a second root element <%s> follows <%s>", short(e.Name), short(p.doc.Root.Name)),
			"a file holds one machine or one set of graphs")
	}
	return nil
}

// count holds elements and comments to their limit.
func (p *parser) count() error {
	if p.nodes++; p.nodes > MaxElements {
		return p.limit("more than %d elements and comments", MaxElements)
	}
	return nil
}

func (p *parser) end(name string) error {
	if len(p.open) == 0 {
		return p.syntax("</"+short(name)+"> closes nothing", "remove it, or add the element that it ends")
	}
	top := p.open[len(p.open)-1]
	if top.Name != name {
		return p.syntax(fmt.Sprintf("</%s> comes where </%s> is due for line %d", short(name), short(top.Name), top.Line),
			"close elements in the reverse order of their opening")
	}
	top.Tail, p.comments = p.comments, nil
	p.open = p.open[:len(p.open)-1]
	return nil
}

func (p *parser) text(s string) error {
	word := strings.TrimSpace(s)
	if word == "" {
		return nil
	}
	p.line += strings.Count(s[:strings.Index(s, word)], "\n")
	return p.syntax("text "+quote(word)+" outside of tags",
		"only elements and comments are allowed here; a copy from a web page may have brought it along")
}

func (p *parser) finish() (*Document, error) {
	if len(p.open) > 0 {
		return nil, p.truncated()
	}
	if p.doc.Root == nil {
		return nil, &Error{File: p.doc.Name, Msg: "no XML element in it",
			Remedy: "expected <system> or <graphs>", Err: ErrSyntax}
	}
	p.doc.Tail = p.comments
	return p.doc, nil
}

// readError translates what the decoder or the reader says.
func (p *parser) readError(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, errBytes):
		return p.limit("more than %d bytes", MaxBytes)
	case errors.Is(err, errTag):
		return p.limit("a tag, comment or run of blanks longer than %d bytes", MaxTag)
	case errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
		return p.truncated()
	case errors.As(err, &syntax):
		p.line = syntax.Line
		return p.syntax(beginning(syntax.Msg, maxMessage), "correct the XML there, or get the file anew")
	}
	if strings.HasPrefix(err.Error(), "xml: ") { // encoding or version of the declaration
		return p.syntax(strings.TrimPrefix(err.Error(), "xml: "), "save the file as UTF-8, XML version 1.0")
	}
	return &Error{File: p.doc.Name, Line: p.line, Msg: "reading: " + err.Error(), Err: err}
}
