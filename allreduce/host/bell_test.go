package host

import (
	"testing"
	"time"
)

// lodger is a worker of one process, with nobody else.
func lodger() (*chanBells, *worker) {
	s := shape{2, 1}
	b := newChanBells(newControl(s, aligned(s.controlBytes())))
	e := &engine{shape: s, ctl: b.ctl, bells: b, spins: 2, yields: 3}
	return b, &worker{engine: e, number: 1, post: &b.ctl.posts[1]}
}

// A worker looks, yields, looks once more when it has said that it will sleep,
// and sleeps only then.
func TestPauseLooksOnceMore(t *testing.T) {
	b, w := lodger()
	for n := range w.spins + w.yields {
		if !w.pause(n) || w.armed {
			t.Fatalf("look %d: about to sleep already", n)
		}
	}
	n := w.spins + w.yields
	if !w.pause(n) || !w.armed || w.post.asleep.Load() != 1 {
		t.Fatal("it does not say that it will sleep")
	}
	b.rouse(w.number)
	slept := make(chan bool, 1)
	go func() { slept <- w.pause(n + 1) }()
	select {
	case ok := <-slept:
		if !ok || w.armed || w.post.asleep.Load() != 0 {
			t.Error("it woke up, but does not say so")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the ring before it slept was lost")
	}
}

// Who finds something in the last look does not leave a bed behind in which
// others think that it sleeps.
func TestResumeDisarms(t *testing.T) {
	b, w := lodger()
	n := w.spins + w.yields
	w.pause(n)
	w.post.place.Store(waiting)
	w.resume(n + 1)
	if w.armed || w.post.asleep.Load() != 0 || w.post.place.Load() != running {
		t.Errorf("armed %v, asleep %d, place %d", w.armed, w.post.asleep.Load(), w.post.place.Load())
	}
	b.rouse(w.number)
	if len(b.tokens[w.number]) != 0 {
		t.Error("rung for a worker that is awake")
	}
}

// An abort ends every wait, whether the worker sleeps or is about to.
func TestPauseEndsWithAbort(t *testing.T) {
	for _, armed := range []bool{false, true} {
		_, w := lodger()
		n := w.spins + w.yields
		if armed {
			w.pause(n)
			n++
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ; w.pause(n); n++ {
			}
		}()
		w.ctl.abort.Store(1)
		w.wakeAll()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("armed %v: it waits on", armed)
		}
	}
}

// The caller is rung for once per time that it asked to be.
func TestFinishRingsTheCaller(t *testing.T) {
	b, _ := lodger()
	caller := b.tokens[len(b.ctl.posts)]
	b.finish()
	if len(caller) != 0 {
		t.Error("rung although it did not ask")
	}
	b.ctl.board.asleep.Store(1)
	b.finish()
	b.finish()
	if len(caller) != 1 || b.ctl.board.asleep.Load() != 0 {
		t.Errorf("%d rings, asleep %d", len(caller), b.ctl.board.asleep.Load())
	}
}
