package ncclxml

import (
	"bufio"
	"io"
	"strings"
)

// Encode writes a document as NCCL writes its own: two spaces of indentation
// per level, attributes in their order, no declaration, and elements without
// children closed in their tag. Reading it gives the same document, except for
// the latter and for line numbers.
func Encode(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	if d.Root != nil {
		encode(b, d.Root, "")
	}
	encodeComments(b, d.Tail, "")
	return b.Flush() // keeps the first error of all writes
}

func encode(b *bufio.Writer, e *Element, indent string) {
	encodeComments(b, e.Comments, indent)
	b.WriteString(indent + "<" + e.Name)
	for _, a := range e.Attrs {
		b.WriteString(" " + a.Key + `="`)
		escaper.WriteString(b, a.Value)
		b.WriteByte('"')
	}
	if len(e.Children)+len(e.Tail) == 0 {
		b.WriteString("/>\n")
		return
	}
	b.WriteString(">\n")
	for _, c := range e.Children {
		encode(b, c, indent+"  ")
	}
	encodeComments(b, e.Tail, indent+"  ")
	b.WriteString(indent + "</" + e.Name + ">\n")
}

// encodeComments leaves a space at both ends: NCCL needs the first.
func encodeComments(b *bufio.Writer, comments []string, indent string) {
	for _, c := range comments {
		b.WriteString(indent + "<!-- " + c + " -->\n")
	}
}

// escaper hides what would end a value or be changed on reading.
var escaper = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")
