package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// JoinTime is how long Join waits for the other processes if its context sets
// no deadline.
const JoinTime = time.Minute

// Join meets the other processes that an outside launcher has started. Rank 0
// is where they meet: on one host at a socket in a directory that only the user
// can enter, else at the port after the one of MASTER_PORT, in the network that
// the user trusts the job to.
func Join(ctx context.Context, w World) (*Rank, error) {
	if _, set := ctx.Deadline(); !set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, JoinTime)
		defer cancel()
	}
	network, address, err := w.meetingPoint()
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d (%s): %w", w.Rank, w.Size, w.Launcher, err)
	}
	var r *Rank
	if w.Rank == 0 {
		r, err = host(ctx, w, network, address)
	} else {
		r, err = visit(ctx, w, network, address)
	}
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d (%s): meet the others at %s: %w", w.Rank, w.Size, w.Launcher, address, err)
	}
	return r, nil
}

// card is how a process introduces itself to rank 0.
type card struct {
	Rank, Size int
	Pid        int
	Job        string
}

func (w World) meetingPoint() (network, address string, err error) {
	if w.Local() {
		address, err := socketPath(w)
		return "unix", address, err
	}
	hostname, port, err := net.SplitHostPort(w.Master)
	n, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil || n < 1 || n > 65534 {
		return "", "", fmt.Errorf("several hosts: MASTER_ADDR and MASTER_PORT must name a free port of rank 0's host, not %q", w.Master)
	}
	return "tcp", net.JoinHostPort(hostname, strconv.Itoa(n+1)), nil
}

// host lets the others come in and stays as their hub.
func host(ctx context.Context, w World, network, address string) (*Rank, error) {
	l, err := listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	links, pids := make([]*link, w.Size), make([]int, w.Size)
	pids[0] = os.Getpid()
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	links[0] = &link{conn: ours}
	var refused error
	for met := 1; met < w.Size; {
		conn, err := l.Accept()
		if err != nil {
			closeLinks(links)
			theirs.Close()
			if cause := context.Cause(ctx); cause != nil {
				err = cause // the listener was closed because of it
			}
			if refused != nil {
				err = fmt.Errorf("%w; %w", err, refused)
			}
			return nil, fmt.Errorf("%d of %d came: %w", met, w.Size, err)
		}
		err = admit(ctx, w, &link{conn: conn}, links, pids)
		if err == nil {
			met++
			continue
		}
		conn.Close() // a stranger
		if errors.Is(err, errTurnedAway) {
			refused = err
		}
	}
	self, err := unixConn(theirs)
	if err != nil {
		closeLinks(links)
		return nil, err
	}
	h := newHub(links, func(rank int) *DeathError {
		return &DeathError{Rank: rank, Pid: pids[rank], Reason: "its connection is closed"}
	})
	for rank := range links {
		go h.serve(rank)
	}
	h.broadcast(frame{kind: hello})
	return enter(ctx, &link{conn: self}, w)
}

// listen binds the meeting point.
func listen(ctx context.Context, network, address string) (net.Listener, error) {
	if network == "unix" {
		if conn, err := net.Dial(network, address); err == nil {
			conn.Close()
			return nil, errors.New("another process is there that has rank 0 of this job, too")
		}
		os.Remove(address) // left behind by a rank 0 that was killed
	} else if _, port, err := net.SplitHostPort(address); err == nil {
		address = ":" + port
	}
	var c net.ListenConfig
	return c.Listen(ctx, network, address)
}

// cardTime is how long a visitor gets to show its card: a stranger that says
// nothing must not keep the others out.
const cardTime = 2 * time.Second

// errTurnedAway is how a process ends that rank 0 does not expect.
var errTurnedAway = errors.New("rank 0 turned away")

// admit reads a visitor's card and gives it its place, or says why not.
func admit(ctx context.Context, w World, l *link, links []*link, pids []int) error {
	until := time.Now().Add(cardTime)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	l.conn.SetReadDeadline(until)
	defer l.conn.SetReadDeadline(time.Time{})
	f, err := l.receive()
	if err != nil {
		return err
	}
	var c card
	if err := json.Unmarshal(f.payload, &c); err != nil {
		return err
	}
	why := ""
	switch {
	case c.Job != w.Job:
		why = "a process of another job"
	case c.Size != w.Size || c.Rank < 1 || c.Rank >= w.Size:
		why = fmt.Sprintf("a process with rank %d of %d, expected are 1 to %d of %d", c.Rank, c.Size, w.Size-1, w.Size)
	case links[c.Rank] != nil:
		why = fmt.Sprintf("a second process with rank %d", c.Rank)
	}
	if why != "" {
		_ = l.send((&DeathError{Reason: why}).frame()) // it may not wait for that
		return fmt.Errorf("%w %s", errTurnedAway, why)
	}
	links[c.Rank], pids[c.Rank] = l, c.Pid
	return nil
}

// visit goes to rank 0 as soon as that is there.
func visit(ctx context.Context, w World, network, address string) (*Rank, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, network, address)
		if err == nil {
			return introduce(ctx, w, &link{conn: conn})
		}
		select {
		case <-ctx.Done():
			return nil, because(ctx, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func introduce(ctx context.Context, w World, l *link) (*Rank, error) {
	b, err := json.Marshal(card{w.Rank, w.Size, os.Getpid(), w.Job})
	if err == nil {
		err = l.send(frame{kind: hello, rank: w.Rank, payload: b})
	}
	if err != nil {
		l.conn.Close()
		return nil, err
	}
	return enter(ctx, l, w)
}

// enter waits until all are there.
func enter(ctx context.Context, l *link, w World) (*Rank, error) {
	if d, ok := ctx.Deadline(); ok {
		l.conn.SetReadDeadline(d)
		defer l.conn.SetReadDeadline(time.Time{})
	}
	f, err := l.receive()
	switch {
	case err == nil && f.kind == dead:
		err = fmt.Errorf("%w %s", errTurnedAway, readDeath(f).Reason)
	case err == nil && f.kind != hello:
		err = errors.New("unexpected message")
	}
	if err != nil {
		l.conn.Close()
		return nil, because(ctx, fmt.Errorf("wait for all to come: %w", err))
	}
	r := newRank(l, 0, w.Rank, w.Size)
	l.conn.SetReadDeadline(time.Time{})
	go r.listen()
	return r, nil
}

// because prefers the end of a context to the error that came of it.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return err
}

func closeLinks(links []*link) {
	for _, l := range links {
		if l != nil {
			l.conn.Close()
		}
	}
}
