package host

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

// segment is memory for processes: one file that each maps as a whole. It is
// mostly empty: a page takes up memory once it is touched.
type segment struct {
	file   *os.File
	bytes  []byte
	places places
	ration ration
	used   []extent // buffers, in ascending order
}

// places are offsets in a segment.
type places struct {
	command, fifos, arena int
	fifo                  [allreduce.NumProtos]int // within a connection's
	perConn               int
}

const (
	pageBytes    = 4096
	commandBytes = 1 << 20 // the plan of a run
)

// arenas are the rooms for buffers to try, largest first: some hosts limit how
// much a process may map.
var arenas = []int{1 << 40, 1 << 36, 1 << 32}

func placesOf(l *allreduce.Layout, s shape) (p places) {
	p.command = pages(s.controlBytes())
	p.fifos = p.command + commandBytes
	for _, proto := range allreduce.Protos() {
		p.fifo[proto] = p.perConn
		p.perConn += pages(l.BuffSize[proto])
	}
	p.arena = p.fifos + s.conns()*p.perConn
	return p
}

func pages(n int) int { return (n + pageBytes - 1) / pageBytes * pageBytes }

// newSegment makes and maps a segment; create makes a file of a size.
func newSegment(l *allreduce.Layout, s shape, create func(size int64) (*os.File, error)) (g *segment, err error) {
	p := placesOf(l, s)
	for _, room := range arenas {
		var f *os.File
		if f, err = create(int64(p.arena + room)); err != nil {
			continue
		}
		if g, err = mapSegment(f, p); err == nil {
			return g, nil
		}
		f.Close()
	}
	return nil, err
}

// mapSegment maps a segment that exists.
func mapSegment(f *os.File, p places) (*segment, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if info.Size() < int64(p.arena) {
		return nil, fmt.Errorf("shared memory of %d bytes, want at least %d", info.Size(), p.arena)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|noReserve)
	if err != nil {
		return nil, fmt.Errorf("map shared memory of %d bytes: %w", info.Size(), err)
	}
	return &segment{file: f, bytes: b, places: p, ration: ration{most: physical()}}, nil
}

func (g *segment) control() []byte { return g.bytes[:g.places.command] }

// command is where a run's plan is written down.
func (g *segment) command() []uint64 {
	return words(g.bytes[g.places.command:][:commandBytes])
}

func (g *segment) fifo(conn int, p allreduce.Proto) ([]byte, error) {
	at := g.places.fifos + conn*g.places.perConn + g.places.fifo[p]
	end := g.places.fifos + (conn+1)*g.places.perConn
	if int(p)+1 < len(g.places.fifo) {
		end = g.places.fifos + conn*g.places.perConn + g.places.fifo[p+1]
	}
	return g.bytes[at:end:end], nil
}

// extent is a stretch of the segment.
type extent struct{ from, to int }

// alloc takes the first gap that is large enough, in whole pages.
func (g *segment) alloc(size int64) ([]byte, error) {
	if size > int64(len(g.bytes)) {
		return nil, fmt.Errorf("%d bytes: the shared memory has room for %d: %w", size, len(g.bytes)-g.places.arena, syscall.ENOMEM)
	}
	need := pages(max(int(size), 1))
	if err := g.ration.take(int64(need)); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	at, i := g.places.arena, 0
	for ; i < len(g.used) && g.used[i].from-at < need; i++ {
		at = g.used[i].to
	}
	if len(g.bytes)-at < need {
		g.ration.give(int64(need))
		return nil, fmt.Errorf("%d bytes: the shared memory is full: %w", size, syscall.ENOMEM)
	}
	g.used = slices.Insert(g.used, i, extent{at, at + need})
	b := g.bytes[at : at+int(size) : at+need]
	g.populate(b)
	return b, nil
}

// populate maps the pages under a stretch.
func (g *segment) populate(b []byte) {
	from := g.offset(b) / pageBytes * pageBytes
	populate(g.bytes[from:min(pages(g.offset(b)+len(b)), len(g.bytes))])
}

func (g *segment) free(b []byte) {
	at := g.offset(b)
	i := slices.IndexFunc(g.used, func(e extent) bool { return e.from == at })
	if i < 0 {
		return
	}
	release(g.file, int64(at), int64(g.used[i].to-at))
	g.ration.give(int64(g.used[i].to - at))
	g.used = slices.Delete(g.used, i, i+1)
}

// offset is where a slice of the segment lies in it.
func (g *segment) offset(b []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(g.bytes))))
}

func (g *segment) close() error {
	err := syscall.Munmap(g.bytes)
	g.bytes = nil
	if e := g.file.Close(); err == nil {
		err = e
	}
	return err
}
