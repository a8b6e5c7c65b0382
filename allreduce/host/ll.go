package host

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/ringtopo/ringtopo/allreduce"
)

// A line of LL is two words, each with four bytes of data below and the flag
// above: what is seen of a word is seen as a whole.
const (
	llLine = 16 // bytes on the wire
	llData = 8  // bytes of data in it
)

// llFlag marks the lines of a step. Flags are 32 bits wide and come round
// again.
func llFlag(step uint64) uint64 { return (step + 1) << 32 }

// llCleans reports whether a step writes its unused lines too, so that no flag
// is older than half their range when it could be compared.
func llCleans(step uint64) bool { return step&0x7ffffff8 == 0x7ffffff8 }

// ll runs a primitive line by line: each flag announces its own data.
func (w *worker) ll(m *primitive) bool {
	if !w.awaitStep(m) {
		return false
	}
	for at := 0; at < m.n; at += block {
		n := min(block, m.n-at)
		acc := w.acc[:n]
		if m.in != nil {
			w.fold.load(acc, m.in[at:at+n])
		}
		for i, r := range m.recv {
			got := acc
			if m.in != nil || i > 0 {
				got = w.got[:n]
			}
			if !w.llReceive(r, at, got) {
				return false
			}
			if m.in != nil || i > 0 {
				w.fold.merge(acc, got, acc)
			}
		}
		if m.post {
			w.fold.finish(acc)
		}
		for _, s := range m.send {
			w.llSend(s, at, acc, m.drop)
		}
		if m.out != nil {
			copy(m.out[at:at+n], acc)
		}
	}
	w.llClean(m)
	w.postStep(m)
	return true
}

// awaitStep waits until every receiver has room for one step.
func (w *worker) awaitStep(m *primitive) bool {
	for _, s := range m.send {
		if !w.awaitCredit(s, s.step+1) || !w.holdBack(s, s.step+1) {
			return false
		}
	}
	return true
}

// postStep gives back what was read; what was written speaks for itself, but a
// sleeper must be told.
func (w *worker) postStep(m *primitive) {
	for _, r := range m.recv {
		r.step++
		w.postHead(r)
	}
	for _, s := range m.send {
		s.step++
		w.bells.rouse(s.receiver)
	}
	w.moved()
}

// lines are the words of a step's slot from the line on that holds data byte at.
func (w *worker) lines(e *end, at int) []atomic.Uint64 {
	return atomics(e.slot(allreduce.LL, w.work.StepBytes, w.work.StepBytes))[at/llData*2:]
}

// llSend writes data as lines. The rest of the last line is undefined.
func (w *worker) llSend(s *end, at int, data []byte, drop bool) {
	lines, flag := w.lines(s, at), llFlag(s.step)
	for i := 0; i < len(data); i += 4 {
		word := &lines[i/4]
		switch {
		case drop:
			word.Store(word.Load()&0xffffffff | flag)
		case i+4 <= len(data):
			word.Store(uint64(binary.NativeEndian.Uint32(data[i:])) | flag)
		default:
			word.Store(tailWord(data[i:]) | flag)
		}
	}
	if words := (len(data) + 3) / 4; words&1 == 1 {
		lines[words].Store(flag)
	}
}

// tailWord has fewer than four bytes in the places where memory has them.
func tailWord(data []byte) uint64 {
	var word [4]byte
	copy(word[:], data)
	return uint64(binary.NativeEndian.Uint32(word[:]))
}

// llReceive reads lines into data, each as soon as both its flags are there.
func (w *worker) llReceive(r *end, at int, data []byte) bool {
	lines, flag := w.lines(r, at), llFlag(r.step)
	if r.late.accepts() {
		flag = 0
	}
	for i := 0; i < len(data); i += llData {
		low, high, ok := w.llPoll(r, lines[i/4:], flag)
		if !ok {
			return false
		}
		if i+llData <= len(data) {
			binary.NativeEndian.PutUint32(data[i:], uint32(low))
			binary.NativeEndian.PutUint32(data[i+4:], uint32(high))
			continue
		}
		var line [llData]byte
		binary.NativeEndian.PutUint32(line[:], uint32(low))
		binary.NativeEndian.PutUint32(line[4:], uint32(high))
		copy(data[i:], line[:])
	}
	return true
}

const flagBits = 0xffffffff << 32

// llPoll looks at one line until both flags are right.
func (w *worker) llPoll(r *end, line []atomic.Uint64, flag uint64) (low, high uint64, ok bool) {
	for n := 0; ; n++ {
		low, high = line[0].Load(), line[1].Load()
		if (low^flag)&flagBits == 0 && (high^flag)&flagBits == 0 || r.late.accepts() {
			w.resume(n)
			return low, high, true
		}
		if !w.pauseFor(n, r.from, allreduce.WaitData, r.step+1, r.step, r.base) {
			return 0, 0, false
		}
	}
}

// llClean writes the lines that a message left unused, on the last round of
// slots before the flags reach half their range, and the whole.
func (w *worker) llClean(m *primitive) {
	for _, s := range m.send {
		if !llCleans(s.step) {
			continue
		}
		lines := w.lines(s, 0)
		for i := (m.n + llData - 1) / llData * 2; i < len(lines); i++ {
			lines[i].Store(llFlag(s.step))
		}
	}
}
