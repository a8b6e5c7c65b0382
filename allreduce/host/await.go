package host

import (
	"context"
	"slices"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
)

// leaveTime is how long workers get to leave an aborted run.
const leaveTime = 5 * time.Second

// await waits for the end of a run. When nothing moves for the limit, a process
// is lost, or ctx ends, it aborts the run and says why.
func (e *Executor) await(ctx context.Context) error {
	progress, since := e.engine.progress(), time.Now()
	for !e.over() {
		e.caller.wait(ctx, min(e.limit/8, 100*time.Millisecond))
		if e.over() {
			break
		}
		err := e.caller.lost()
		if err == nil {
			err = ctx.Err()
		}
		if now := e.engine.progress(); now != progress {
			progress, since = now, time.Now()
		}
		if after := time.Since(since); err == nil && after >= e.limit {
			err = &allreduce.StuckError{Stalls: e.engine.stalls(), After: after.Round(time.Millisecond)}
		}
		if err != nil {
			e.abort()
			return err
		}
	}
	return nil
}

// over reports whether all workers have signed off; if not, it asks the last
// one to ring.
func (e *Executor) over() bool {
	b := e.engine.ctl.board
	if b.pending.Load() == 0 {
		return true
	}
	b.asleep.Store(1)
	return b.pending.Load() == 0
}

// abort makes all workers leave, and waits for them a while.
func (e *Executor) abort() {
	e.engine.ctl.abort.Store(1)
	e.engine.wakeAll()
	for deadline := time.Now().Add(leaveTime); !e.over() && time.Now().Before(deadline) && e.caller.lost() == nil; {
		e.caller.wait(context.Background(), 10*time.Millisecond)
	}
}

// progress is the sum of all that workers have moved.
func (e *engine) progress() (sum uint64) {
	for i := range e.ctl.posts {
		sum += e.ctl.posts[i].progress.Load()
	}
	return sum
}

// stalls lists who waits for whom, first those who miss data: who misses credit
// has at least sent. Where nobody waits on a connection, those who are done wait
// for the rank that is not.
func (e *engine) stalls() []allreduce.Stall {
	var list, missing []allreduce.Stall
	for c := range e.shape.channels {
		if e.plan.Mask>>c&1 == 0 {
			continue
		}
		for rank := range e.shape.ranks {
			waits, more := e.stallsOf(rank, c)
			list, missing = append(list, waits...), append(missing, more...)
		}
	}
	if len(list) == 0 {
		return missing
	}
	slices.SortStableFunc(list, func(a, b allreduce.Stall) int { return int(a.For) - int(b.For) })
	return list
}

// stallsOf is what a rank waits for on a channel, and whether it is missed. A
// rank of which one worker has stopped waits for nobody.
func (e *engine) stallsOf(rank, channel int) (waits, missing []allreduce.Stall) {
	for role := range roles {
		p := &e.ctl.posts[e.shape.post(rank, channel, role)]
		switch p.place.Load() {
		case waiting:
			waits = append(waits, p.stall(rank, channel))
		case stopped:
			return nil, []allreduce.Stall{e.missing(channel, rank)}
		case running:
			missing = append(missing, e.missing(channel, rank))
		}
	}
	return waits, missing
}

// missing is the wait for the end of a worker that waits for nobody itself.
func (e *engine) missing(channel, rank int) allreduce.Stall {
	s := allreduce.Stall{Rank: (rank + 1) % e.shape.ranks, Channel: channel, Peer: rank, For: allreduce.WaitData, Want: 1}
	for i := range e.plan.Works {
		if w := &e.plan.Works[i]; w.Part(channel) != nil {
			s.Algo, s.Proto = w.Algo, w.Proto
		}
	}
	return s
}
