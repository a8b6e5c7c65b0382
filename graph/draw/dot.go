package draw

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
)

const (
	fontName  = "Helvetica"
	perInch   = 72
	arrowUnit = 10 // length of Graphviz's arrows
	corner    = 5  // radius of a wire's corners
)

// DOT gives the picture in Graphviz's language, with every place fixed:
// `neato -n2` draws it as it is, `dot` lays it out anew.
func (p *Picture) DOT() []byte {
	w := &dotWriter{height: p.size.y}
	w.line("digraph %s {", quote(p.name))
	w.line("graph [bb=%s, outputorder=nodesfirst, pad=0.1, splines=line, fontname=%s, nodesep=0.4, ranksep=0.7]",
		quote(w.corners(rect{0, 0, p.size.x, p.size.y})), quote(fontName))
	w.line("node [shape=box, fixedsize=true, margin=0, fontname=%s]", quote(fontName))
	w.line("edge [fontname=%s]", quote(fontName))
	for i := range p.frames {
		w.frame(&p.frames[i])
	}
	for i := range p.boxes {
		w.box(&p.boxes[i])
	}
	for i := range p.wires {
		w.wire(&p.wires[i])
	}
	w.line("}")
	return w.out.Bytes()
}

// dotWriter turns y around: Graphviz's points upwards.
type dotWriter struct {
	out    bytes.Buffer
	height float64
}

func (w *dotWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

func (w *dotWriter) frame(f *frame) {
	w.line("subgraph %s {", quote("cluster_"+f.id))
	w.line("graph [bb=%s, style=%s, fillcolor=%s, color=%s, label=%s, lp=%s]",
		quote(w.corners(f.area)), quote("rounded,filled"), quote(f.fill), quote(f.stroke),
		htmlLabel(f.title), quote(w.place(f.titlePlace())))
	for i := range f.frames {
		w.frame(&f.frames[i])
	}
	for i := range f.boxes {
		w.box(&f.boxes[i])
	}
	w.line("}")
}

func (w *dotWriter) box(b *box) {
	w.out.WriteString(fmt.Sprintf("%s [pos=%s, width=%s, height=%s, label=%s", quote(b.id), quote(w.place(b.area.center())),
		number(b.area.w/perInch), number(b.area.h/perInch), b.label()))
	if b.fill == "" {
		w.line(", shape=plaintext]")
		return
	}
	style := "filled"
	if b.round {
		style = "filled,rounded"
	}
	if b.low {
		w.out.WriteString(", labelloc=b")
	}
	w.line(", style=%s, fillcolor=%s, color=%s, tooltip=%s]", quote(style), quote(b.fill), quote(b.stroke), quote(b.tip))
}

func (w *dotWriter) wire(e *wire) {
	dir := "none"
	if e.arrow {
		dir = "forward, constraint=false, arrowsize=" + number(arrowScale(e.width)) // rings do not rank GPUs
	}
	w.out.WriteString(fmt.Sprintf("%s -> %s [pos=%s, color=%s, penwidth=%s, style=%s, dir=%s",
		quote(e.from), quote(e.to), quote(w.path(e)), quote(e.color), number(e.width), e.dash, dir))
	if len(e.label) > 0 {
		fmt.Fprintf(&w.out, ", label=%s, lp=%s, fontsize=%s, fontcolor=%s",
			plainLabel(e.label), quote(w.place(e.at)), number(e.label[0].size), quote(e.label[0].color))
	}
	if e.tip != "" {
		fmt.Fprintf(&w.out, ", tooltip=%s", quote(e.tip))
	}
	w.line("]")
}

// arrowScale keeps an arrow wider than its line.
func arrowScale(width float64) float64 { return max(0.6, 0.3*width) }

// path gives the wire as Graphviz's Bezier curves, one per part.
func (w *dotWriter) path(e *wire) string {
	var parts []string
	for i, pts := range e.parts {
		var ends string
		if e.arrow && i == len(e.parts)-1 {
			tip := pts[len(pts)-1]
			ends = "e," + w.place(tip) + " "
			pts = append(pts[:len(pts)-1:len(pts)-1], toward(tip, pts[len(pts)-2], arrowUnit*arrowScale(e.width)))
		}
		var places []string
		for _, p := range bezier(pts, corner) {
			places = append(places, w.place(p))
		}
		parts = append(parts, ends+strings.Join(places, " "))
	}
	return strings.Join(parts, ";")
}

func (w *dotWriter) place(p point) string { return number(p.x) + "," + number(w.height-p.y) }

func (w *dotWriter) corners(r rect) string {
	return w.place(point{r.x, r.bottom()}) + "," + w.place(point{r.right(), r.y})
}

// number rounds to hundredths: finer places cannot be seen.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64) // +0 makes -0 plain
}

// quote makes a DOT string. Backslashes would start Graphviz's own escapes, and
// ampersands those of HTML.
func quote(s string) string { return `"` + escape(s) + `"` }

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(printable(s))
}

// htmlLabel makes a label whose lines have their own size and weight. A line
// without text leaves room.
func htmlLabel(lines []line) string {
	if len(lines) == 0 {
		return `""`
	}
	var b strings.Builder
	b.WriteByte('<')
	for i, l := range lines {
		if l.text == "" {
			fmt.Fprintf(&b, `<FONT POINT-SIZE="%s"><BR/></FONT>`, number(l.size))
			continue
		}
		text := html.EscapeString(printable(l.text))
		if l.bold {
			text = "<B>" + text + "</B>"
		}
		fmt.Fprintf(&b, `<FONT POINT-SIZE="%s" COLOR="%s">%s</FONT>`, number(l.size), l.color, text)
		if i < len(lines)-1 {
			b.WriteString("<BR/>")
		}
	}
	b.WriteByte('>')
	return b.String()
}

// label stands in the middle of a box, and at the left of a text alone.
func (b *box) label() string {
	if b.low { // a thin empty line keeps the text off the edge
		return htmlLabel(append(b.lines[:len(b.lines):len(b.lines)], line{size: 4}))
	}
	if b.fill != "" || len(b.lines) == 0 {
		return htmlLabel(b.lines)
	}
	l := b.lines[0]
	return fmt.Sprintf("\"%s\\l\", fontsize=%s, fontcolor=%s", escape(l.text), number(l.size), quote(l.color))
}

// plainLabel makes a label whose lines are all alike; Graphviz centres them.
func plainLabel(lines []line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = escape(l.text)
	}
	return `"` + strings.Join(texts, `\n`) + `"`
}

// printable replaces what no label can hold, or what would turn the text around
// it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
