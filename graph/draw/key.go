package draw

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/graph"
)

const (
	keyRow    = 17.
	keySample = 46. // length of a sample line
	// Widths that texts below the picture may take at least.
	keyLeast     = 600.
	captionLeast = 300.
)

// emitKey writes below the picture which ring looks how, and what the words on
// the links mean.
func (l *layout) emitKey() {
	y := l.y.end + pageMargin
	for i := range l.overlays {
		y = l.emitRingKey(i, y)
	}
	for i, text := range wrap(l.caption(), smallSize, max(l.pic.size.x-2*pageMargin, captionLeast)) {
		at := point{pageMargin, y}
		l.pic.boxes = append(l.pic.boxes, keyText("caption "+strconv.Itoa(i), text, smallSize, softInk, at))
		y += keyRow - 4
	}
	l.pic.size.y = y + pageMargin/2
	for _, b := range l.pic.boxes {
		l.pic.size.x = max(l.pic.size.x, b.area.right()+pageMargin)
	}
}

// emitRingKey writes one ring's ranks behind a sample of its line.
func (l *layout) emitRingKey(i int, y float64) float64 {
	o := &l.overlays[i]
	look := o.look(i)
	id := "key " + strconv.Itoa(i)
	l.add(wire{
		from: id + " from", to: id + " 0", color: look.color, dash: look.dash, width: riderWidth, arrow: true,
		parts: [][]point{{{pageMargin, y + keyRow/2}, {pageMargin + keySample, y + keyRow/2}}},
	})
	l.pic.boxes = append(l.pic.boxes, box{id: id + " from", area: rect{pageMargin, y, 1, keyRow}})
	width := max(l.pic.size.x-2*pageMargin, keyLeast) - keySample
	for k, text := range wrap(o.Title+":  "+o.cycle(), keySize, width) {
		at := point{pageMargin + keySample + 8, y}
		l.pic.boxes = append(l.pic.boxes, keyText(fmt.Sprintf("%s %d", id, k), text, keySize, look.color, at))
		y += keyRow
	}
	return y
}

// wrap deals the words of a text out to lines of at most a width.
func wrap(text string, size, width float64) []string {
	var lines []string
	current := ""
	for _, word := range strings.Split(text, " ") {
		longer := current + " " + word
		if current == "" {
			longer = word
		}
		if current != "" && textWidth(longer, size) > width {
			lines, longer = append(lines, current), word
		}
		current = longer
	}
	return append(lines, current)
}

// keyText is a line of text that begins at a place.
func keyText(id, text string, size float64, color string, at point) box {
	return box{
		id: id, lines: label(color, size, text),
		area: rect{at.x, at.y, textWidth(text, size), keyRow},
	}
}

// cycle writes the ranks in the order of the ring.
func (o *Overlay) cycle() string {
	var b strings.Builder
	for i, hop := range o.Hops {
		if i == 0 {
			b.WriteString(strconv.Itoa(hop.From))
		}
		b.WriteString(" → " + strconv.Itoa(hop.To))
	}
	return b.String()
}

// caption explains the words of the picture, and says what it leaves out
// because it is alike everywhere.
func (l *layout) caption() string {
	text := "GB/s in one direction, as NCCL 2.22 counts. A line's width follows its bandwidth."
	words := []struct{ word, meaning string }{
		{"NV", " NVn: n NVLinks."}, {"SYS", " SYS: between CPUs."}, {"C2C", " C2C: between the chips of one module."},
		{"PIX", " PIX: through one PCI switch."}, {"PXB", " PXB: through several PCI switches."},
		{"PHB", " PHB: through a CPU."}, {"NET", " NET: through the network."}, {"DIS", " DIS: not joined."},
	}
	for _, w := range words {
		if l.says(w.word) {
			text += w.meaning
		}
	}
	if l.peers {
		text += " Dash-dotted: PCI switches joined on the board."
	}
	if l.virtual {
		text += " Thin, dash-dotted: a device without a PCI link of its own."
	}
	if speed, ok := l.pciSpeed(); l.m.compact && ok {
		text += " All PCI links: " + speed + "."
	}
	if speed, ok := l.netSpeed(); l.m.compact && ok {
		text += " All NICs: " + speed + "."
	}
	return text
}

// says tells whether a label or the NVSwitch's text has a word.
func (l *layout) says(word string) bool {
	has := func(lines []line) bool {
		return slices.ContainsFunc(lines, func(t line) bool { return strings.Contains(t.text, word) })
	}
	return slices.ContainsFunc(l.pic.wires, func(w wire) bool { return has(w.label) }) ||
		slices.ContainsFunc(l.pic.frames, func(f frame) bool {
			return slices.ContainsFunc(f.boxes, func(b box) bool { return has(b.lines) })
		})
}

// netSpeed is the speed that all NICs share.
func (l *layout) netSpeed() (speed string, alike bool) {
	for _, p := range l.hosts {
		for _, n := range p.host.Graph.NodesOf(graph.NET) {
			s := gbit(n.Net.BW)
			if speed == "" {
				speed, alike = s, true
			}
			alike = alike && s == speed
		}
	}
	return speed, alike
}

// pciSpeed is the speed that all PCI links share.
func (l *layout) pciSpeed() (speed string, alike bool) {
	for _, p := range l.hosts {
		for _, root := range p.roots {
			root.walk(func(br *branch) {
				for _, s := range br.speeds() {
					if speed == "" {
						speed, alike = s, true
					}
					alike = alike && s == speed
				}
			})
		}
	}
	return speed, alike
}

// speeds are those of the links right below a branch.
func (br *branch) speeds() []string {
	var out []string
	for _, sub := range br.branches {
		out = append(out, gbps(sub.up.BW))
	}
	for _, leaf := range br.leaves {
		if leaf.up != nil {
			out = append(out, gbps(leaf.up.BW))
		}
	}
	return out
}
