package host

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
)

// engine is what every process of a group builds over the group's memory: all
// connections, and the workers of the ranks that run here.
type engine struct {
	layout   *allreduce.Layout
	shape    shape
	mem      memory
	ctl      control
	bells    bells
	conns    []conn
	rings    []*schedule.Ring // per channel; nil for a single rank
	ready    []uint8          // per channel, the FIFOs that exist: a bit per kind and protocol
	workers  []*worker        // by post; nil where another process runs it
	threads  sync.WaitGroup
	spins    int // looks before the first yield
	yields   int // yields before sleep
	noDirect bool
	kill     func() // ends this process, as an injected fault

	plan   *allreduce.Plan // of the run at hand
	spans  spans
	serial bool // a rank's workers run in turn
}

// newEngine connects a valid layout. It still wants bells.
func newEngine(l *allreduce.Layout, mem memory) *engine {
	e := &engine{layout: l, mem: mem, shape: shape{l.NRanks, l.Channels()}}
	e.ctl = newControl(e.shape, mem.control())
	e.ready = make([]uint8, l.Channels())
	e.workers = make([]*worker, e.shape.posts())
	e.yields = localYields
	if runtime.GOMAXPROCS(0) > 1 {
		e.spins = 64
	}
	e.rings = make([]*schedule.Ring, l.Channels())
	for c, order := range l.Rings {
		e.rings[c], _ = schedule.NewRing(order) // a valid layout fails only with a single rank
	}
	e.connect()
	return e
}

// connect says who is at the ends of every connection.
func (e *engine) connect() {
	e.conns = make([]conn, e.shape.conns())
	for i := range e.conns {
		e.conns[i].counters, e.conns[i].number = &e.ctl.counters[i], i
	}
	for c := range e.shape.channels {
		for rank := range e.shape.ranks {
			if ring := e.rings[c]; ring != nil {
				e.join(c, ringConn, rank, rank, int(ring.Next(schedule.Rank(rank))))
			}
			if len(e.layout.Trees) == 0 {
				continue
			}
			if up := e.layout.Trees[c].Up[rank]; up >= 0 {
				e.join(c, upConn, rank, rank, int(up))
				e.join(c, downConn, rank, int(up), rank)
			}
		}
	}
}

// join sets the ends of the connection that is rank's of its kind. Results come
// down a tree through second workers, but for the root.
func (e *engine) join(channel, kind, rank, from, to int) {
	c := &e.conns[e.shape.conn(channel, kind, rank)]
	c.from, c.to = from, to
	sends, receives := first, first
	if kind == downConn {
		receives = second
		if e.layout.Trees[channel].Up[from] >= 0 {
			sends = second
		}
	}
	c.sender = e.shape.post(from, channel, sends)
	c.receiver = e.shape.post(to, channel, receives)
}

// employ starts the workers of the given ranks.
func (e *engine) employ(ranks []int, f allreduce.Fault) {
	for _, rank := range ranks {
		for c := range e.shape.channels {
			for role := range roles {
				if role == second && len(e.layout.Trees) == 0 {
					continue
				}
				w := newWorker(e, rank, c, role)
				e.workers[w.number] = w
				w.spoil(f)
				e.threads.Go(w.loop)
			}
		}
	}
}

// dismiss ends all workers.
func (e *engine) dismiss() {
	e.ctl.abort.Store(1)
	e.wakeAll()
	for _, w := range e.workers {
		if w != nil {
			close(w.start)
		}
	}
	e.threads.Wait()
}

// prepare makes the FIFOs that a plan is the first to need.
func (e *engine) prepare(p *allreduce.Plan) error {
	for i := range p.Works {
		work := &p.Works[i]
		if work.Algo.Direct() {
			continue
		}
		for _, part := range work.Parts {
			if err := e.prepareChannel(part.Channel, work); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *engine) prepareChannel(channel int, work *allreduce.Work) error {
	kinds, bit := ringConns, uint8(1)<<work.Proto
	if work.Algo == allreduce.Tree {
		kinds, bit = treeConns, bit<<allreduce.NumProtos
	}
	if e.ready[channel]&bit != 0 {
		return nil
	}
	for _, kind := range kinds {
		for rank := range e.shape.ranks {
			c := &e.conns[e.shape.conn(channel, kind, rank)]
			if c.from == c.to { // not in use: a root has no parent
				continue
			}
			if err := e.furnish(c, work.Proto); err != nil {
				return err
			}
		}
	}
	e.ready[channel] |= bit
	return e.furnish(&e.conns[e.shape.spare()], work.Proto)
}

var ringConns, treeConns = []int{ringConn}, []int{upConn, downConn}

func (e *engine) furnish(c *conn, p allreduce.Proto) (err error) {
	c.fifo[p], err = e.mem.fifo(c.number, p)
	return err
}

// rolesOf are the workers that a plan needs of each rank and channel.
func (e *engine) rolesOf(p *allreduce.Plan) []int {
	for i := range p.Works {
		if p.Works[i].Algo == allreduce.Tree && len(e.layout.Trees) > 0 {
			return bothRoles
		}
	}
	return bothRoles[:1]
}

var bothRoles = []int{first, second}

// active counts the workers that a plan needs.
func (e *engine) active(p *allreduce.Plan) int {
	return bits.OnesCount64(p.Mask) * e.shape.ranks * len(e.rolesOf(p))
}

// begin starts those of them that live here.
func (e *engine) begin(p *allreduce.Plan) {
	e.serial = e.inTurn(p)
	for rank := range e.shape.ranks {
		if leader := e.leader(p, rank); leader != nil {
			e.follow(p, leader)
			leader.start <- struct{}{}
		}
	}
}

// inTurn reports whether a rank's workers had better run one after the other:
// those of direct algorithms do not wait for each other, and there are ranks
// enough to keep all processors busy.
func (e *engine) inTurn(p *allreduce.Plan) bool {
	for i := range p.Works {
		if !p.Works[i].Algo.Direct() {
			return false
		}
	}
	return e.shape.ranks >= runtime.NumCPU()
}

// leader is the first of a rank's workers in a run, nil where there are none or
// another process has them.
func (e *engine) leader(p *allreduce.Plan, rank int) *worker {
	if p.Mask == 0 {
		return nil
	}
	return e.workers[e.shape.post(rank, bits.TrailingZeros64(p.Mask), first)]
}

// follow starts the workers of a leader's rank that do not run after it.
func (e *engine) follow(p *allreduce.Plan, leader *worker) {
	if e.serial {
		return
	}
	for _, role := range e.rolesOf(p) {
		for c := range e.shape.channels {
			if w := e.workers[e.shape.post(leader.rank, c, role)]; w != leader && p.Mask>>c&1 != 0 {
				w.start <- struct{}{}
			}
		}
	}
}

// signOff tells that a worker is through with the run; the last one notes when,
// and rouses the caller.
func (w *worker) signOff() {
	w.bells.leave()
	for pending := &w.ctl.board.pending; ; {
		left := pending.Load()
		if left == 1 {
			w.bells.last()
		}
		if pending.CompareAndSwap(left, left-1) {
			if left == 1 {
				w.bells.finish()
			}
			return
		}
	}
}
