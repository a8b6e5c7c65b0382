package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/ringtopo/ringtopo/allreduce/bench"
)

// thisHost says what figures measured here belong to.
func thisHost() bench.Host {
	h := bench.Host{CPU: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Ringtopo: version()}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
			h.CPU = cpus[0].ModelName
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	return h
}

// progress shows how far long work is, on a terminal only.
type progress struct {
	w     io.Writer // nil: nobody looks
	width int
}

func (a *app) newProgress() *progress {
	f, ok := a.err.(*os.File)
	if !ok || a.quiet {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{w: f}
}

func (p *progress) show(done, total int, s bench.Setting) {
	if p.w == nil {
		return
	}
	line := fmt.Sprintf("%d of %d  %v", done+1, total, s)
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// end clears the line.
func (p *progress) end() {
	if p.w != nil {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
	}
}
