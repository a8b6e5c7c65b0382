package host

import "runtime"

// bells let workers sleep and wake them. What a worker waits for must be stored
// before it is rung for. Numbers are those of posts.
type bells interface {
	// yield lets others run first.
	yield()
	// arm comes before the last look: no ring after it is missed.
	arm(w *worker)
	// sleep returns at a ring since arm, or for no reason.
	sleep(w *worker)
	// disarm tells that the last look found something.
	disarm(w *worker)
	// rouse rings for a worker that is armed, wake for one that may be.
	rouse(post int)
	wake(post int)
	// leave tells that a worker is through with the run, last that all others
	// are; then finish rouses the caller.
	leave()
	last()
	finish()
}

// chanBells are for goroutines. A token that nobody waits for makes a later
// sleep return early, which is allowed.
type chanBells struct {
	ctl    control
	tokens []chan struct{} // by post; the last is the caller's
}

func newChanBells(c control) *chanBells {
	b := &chanBells{ctl: c, tokens: make([]chan struct{}, len(c.posts)+1)}
	for i := range b.tokens {
		b.tokens[i] = make(chan struct{}, 1)
	}
	return b
}

func (b *chanBells) yield() { runtime.Gosched() }

func (b *chanBells) arm(w *worker) { w.post.asleep.Store(1) }

func (b *chanBells) sleep(w *worker) {
	<-b.tokens[w.number]
	w.post.asleep.Store(0)
}

func (b *chanBells) disarm(w *worker) { w.post.asleep.Store(0) }

func (b *chanBells) rouse(post int) {
	if a := &b.ctl.posts[post].asleep; a.Load() == 1 && a.CompareAndSwap(1, 0) {
		b.ring(post)
	}
}

func (b *chanBells) wake(post int) {
	b.ctl.posts[post].asleep.Store(0)
	b.ring(post)
}

func (b *chanBells) leave() {}
func (b *chanBells) last()  {}

func (b *chanBells) finish() {
	if b.ctl.board.asleep.CompareAndSwap(1, 0) {
		b.ring(len(b.ctl.posts))
	}
}

func (b *chanBells) ring(i int) {
	select {
	case b.tokens[i] <- struct{}{}:
	default:
	}
}

// wakeAll rouses every worker, so that it sees an abort.
func (e *engine) wakeAll() {
	for p := range e.ctl.posts {
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
		w.bells.arm(w)
		w.armed = true
		return true
	}
	w.bells.sleep(w)
	w.armed = false
	return true
}

// resume ends a wait of n looks.
func (w *worker) resume(n int) {
	if w.armed {
		w.bells.disarm(w)
		w.armed = false
	}
	if n > w.spins+w.yields {
		w.post.place.Store(running)
	}
}
