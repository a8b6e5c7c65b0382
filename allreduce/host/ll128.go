package host

import (
	"sync/atomic"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

// LL128 moves data in groups of 16 lines, as one warp does: 256 words of which
// 240 are data. A line's sixteenth word is its flag. How data words lie in a
// group follows from 32 lanes that move 16 bytes each, four times, and from
// which the flags take away every eighth lane's second word.
const (
	groupWire  = 2048
	groupData  = 1920
	lineWords  = 16
	groupLines = 16
)

// wirePlace is, for each data word of a group, its word on the wire.
var wirePlace = wirePlaces()

func wirePlaces() (place [groupData / 8]uint8) {
	for g := range 4 {
		for lane := range 32 {
			wire := 64*g + 2*lane
			u := unit(g, lane)
			switch flagged := lane%8 == 7; {
			case !flagged:
				place[2*u], place[2*u+1] = uint8(wire), uint8(wire+1)
			case g%2 == 0:
				place[2*u] = uint8(wire)
			default: // the half that found no room beside the flag before
				place[2*unit(g-1, lane)+1] = uint8(wire)
			}
		}
	}
	return place
}

// unit is the 16-byte unit of a group's data that a lane loads in its g-th turn.
func unit(g, lane int) int { return 60*(g/2) + 32*(g%2) + lane - g%2*(lane/8) }

// ll128 runs a primitive group by group.
func (w *worker) ll128(m *primitive) bool {
	if !w.awaitStep(m) {
		return false
	}
	for g, at := 0, 0; at < m.n; g, at = g+1, at+groupData {
		n := min(groupData, m.n-at)
		acc := w.acc[:groupData] // whole groups travel
		if m.in != nil {
			w.fold.load(acc[:n], m.in[at:at+n])
		}
		for i, r := range m.recv {
			got := acc
			if m.in != nil || i > 0 {
				got = w.got[:groupData]
			}
			if !w.ll128Receive(r, g, got) {
				return false
			}
			if m.in != nil || i > 0 {
				w.fold.merge(acc[:n], got[:n], acc[:n])
			}
		}
		if m.post {
			w.fold.finish(acc[:n])
		}
		for _, s := range m.send {
			w.ll128Send(s, g, acc, m.drop)
		}
		if m.out != nil {
			copy(m.out[at:at+n], acc)
		}
	}
	w.postStep(m)
	return true
}

// group views the g-th group of a step's slot.
func (w *worker) group(e *end, g int) *[groupWire / 8]uint64 {
	b := e.slot(allreduce.LL128, w.work.StepBytes, w.work.StepBytes)[g*groupWire:][:groupWire]
	return (*[groupWire / 8]uint64)(unsafe.Pointer(unsafe.SliceData(b)))
}

// ll128Send writes a group's data and then its flags, each behind its line.
func (w *worker) ll128Send(s *end, g int, data []byte, drop bool) {
	wire := w.group(s, g)
	if !drop {
		src := (*[groupData / 8]uint64)(unsafe.Pointer(unsafe.SliceData(data)))
		for i, v := range src {
			wire[wirePlace[i]] = v
		}
	}
	for l := range groupLines {
		atomic.StoreUint64(&wire[l*lineWords+lineWords-1], s.step+1)
	}
}

// ll128Receive waits until all flags of a group are there, and reads its data.
func (w *worker) ll128Receive(r *end, g int, data []byte) bool {
	wire := w.group(r, g)
	for l := range groupLines {
		if !w.ll128Vote(r, &wire[l*lineWords+lineWords-1]) {
			return false
		}
	}
	dst := (*[groupData / 8]uint64)(unsafe.Pointer(unsafe.SliceData(data)))
	for i := range dst {
		dst[i] = wire[wirePlace[i]]
	}
	return true
}

// ll128Vote looks at a flag until it is right.
func (w *worker) ll128Vote(r *end, flag *uint64) bool {
	for n := 0; ; n++ {
		if atomic.LoadUint64(flag) == r.step+1 || r.late.accepts() {
			w.resume(n)
			return true
		}
		if !w.pauseFor(n, r.from, allreduce.WaitData, r.step+1, r.step, r.base) {
			return false
		}
	}
}
