package host

import (
	"sync/atomic"
	"unsafe"

	"github.com/ringtopo/ringtopo/allreduce"
)

// The control block is the memory through which workers see each other, in one
// process or several: one board, a post per worker, and the counters of every
// connection. It starts zeroed and holds no pointers.

// board is what concerns the whole group.
type board struct {
	abort atomic.Uint32 // non-zero: leave
	_     [124]byte
	// pending is the number of workers that have yet to finish the run.
	pending atomic.Int32
	// asleep is 1 while the caller of Run sleeps until pending is 0.
	asleep atomic.Uint32
	// began is when the last process came to the run, ended when the last worker
	// left it, on a clock that processes share.
	began, ended atomic.Int64
	_            [104]byte
	// run counts runs; a process starts one when it changes.
	run     atomic.Uint32
	resting atomic.Int32  // processes that sleep until then
	ready   atomic.Uint32 // processes that have started
	_       [116]byte
}

// Places of a post's worker in a run.
const (
	idle uint32 = iota
	running
	waiting // on a connection; want and the like say for what
	stopped // by an injected fault
	left    // because of an abort, while running
)

// post is what a worker shows of itself.
type post struct {
	asleep   atomic.Uint32 // 1 while it sleeps until somebody rings
	rings    atomic.Uint32 // with processes: at the door, the rank's first post
	progress atomic.Uint64 // slices, lines or blocks moved since set-up
	waitFor  atomic.Uint64 // packed: peer, wait, algo, proto
	want     atomic.Uint64
	seen     atomic.Uint64
	base     atomic.Uint64
	met      atomic.Uint64 // meetings of a channel's ranks since set-up
	place    atomic.Uint32
	_        [68]byte
}

// came notes a process's arrival at a run.
func (b *board) came(at int64) {
	for last := b.began.Load(); last < at && !b.began.CompareAndSwap(last, at); last = b.began.Load() {
	}
}

// counters are head and tail of one connection, each on its own cache lines.
type counters struct {
	head atomic.Uint64
	_    [120]byte
	tail atomic.Uint64
	_    [120]byte
}

// The connections of a channel, one of each kind per rank.
const (
	ringConn = iota // from the rank to its next
	upConn          // from the rank to its parent
	downConn        // to the rank from its parent
	connKinds
)

// Roles of the two workers of a rank on a channel. The second is needed only
// for the half of a tree that brings results down.
const (
	first = iota
	second
	roles
)

// shape is the size of a group, which fixes where everything lies.
type shape struct{ ranks, channels int }

func (s shape) posts() int { return s.ranks * s.channels * roles }

// conns counts connections, with a spare one for an injected fault.
func (s shape) conns() int { return s.ranks*s.channels*connKinds + 1 }

func (s shape) post(rank, channel, role int) int { return (rank*s.channels+channel)*roles + role }

func (s shape) conn(channel, kind, rank int) int { return (channel*connKinds+kind)*s.ranks + rank }

func (s shape) spare() int { return s.conns() - 1 }

func (s shape) controlBytes() int {
	return int(unsafe.Sizeof(board{})) + s.posts()*int(unsafe.Sizeof(post{})) + s.conns()*int(unsafe.Sizeof(counters{}))
}

// control is the control block, taken apart.
type control struct {
	*board
	posts    []post
	counters []counters
}

// newControl lays the control block over memory, aligned to 8 bytes.
func newControl(s shape, mem []byte) control {
	at := unsafe.Pointer(unsafe.SliceData(mem[:s.controlBytes()]))
	b := (*board)(at)
	at = unsafe.Add(at, unsafe.Sizeof(board{}))
	posts := unsafe.Slice((*post)(at), s.posts())
	at = unsafe.Add(at, uintptr(s.posts())*unsafe.Sizeof(post{}))
	return control{b, posts, unsafe.Slice((*counters)(at), s.conns())}
}

// pack keeps in one word for whom and how a worker waits.
func pack(peer int, w allreduce.Wait, a allreduce.Algo, p allreduce.Proto) uint64 {
	return uint64(peer)<<24 | uint64(w)<<16 | uint64(a)<<8 | uint64(p)
}

// stall is what a waiting worker's post says.
func (p *post) stall(rank, channel int) allreduce.Stall {
	w := p.waitFor.Load()
	return allreduce.Stall{
		Rank: rank, Channel: channel, Peer: int(w >> 24), For: allreduce.Wait(w >> 16 & 0xff),
		Algo: allreduce.Algo(w >> 8 & 0xff), Proto: allreduce.Proto(w & 0xff),
		Want: p.want.Load(), Seen: p.seen.Load(), Base: p.base.Load(),
	}
}
