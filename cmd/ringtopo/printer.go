package main

import "bytes"

// maxWidth is how long a line of JSON gets before an object or a list of
// objects or lists is broken over several.
const maxWidth = 100

// printer lays out compact JSON for people: what is short stands on one line,
// and so does every list of numbers, however long.
type printer struct {
	text []byte // compact JSON, from the next value on
	out  []byte
}

// value lays out the next value; indent is that of its line.
func (p *printer) value(indent string) {
	n := valueEnd(p.text)
	v := p.text[:n]
	if !isComposite(v) || len(v)+len(indent) <= maxWidth || isNumberList(v) {
		p.oneLine(v)
		p.text = p.text[n:]
		return
	}
	open, inner := p.take(), indent+"  "
	p.out = append(p.out, open)
	for {
		p.out = append(append(p.out, '\n'), inner...)
		if open == '{' {
			key := stringEnd(p.text)
			p.out = append(append(p.out, p.text[:key]...), ": "...)
			p.text = p.text[key+1:]
		}
		p.value(inner)
		if end := p.take(); end != ',' {
			p.out = append(append(append(p.out, '\n'), indent...), end)
			return
		}
		p.out = append(p.out, ',')
	}
}

func (p *printer) take() byte {
	c := p.text[0]
	p.text = p.text[1:]
	return c
}

// oneLine writes a value with a space after each comma and colon.
func (p *printer) oneLine(v []byte) {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; c {
		case '"':
			n := stringEnd(v[i:])
			p.out = append(p.out, v[i:i+n]...)
			i += n - 1
		case ',', ':':
			p.out = append(p.out, c, ' ')
		default:
			p.out = append(p.out, c)
		}
	}
}

func isComposite(v []byte) bool { return v[0] == '[' || v[0] == '{' }

// isNumberList says whether a value is a list of nothing but numbers.
func isNumberList(v []byte) bool {
	return v[0] == '[' && !bytes.ContainsAny(v[1:], `["{`)
}

// valueEnd is the length of the value that text starts with.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth == 0 && (i+1 == len(text) || isComposite(text) || bytes.IndexByte([]byte(",]}"), text[i+1]) >= 0) {
			return i + 1
		}
	}
	return len(text)
}

// stringEnd is the length of the JSON string that text starts with.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
