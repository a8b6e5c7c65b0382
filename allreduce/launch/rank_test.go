package launch

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// Rank 0 hears last: with it the hub may be gone.
func TestRankZeroHearsLast(t *testing.T) {
	links, ends := make([]*link, 3), make([]*link, 3)
	for i := range links {
		a, b := net.Pipe() // holds nothing: each send waits for its reader
		defer a.Close()
		defer b.Close()
		b.SetReadDeadline(time.Now().Add(10 * time.Second))
		links[i], ends[i] = &link{conn: a}, &link{conn: b}
	}
	h := newHub(links, nil)
	go h.broadcast(frame{kind: part, rank: 1, payload: []byte("x")})
	for _, rank := range []int{2, 1, 0} {
		if f, err := ends[rank].receive(); err != nil || f.rank != 1 {
			t.Fatalf("rank %d: %+v, %v", rank, f, err)
		}
	}
}

// Parts that have all come make an exchange, although their sender has left; the
// next one fails, and names it.
func TestExchangeOutlivesTheHub(t *testing.T) {
	for range 20 {
		ours, theirs := links(t)
		r := newRank(ours, 0, 1, 2)
		for rank := range 2 {
			if err := theirs.send(frame{kind: part, rank: rank, payload: []byte{byte(rank)}}); err != nil {
				t.Fatal(err)
			}
		}
		sent := make(chan error, 1)
		go func() { // the hub takes the part and leaves
			_, err := theirs.receive()
			sent <- errors.Join(err, theirs.conn.Close())
			r.listen()
		}()
		all, err := r.Exchange(context.Background(), []byte{1})
		if err != nil || len(all) != 2 || all[0].Data[0] != 0 || all[1].Data[0] != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		var dead *DeathError
		if err := r.Barrier(context.Background()); err == nil {
			t.Fatal("a barrier with nobody")
		} else if <-r.Context().Done(); !errors.As(r.Err(), &dead) || dead.Rank != 0 {
			t.Fatalf("got %v", r.Err())
		}
		if err := r.Close(); err != nil {
			t.Errorf("leaving after all others: %v", err)
		}
	}
}

// A rank that leaves when the hub has just gone has nothing to complain of.
func TestCloseAfterTheHub(t *testing.T) {
	ours, theirs := links(t)
	r := newRank(ours, -1, 0, 1) // does not listen: it has not heard yet
	if err := theirs.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A part of a rank that there is not ends the job instead of the program.
func TestForeignPart(t *testing.T) {
	ours, theirs := links(t)
	r := newRank(ours, -1, 0, 2)
	go r.listen()
	if err := theirs.send(frame{kind: part, rank: 2}); err != nil {
		t.Fatal(err)
	}
	if all, err := r.Exchange(context.Background(), nil); err == nil {
		t.Errorf("got %v", all)
	}
	r.Close()
}
