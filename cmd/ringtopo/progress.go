package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// progress shows how far long work is, on a terminal only.
type progress struct {
	w       io.Writer  // nil: nobody looks
	columns func() int // of the terminal by now, 0 if it does not tell
	width   int
}

func (a *app) newProgress() *progress {
	f, ok := a.err.(*os.File)
	if !ok || a.quiet {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{w: f, columns: func() int {
		size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			return 0
		}
		return int(size.Col)
	}}
}

// show replaces the line. It is cut where the terminal ends: a line that goes on
// in the next row could not be replaced.
func (p *progress) show(done, total int, s bench.Setting) {
	if p.w == nil {
		return
	}
	line := fmt.Sprintf("%d of %d  %v", done+1, total, s)
	room := p.columns()
	if room > 0 {
		line = line[:min(len(line), room-1)]
		p.width = min(p.width, room-1) // it may have been made narrower
	}
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// end clears the line.
func (p *progress) end() {
	if p.w != nil {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
	}
}
