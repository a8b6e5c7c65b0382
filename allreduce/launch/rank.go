package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// Rank is a process's place in a job.
type Rank struct {
	Number, Size int
	Worker       string     // what it was started for; empty where it joined
	Setup        []byte     // what the parent gave to all
	Files        []*os.File // what the parent shared with all, and then this rank's own

	hub    int // whose process holds all together: a rank's, or -1: the parent
	link   *link
	parts  chan frame
	ctx    context.Context
	cancel context.CancelCauseFunc
	leave  sync.Once
}

// Part is one rank's contribution to an exchange.
type Part struct {
	Data  []byte
	Files []*os.File // those received belong to the receiver
}

func newRank(l *link, hub, number, size int) *Rank {
	r := &Rank{Number: number, Size: size, hub: hub, link: l, parts: make(chan frame, size)}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// Context ends when the job is over (its cause is ErrEnded) or a process of it
// is lost (*DeathError).
func (r *Rank) Context() context.Context { return r.ctx }

// Err is why the job ended for this rank; nil while it goes on.
func (r *Rank) Err() error { return context.Cause(r.ctx) }

// listen takes what the hub says until the link breaks.
func (r *Rank) listen() {
	for {
		f, err := r.link.receive()
		switch {
		case err != nil:
			r.cancel(&DeathError{Rank: r.hub, Reason: "its connection is closed"})
			return
		case f.kind == end:
			r.cancel(ErrEnded)
		case f.kind == dead:
			r.cancel(readDeath(f))
		case f.kind == part:
			if f.rank < 0 || f.rank >= r.Size {
				closeAll(f.files)
				r.cancel(fmt.Errorf("a part of rank %d of %d", f.rank, r.Size))
				return
			}
			select {
			case r.parts <- f:
			case <-r.ctx.Done():
				closeAll(f.files)
			}
		}
	}
}

// Exchange gives data and open files to all ranks, and returns what each of
// them gave, by rank. All ranks must call it the same number of times. It ends
// early when a process is lost.
func (r *Rank) Exchange(ctx context.Context, data []byte, files ...*os.File) ([]Part, error) {
	if err := r.link.send(frame{kind: part, rank: r.Number, payload: data, files: files}); err != nil {
		return nil, r.failed("exchange", err)
	}
	all := make([]Part, r.Size)
	for range r.Size {
		f, err := r.next(ctx)
		if err != nil {
			for _, p := range all {
				closeAll(p.Files)
			}
			return nil, r.failed("exchange", err)
		}
		all[f.rank] = Part{f.payload, f.files}
	}
	return all, nil
}

// next takes a part of an exchange. What has come counts, even if the job has
// ended since: others may leave as soon as they have all parts.
func (r *Rank) next(ctx context.Context) (frame, error) {
	var cause error
	select {
	case f := <-r.parts:
		return f, nil
	case <-r.ctx.Done():
		cause = r.Err()
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	select {
	case f := <-r.parts:
		return f, nil
	default:
		return frame{}, cause
	}
}

// failed prefers the end of the job to the error that came of it.
func (r *Rank) failed(what string, err error) error {
	if cause := r.Err(); cause != nil {
		err = cause
	}
	return fmt.Errorf("rank %d: %s: %w", r.Number, what, err)
}

// Barrier returns when all ranks have called it.
func (r *Rank) Barrier(ctx context.Context) error {
	_, err := r.Exchange(ctx, nil)
	return err
}

// Close leaves the job in peace.
func (r *Rank) Close() error { return r.close(frame{kind: end, rank: r.Number}) }

// fail leaves the job and tells the others why.
func (r *Rank) fail(why error) error {
	return r.close((&DeathError{Rank: r.Number, Pid: os.Getpid(), Reason: why.Error()}).frame())
}

func (r *Rank) close(last frame) error {
	var err error
	r.leave.Do(func() {
		err = r.link.send(last)
		if r.Err() != nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			err = nil // nobody need hear it any more
		}
		r.cancel(ErrEnded)
		closeAll(r.Files)
		r.link.conn.Close()
		r.forget()
	})
	return err
}

// forget closes the files of an exchange that did not come to its end.
func (r *Rank) forget() {
	for {
		select {
		case f := <-r.parts:
			closeAll(f.files)
		default:
			return
		}
	}
}
