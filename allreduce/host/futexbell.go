package host

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// nap is how long a sleeper sleeps at most: a belt for the braces.
const nap = 100 * time.Millisecond

// futexBells are for processes of one rank each, whose workers share few
// processors, often one. Another worker of the process is a goroutine away,
// another process far more. So a process gives its processor away, or sleeps,
// only when all its workers have looked in vain; it has one bell, at the door of
// the rank, and whoever is rung wakes all.
type futexBells struct {
	ctl   control
	shape shape

	crowd atomic.Int32 // workers of this process that are in the run
	looks atomic.Int32 // since it last gave its processor away
	beds  atomic.Int32 // workers that sleep, or are about to
	nap   time.Duration

	mu     sync.Mutex
	ticket uint32 // rings at the door, when last looked
	vain   int    // workers that have looked in vain since
}

func newFutexBells(c control, s shape) *futexBells {
	return &futexBells{ctl: c, shape: s, nap: nap}
}

// gather tells how many workers of this process will take part in the run.
func (b *futexBells) gather(workers int) { b.crowd.Store(int32(workers)) }

// busy reports whether some of them are still in it.
func (b *futexBells) busy() bool { return b.crowd.Load() > 0 }

func (b *futexBells) leave() { b.crowd.Add(-1) }

func (b *futexBells) last() { b.ctl.board.ended.Store(now()) }

// yield lets the process's other workers run; and other processes, once each of
// its own has had a look.
func (b *futexBells) yield() {
	if b.looks.Add(1) >= b.crowd.Load() {
		b.looks.Store(0)
		yieldCPU()
	}
	runtime.Gosched()
}

// door is the post that holds the bell of a post's process.
func (b *futexBells) door(number int) *post {
	perRank := b.shape.channels * roles
	return &b.ctl.posts[number/perRank*perRank]
}

// arm takes a ticket. While the number of rings is that of the ticket, the door
// says that somebody sleeps: it is cleared before each ring, never after.
func (b *futexBells) arm(w *worker) {
	d := b.door(w.number)
	d.asleep.Store(1)
	if now := d.rings.Load(); now != w.ticket {
		w.ticket, w.vain = now, false
	}
}

// sleep sends the process to sleep if all its workers have looked in vain since
// the last ring.
func (b *futexBells) sleep(w *worker) {
	d := b.door(w.number)
	if d.rings.Load() == w.ticket && b.all(w) {
		b.beds.Add(1)
		futexWait(&d.rings, w.ticket, b.nap)
		b.beds.Add(-1)
		return
	}
	runtime.Gosched()
}

// all counts a worker among those who have looked in vain, and says whether
// none is missing.
func (b *futexBells) all(w *worker) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ticket != w.ticket {
		b.ticket, b.vain = w.ticket, 0
	}
	if !w.vain {
		w.vain = true
		b.vain++
	}
	return b.vain >= int(b.crowd.Load())
}

// disarm has the process's other workers look and count anew. One of them may
// sleep, since a worker looks again after it has counted as one that looked in
// vain: nobody would ring for it at a door that says that all are awake.
func (b *futexBells) disarm(w *worker) {
	d := b.door(w.number)
	d.asleep.Store(0)
	d.rings.Add(1)
	if b.beds.Load() > 0 {
		futexWake(&d.rings)
	}
}

func (b *futexBells) rouse(number int) {
	d := b.door(number)
	if d.asleep.Load() == 1 && d.asleep.CompareAndSwap(1, 0) {
		d.rings.Add(1)
		futexWake(&d.rings)
	}
}

func (b *futexBells) wake(number int) {
	d := b.door(number)
	d.asleep.Store(0)
	d.rings.Add(1)
	futexWake(&d.rings)
}

func (b *futexBells) finish() {
	if a := &b.ctl.board.asleep; a.CompareAndSwap(1, 0) {
		futexWake(a)
	}
}
