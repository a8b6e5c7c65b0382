package host

import (
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// worker is what one rank does on one channel, or the second half of it for a
// tree. It runs in a goroutine of its own, from set-up to Close.
type worker struct {
	*engine
	rank, channel, role int
	number              int // of its post
	post                *post
	start               chan struct{} // one token per run

	position schedule.Position // in the channel's ring
	ring     link
	up, down link // tree: receive from children and send up; receive from up and send to children
	next     int  // user rank that follows in the ring
	children []int

	work     *allreduce.Work // under way
	fold     fold
	acc, got []byte // scratch of a block or group
	wide     []byte // both together
	// what a direct algorithm has at hand: a stretch, and a block of it
	inputs, outputs, pieces [][]byte
	target                  [1][]byte
	armed                   bool   // has said that it is about to sleep
	ticket                  uint32 // with processes: the rings until it did,
	vain                    bool   // and whether it has looked in vain since
	progress                uint64
	met                     uint64 // meetings since set-up
	metBase                 uint64 // before the run

	fault allreduce.Fault
	sent  int // chunks in this run
}

// link is the two sides of a worker's place in a ring or tree.
type link struct{ recv, send []*end }

func newWorker(e *engine, rank, channel, role int) *worker {
	w := &worker{engine: e, rank: rank, channel: channel, role: role, number: e.shape.post(rank, channel, role)}
	w.post = &e.ctl.posts[w.number]
	w.start = make(chan struct{}, 1)
	scratch := aligned(4 * block)
	w.acc, w.got, w.fold.scratch = scratch[:block], scratch[block:2*block], scratch[2*block:]
	w.wide = scratch[:2*block]
	tables, n := make([][]byte, 3*e.shape.ranks), e.shape.ranks
	w.inputs, w.outputs, w.pieces = tables[:0:n], tables[n:n:2*n], tables[2*n:2*n:3*n]
	if role == first {
		w.joinRing()
	}
	if len(e.layout.Trees) > 0 {
		w.joinTree()
	}
	return w
}

func (w *worker) joinRing() {
	ring := w.rings[w.channel]
	if ring == nil { // a single rank
		return
	}
	rank := schedule.Rank(w.rank)
	w.position, w.next = ring.Position(rank), int(ring.Next(rank))
	w.ring.recv = []*end{w.end(ringConn, int(ring.Prev(rank)))}
	w.ring.send = []*end{w.end(ringConn, w.rank)}
}

// joinTree connects the first worker upwards and the second one downwards; the
// root's first worker does both.
func (w *worker) joinTree() {
	t := &w.layout.Trees[w.channel]
	root := t.Up[w.rank] < 0
	for _, child := range t.Down[w.rank] {
		if child < 0 {
			continue
		}
		w.children = append(w.children, int(child))
		if w.role == first {
			w.up.recv = append(w.up.recv, w.end(upConn, int(child)))
		}
		if (w.role == first) == root {
			w.down.send = append(w.down.send, w.end(downConn, int(child)))
		}
	}
	switch {
	case root:
	case w.role == first:
		w.up.send = []*end{w.end(upConn, w.rank)}
	default:
		w.down.recv = []*end{w.end(downConn, w.rank)}
	}
}

func (w *worker) end(kind, rank int) *end {
	return &end{conn: &w.conns[w.shape.conn(w.channel, kind, rank)]}
}

// loop runs the worker's share of every run.
func (w *worker) loop() {
	for range w.start {
		w.run()
	}
}

// run does the worker's share, and those of the channels behind it if the
// rank's workers run in turn.
func (w *worker) run() {
	if !w.serial {
		w.runOnce()
		return
	}
	mask := w.plan.Mask // the plan may change with the last signing off
	for c := w.channel; c < w.shape.channels; c++ {
		if mask>>c&1 != 0 {
			w.workers[w.shape.post(w.rank, c, first)].runOnce()
		}
	}
}

// runOnce executes the plan at hand and signs off.
func (w *worker) runOnce() {
	w.post.place.Store(running)
	w.reset()
	place := idle
	if !w.execute() {
		place = left
	}
	// A worker that waits or has stopped keeps its place: it is evidence.
	w.post.place.CompareAndSwap(running, place)
	w.signOff()
}

// reset prepares the ends for a run's diagnosis and faults.
func (w *worker) reset() {
	w.sent, w.metBase = 0, w.met
	for _, l := range []*link{&w.ring, &w.up, &w.down} {
		for _, ends := range [][]*end{l.recv, l.send} {
			for _, e := range ends {
				e.base = e.step
				e.late.now = -1
			}
		}
	}
}

// execute runs all works of the plan that have a part on this channel.
func (w *worker) execute() bool {
	for i := range w.plan.Works {
		w.work = &w.plan.Works[i]
		part := w.work.Part(w.channel)
		if part == nil || w.role == second && w.work.Algo != allreduce.Tree {
			continue
		}
		w.fold = newFold(w.work, w.layout.NRanks, w.fold.scratch)
		if !w.perform(i, part) {
			return false
		}
	}
	return true
}

func (w *worker) perform(work int, part *allreduce.Part) bool {
	switch {
	case w.layout.NRanks == 1:
		return w.alone(work, part)
	case w.work.Algo == allreduce.Ring:
		return w.runRing(work, part)
	case w.work.Algo == allreduce.Tree:
		return w.runTree(work, part)
	case w.work.Algo == allreduce.TwoShot:
		return w.runTwoShot(work, part)
	}
	return w.runOneShot(work, part)
}
