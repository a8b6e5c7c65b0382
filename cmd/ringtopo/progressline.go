package main

import (
	"fmt"
	"strings"
)

// mostColumns of a line fit on every terminal; a longer line would not go away.
const mostColumns = 79

// line says what is under way, in the place of what it said before.
func (p *progress) line(text string) {
	if p.w == nil {
		return
	}
	if len(text) > mostColumns {
		text = text[:mostColumns-3] + "..."
	}
	fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(0, p.width-len(text))))
	p.width = len(text)
}
