package draw

import (
	"fmt"
	"math"
)

// faults lists what is wrong with a picture: texts or boxes over each other,
// texts outside of the page or in a wire's way. It looks at the places that
// were computed, before Graphviz draws them.
func faults(p *Picture) []string {
	var out []string
	texts, boxes := p.inked()
	page := rect{0, 0, p.size.x, p.size.y}
	for i, a := range texts {
		if a.x < page.x || a.y < page.y || a.right() > page.right() || a.bottom() > page.bottom() {
			out = append(out, fmt.Sprintf("%q at %.0f is outside of the page %.0f", a.text, a.rect, page))
		}
		for _, b := range texts[i+1:] {
			if a.covers(b.rect) {
				out = append(out, fmt.Sprintf("%q at %.0f covers %q at %.0f", a.text, a.rect, b.text, b.rect))
			}
		}
	}
	for i, a := range boxes {
		for _, b := range boxes[i+1:] {
			if a.area.covers(b.area) {
				out = append(out, fmt.Sprintf("box %s at %.0f covers %s at %.0f", a.id, a.area, b.id, b.area))
			}
		}
	}
	for _, w := range p.wires {
		for _, t := range texts {
			if w.crosses(t.rect) {
				out = append(out, fmt.Sprintf("the wire %s to %s runs through %q", w.from, w.to, t.text))
			}
		}
	}
	return out
}

// inked gives all texts with their areas, and all boxes with a fill.
func (p *Picture) inked() (texts []textBox, boxes []box) {
	stack := func(lines []line, middle point) {
		high := 0.
		for _, l := range lines {
			high += 1.2 * l.size
		}
		y := middle.y - high/2
		for _, l := range lines {
			w := textWidth(l.text, l.size)
			if l.bold {
				w = boldWidth(l.text, l.size)
			}
			texts = append(texts, textBox{l.text, rect{middle.x - w/2, y + 0.17*l.size, w, 0.93 * l.size}})
			y += 1.2 * l.size
		}
	}
	var visit func(f *frame)
	add := func(bs []box) {
		for _, b := range bs {
			middle := b.area.center()
			if b.low {
				middle.y = b.area.bottom() - barText/2
			}
			stack(b.lines, middle)
			if b.fill != "" && b.fill != "#ffffff" || b.stroke == pciLine {
				boxes = append(boxes, b)
			}
		}
	}
	visit = func(f *frame) {
		stack(f.title, f.titlePlace())
		add(f.boxes)
		for i := range f.frames {
			visit(&f.frames[i])
		}
	}
	for i := range p.frames {
		visit(&p.frames[i])
	}
	add(p.boxes)
	for _, w := range p.wires {
		stack(w.label, w.at)
	}
	return texts, boxes
}

// crosses tells whether a wire runs through an area.
func (w *wire) crosses(area rect) bool {
	half := w.width / 2
	for _, pts := range w.parts {
		for i := 1; i < len(pts); i++ {
			a, b := pts[i-1], pts[i]
			dx, dy := half, half // wires end flat
			if a.x == b.x {
				dy = 0
			} else if a.y == b.y {
				dx = 0
			}
			n := int(math.Hypot(b.x-a.x, b.y-a.y)) + 1
			for k := range n + 1 {
				p := between(a, b, float64(k)/float64(n))
				if p.x > area.x-dx && p.x < area.right()+dx && p.y > area.y-dy && p.y < area.bottom()+dy {
					return true
				}
			}
		}
	}
	return false
}
