package host

import (
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// Injected faults. A fault sits with one worker, and strikes when that worker
// sends the chunk it names; a swapped neighbour and a stale flag sit in the
// connection behind it.

// staleness is a receiver's trust in a flag that does not change: when the
// chunk comes up it takes what the slot holds.
type staleness struct {
	on      bool
	at, now int // chunk to take unseen; chunk under way, from 0
}

func (s *staleness) accepts() bool { return s.on && s.now == s.at }

// checkFault says what is impossible about a fault in a layout.
func checkFault(l *allreduce.Layout, f allreduce.Fault, procs bool) error {
	switch {
	case f.Kind == allreduce.NoFault:
		return nil
	case int(f.Kind) >= allreduce.NumFaults:
		return fmt.Errorf("fault %v: unknown", f.Kind)
	case f.Rank < 0 || f.Rank >= l.NRanks:
		return fmt.Errorf("fault %v: rank %d, want 0 to %d", f.Kind, f.Rank, l.NRanks-1)
	case f.Channel < 0 || f.Channel >= l.Channels():
		return fmt.Errorf("fault %v: channel %d, want 0 to %d", f.Kind, f.Channel, l.Channels()-1)
	case f.Step < 0:
		return fmt.Errorf("fault %v: step %d", f.Kind, f.Step)
	case f.Kind == allreduce.KillProcess && !procs:
		return fmt.Errorf("fault %v: ranks are goroutines of one process; it needs one process per rank", f.Kind)
	}
	return nil
}

// spoil builds a fault into a worker, if it is the one, or a peer of it.
func (w *worker) spoil(f allreduce.Fault) {
	if f.Kind == allreduce.NoFault || w.channel != f.Channel {
		return
	}
	if f.Kind == allreduce.StaleFlag {
		w.noDirect = true // a slot keeps old data, an output has none
		w.distrust(w.ring.recv, f)
		w.distrust(w.up.recv, f)
	}
	if w.rank != f.Rank || w.role != first {
		return
	}
	w.fault = f
	if f.Kind == allreduce.SwapNeighbour {
		w.missend(w.ring.send, ringConn)
		w.missend(w.up.send, upConn)
	}
}

// distrust has a receiver believe a sender's flag once too early.
func (w *worker) distrust(recv []*end, f allreduce.Fault) {
	for _, r := range recv {
		if r.from == f.Rank {
			r.late = staleness{on: true, at: f.Step}
		}
	}
}

// missend connects a sender to the neighbour of its neighbour, which does not
// listen to it.
func (w *worker) missend(send []*end, kind int) {
	for i, s := range send {
		behind := &w.conns[w.shape.conn(w.channel, kind, s.to)]
		wrong := &w.conns[w.shape.spare()]
		wrong.from, wrong.to = w.rank, behind.to
		wrong.sender, wrong.receiver = s.sender, behind.receiver
		send[i] = &end{conn: wrong}
	}
}

// beFaulty lets the worker's fault act on a primitive that sends.
func (w *worker) beFaulty(m *primitive) bool {
	m.drop = w.drops()
	ok := w.obey()
	w.sent++
	return ok
}

// strikes reports whether it is time for the fault.
func (w *worker) strikes(k allreduce.FaultKind) bool {
	return w.fault.Kind == k && w.sent == w.fault.Step
}

func (w *worker) drops() bool { return w.strikes(allreduce.DropChunk) }

// obey lets a rank stop, or its process die.
func (w *worker) obey() bool {
	if w.strikes(allreduce.KillProcess) {
		w.kill()
	}
	if !w.strikes(allreduce.StopRank) {
		return true
	}
	w.post.place.Store(stopped)
	for n := 0; w.pause(n); n++ {
	}
	return false
}

// holdBack keeps a sender with a stale flag from writing before the receiver
// has taken the old data.
func (w *worker) holdBack(s *end, want uint64) bool {
	if w.fault.Kind != allreduce.StaleFlag || w.sent-1 != w.fault.Step {
		return true
	}
	for n := 0; ; n++ {
		seen := s.head.Load()
		if seen >= want {
			w.resume(n)
			return true
		}
		if !w.pauseFor(n, s.to, allreduce.WaitCredit, want, seen, s.base) {
			return false
		}
	}
}
