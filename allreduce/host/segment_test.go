package host

import (
	"runtime"
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"pgregory.net/rapid"
)

// Every place in a segment is its own: control block, command, FIFOs of all
// connections and protocols, buffers.
func TestPlacesDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &allreduce.Layout{}
		for p := range l.BuffSize {
			l.BuffSize[p] = rapid.IntRange(1, 100_000).Draw(rt, "buffer")
		}
		s := shape{rapid.IntRange(1, 9).Draw(rt, "ranks"), rapid.IntRange(1, 9).Draw(rt, "channels")}
		p := placesOf(l, s)
		g := &segment{bytes: make([]byte, p.arena), places: p}
		list := []extent{{0, s.controlBytes()}, {p.command, p.command + commandBytes}}
		for c := range s.conns() {
			for _, proto := range allreduce.Protos() {
				f, err := g.fifo(c, proto)
				if err != nil || len(f) < l.BuffSize[proto] {
					rt.Fatalf("FIFO of %d bytes, want %d: %v", len(f), l.BuffSize[proto], err)
				}
				at := g.offset(f)
				list = append(list, extent{at, at + len(f)})
			}
		}
		slices.SortFunc(list, func(a, b extent) int { return a.from - b.from })
		for i := range list[1:] {
			if list[i].to > list[i+1].from {
				rt.Fatalf("%v and %v overlap", list[i], list[i+1])
			}
		}
		if last := list[len(list)-1]; last.to > p.arena {
			rt.Fatalf("%v reaches into the buffers, from %d on", last, p.arena)
		}
	})
}

// A gap is used again if it is large enough, and only then; what is no buffer is
// not freed.
func TestSegmentUsesGaps(t *testing.T) {
	g, _ := smallSegment(t)
	take := func(pages int) []byte {
		b, err := g.alloc(int64(pages * pageBytes))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, b, c := take(1), take(3), take(1)
	g.free(b)
	g.free(b)
	g.free(c[16:])
	if len(g.used) != 2 {
		t.Errorf("%d buffers are left, want 2", len(g.used))
	}
	if large := take(4); g.offset(large) < g.offset(c) {
		t.Error("a buffer lies in a gap that is too small for it")
	}
	if two, one := take(2), take(1); g.offset(two) != g.offset(b) || g.offset(one) != g.offset(b)+2*pageBytes {
		t.Errorf("buffers at %d and %d, want them in the gap at %d", g.offset(two), g.offset(one), g.offset(b))
	}
	if g.offset(a) != g.places.arena {
		t.Errorf("the first buffer lies at %d, want %d", g.offset(a), g.places.arena)
	}
}

// Memory that was given back is zero when it is given out again.
func TestSegmentForgets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pages go with the segment")
	}
	g, _ := smallSegment(t)
	b, err := g.alloc(5 * pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = 0xff
	}
	at := g.offset(b)
	g.free(b)
	again, err := g.alloc(5 * pageBytes)
	if err != nil || g.offset(again) != at {
		t.Fatalf("at %d, was at %d, error %v", g.offset(again), at, err)
	}
	if slices.Max(again) != 0 {
		t.Error("another's data is still there")
	}
}

// Two mappings of one segment are the same memory, as for two processes.
func TestSegmentIsShared(t *testing.T) {
	g, l := smallSegment(t)
	file, err := launch.Memory(int64(len(g.bytes)))
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	s := shape{l.NRanks, l.Channels()}
	one, err := mapSegment(file, placesOf(l, s))
	if err != nil {
		t.Fatal(err)
	}
	defer one.close()
	two, err := mapSegment(file, placesOf(l, s))
	if err != nil {
		t.Fatal(err)
	}
	defer two.close()
	b, err := one.alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	b[999] = 7
	if two.bytes[one.offset(b)+999] != 7 {
		t.Error("the other mapping does not see it")
	}
	newControl(s, one.control()).posts[3].progress.Store(5)
	if newControl(s, two.control()).posts[3].progress.Load() != 5 {
		t.Error("the other control block does not see it")
	}
}
