package host

import (
	"slices"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
)

// A post says what it was told, whatever the numbers.
func TestPostRemembersAWait(t *testing.T) {
	for _, want := range []allreduce.Stall{
		{Rank: 1, Channel: 2, Peer: 0, For: allreduce.WaitData, Algo: allreduce.Tree, Proto: allreduce.LL, Want: 7, Seen: 3, Base: 1},
		{Rank: 70000, Channel: 63, Peer: 1 << 20, For: allreduce.WaitCredit, Algo: allreduce.Ring, Proto: allreduce.Simple, Want: 1 << 60, Seen: 1<<60 - 1, Base: 5},
	} {
		var p post
		p.waitFor.Store(pack(want.Peer, want.For, want.Algo, want.Proto))
		p.want.Store(want.Want)
		p.seen.Store(want.Seen)
		p.base.Store(want.Base)
		if got := p.stall(want.Rank, want.Channel); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// Places of posts and connections are all different, and lie in the block.
func TestShape(t *testing.T) {
	s := shape{ranks: 5, channels: 7}
	posts, conns := map[int]bool{}, map[int]bool{s.spare(): true}
	for r := range s.ranks {
		for c := range s.channels {
			for role := range roles {
				posts[s.post(r, c, role)] = true
			}
			for kind := range connKinds {
				conns[s.conn(c, kind, r)] = true
			}
		}
	}
	if len(posts) != s.posts() || len(conns) != s.conns() || posts[s.posts()] || conns[s.conns()] {
		t.Errorf("%d posts of %d, %d connections of %d", len(posts), s.posts(), len(conns), s.conns())
	}
	ctl := newControl(s, aligned(s.controlBytes()))
	if len(ctl.posts) != s.posts() || len(ctl.counters) != s.conns() {
		t.Errorf("control block of %d posts and %d connections", len(ctl.posts), len(ctl.counters))
	}
}

// Who is at which end of every connection: ring neighbours, parents, children,
// and in a tree the right one of a rank's two workers.
func TestEnds(t *testing.T) {
	x, err := New(executortest.Four(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	e := x.engine
	if c := e.conns[e.shape.conn(1, ringConn, 3)]; c.from != 3 || c.to != 1 || c.receiver != e.shape.post(1, 1, first) {
		t.Errorf("rank 3's connection on ring 0 2 3 1: %d > %d", c.from, c.to)
	}
	// Channel 1's tree: 2 above 1 above 0 and 3.
	up, down, top := e.conns[e.shape.conn(1, upConn, 0)], e.conns[e.shape.conn(1, downConn, 0)], e.conns[e.shape.conn(1, downConn, 1)]
	if up.from != 0 || up.to != 1 || up.sender != e.shape.post(0, 1, first) || up.receiver != e.shape.post(1, 1, first) {
		t.Errorf("up from 0: %+v", up)
	}
	if down.from != 1 || down.to != 0 || down.sender != e.shape.post(1, 1, second) || down.receiver != e.shape.post(0, 1, second) {
		t.Errorf("down to 0: %+v", down)
	}
	if top.from != 2 || top.sender != e.shape.post(2, 1, first) || top.receiver != e.shape.post(1, 1, second) {
		t.Errorf("down from the root: %+v", top)
	}
	root := e.workers[e.shape.post(2, 1, first)]
	if len(root.up.recv) != 1 || len(root.up.send) != 0 || len(root.down.send) != 1 || !slices.Equal(root.children, []int{1}) {
		t.Errorf("root: %d up, %d down, children %v", len(root.up.recv), len(root.down.send), root.children)
	}
}

// Those who miss data stand before those who miss credit, ranks that have
// stopped wait for nobody, and where nobody waits the missing are named.
func TestStalls(t *testing.T) {
	x, err := New(executortest.Four(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	e := x.engine
	e.plan = &allreduce.Plan{Layout: e.layout, Mask: 0b101, Works: []allreduce.Work{{Algo: allreduce.TwoShot, Proto: allreduce.Simple, Parts: []allreduce.Part{{Channel: 2, Count: 1}}}}}
	set := func(rank, channel, role int, place uint32, peer int, w allreduce.Wait) {
		p := &e.ctl.posts[e.shape.post(rank, channel, role)]
		p.place.Store(place)
		p.waitFor.Store(pack(peer, w, allreduce.Ring, allreduce.Simple))
	}
	set(3, 2, first, running, 0, 0)
	if got := e.stalls(); len(got) != 1 || got[0].Peer != 3 || got[0].Rank != 0 || got[0].Algo != allreduce.TwoShot {
		t.Errorf("nobody waits: %v", got)
	}
	set(0, 0, first, waiting, 1, allreduce.WaitCredit)
	set(2, 0, first, waiting, 1, allreduce.WaitData)
	set(1, 0, first, stopped, 0, 0)
	set(1, 0, second, waiting, 0, allreduce.WaitData)
	set(3, 1, first, waiting, 0, allreduce.WaitData) // of a channel that takes no part
	got := e.stalls()
	if len(got) != 2 || got[0].Rank != 2 || got[1].Rank != 0 {
		t.Errorf("stalls: %v", got)
	}
}
