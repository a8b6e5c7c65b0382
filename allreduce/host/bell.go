package host

import (
	"runtime"
)

// bells lets workers sleep and wakes them. Numbers are those of posts; caller
// is the one who waits for the end of a run.
type bells interface {
	sleep(post int) // until wake, or a spurious return
	wake(post int)
	yield() // lets others run first
}

// chanBells are for goroutines. A token that nobody waits for makes a later
// sleep return early, which is allowed.
type chanBells []chan struct{}

func newChanBells(n int) chanBells {
	b := make(chanBells, n)
	for i := range b {
		b[i] = make(chan struct{}, 1)
	}
	return b
}

func (b chanBells) yield() { runtime.Gosched() }

func (b chanBells) sleep(post int) { <-b[post] }

func (b chanBells) wake(post int) {
	select {
	case b[post] <- struct{}{}:
	default:
	}
}

// rouse wakes the worker of a post if it sleeps. What it waits for must have
// been stored before.
func (e *engine) rouse(p int) {
	if a := &e.ctl.posts[p].asleep; a.Load() == 1 && a.CompareAndSwap(1, 0) {
		e.bells.wake(p)
	}
}

// wakeAll rouses every worker, so that it sees an abort.
func (e *engine) wakeAll() {
	for p := range e.ctl.posts {
		e.ctl.posts[p].asleep.Store(0)
		e.bells.wake(p)
	}
}

// How often a worker lets others run before it sleeps. Between processes more:
// to wake one costs far more than to wake a goroutine.
const (
	localYields  = 16
	remoteYields = 50
)

// pause passes the time between the n-th look at something and the next, n from
// 0. It says false when the run is aborted.
func (w *worker) pause(n int) bool {
	switch {
	case n < w.spins:
		return true
	case n < w.spins+w.yields:
		w.bells.yield()
		return true
	case w.ctl.abort.Load() != 0:
		return false
	case !w.armed: // one more look, lest what was stored just now goes unseen
		w.post.asleep.Store(1)
		w.armed = true
		return true
	}
	w.bells.sleep(w.number)
	w.post.asleep.Store(0)
	w.armed = false
	return true
}

// resume ends a wait of n looks.
func (w *worker) resume(n int) {
	if w.armed {
		w.post.asleep.Store(0)
		w.armed = false
	}
	if n > w.spins+w.yields {
		w.post.place.Store(running)
	}
}
