package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/cuda"
)

// Worker is the name under which a program must offer Serve to launch.Child, so
// that NewProcs can start its ranks.
const Worker = "gpu"

// setup is what the processes of a group are told.
type setup struct {
	Layout  *allreduce.Layout
	Options Options
}

// Serve runs one rank in a process of its own, as NewProcs asks, until the job
// ends.
func Serve(r *launch.Rank) error { return serve(r, nil) }

// serve is Serve on a driver; nil opens it.
func serve(r *launch.Rank, drv *cuda.Driver) error {
	var s setup
	if err := json.Unmarshal(r.Setup, &s); err != nil {
		return fmt.Errorf("set-up: %w", err)
	}
	if len(r.Files) != 1 || s.Layout == nil || s.Layout.NRanks != r.Size {
		return fmt.Errorf("set-up: %d files for %d ranks", len(r.Files), r.Size)
	}
	t, err := newTalk(r.Files[0])
	if err != nil {
		return err
	}
	stop := context.AfterFunc(r.Context(), func() { _ = t.conn.Close() }) // ends waiting for orders
	defer stop()
	s.Options.Driver = drv
	ex, err := Join(s.Layout, s.Options, r, r.Number)
	if err != nil {
		return t.say(answer{Failure: failureOf(err)}, nil) // the caller tells the user
	}
	v := &servant{ex: ex, talk: t, buffers: map[int]*buffer{}}
	err = t.say(answer{Welcome: v.welcome()}, nil)
	if err == nil {
		err = v.obey(r.Context())
	}
	if cause := r.Err(); cause != nil {
		err = cause
	}
	if errors.Is(err, launch.ErrEnded) {
		err = nil
	}
	return errors.Join(err, ex.Close())
}

// servant is a process that does what its caller says.
type servant struct {
	ex      *Executor
	talk    *talk
	buffers map[int]*buffer
	block   []byte
}

func (v *servant) welcome() *welcome {
	w := &welcome{Ordinal: v.ex.devices[0].Device.Ordinal, Refused: map[way2]string{}, Notes: v.ex.Notes()}
	for a := range allreduce.Algo(allreduce.NumAlgos) {
		for _, p := range allreduce.Protos() {
			var why *allreduce.UnsupportedError
			if errors.As(v.ex.Can(a, p), &why) {
				w.Refused[way2{a, p}] = why.Reason
			}
		}
	}
	return w
}

// obey takes orders until there are no more.
func (v *servant) obey(ctx context.Context) error {
	for {
		var o order
		if err := v.talk.dec.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil // the caller is gone; the job's end says how
			}
			return fmt.Errorf("order of the caller: %w", err)
		}
		a, data, err := v.follow(ctx, &o)
		if err == nil {
			err = v.talk.say(a, data)
		}
		if err != nil || o.Do == doLeave {
			return err
		}
	}
}

// follow carries out one order. Its error is one of the line; what went wrong
// with the order is in the answer.
func (v *servant) follow(ctx context.Context, o *order) (a answer, data []byte, err error) {
	if o.Do == doWrite {
		data = v.space(o.N)
		if err := v.talk.data(data); err != nil {
			return a, nil, err
		}
	}
	switch o.Do {
	case doAlloc:
		err = v.alloc(o)
	case doRun:
		a, err = v.run(ctx, o)
	case doLeave:
		err = v.ex.Close()
	default:
		data, err = v.touch(o, data)
	}
	a.Failure = failureOf(err)
	if err != nil {
		data = nil
	}
	return a, data, nil
}

func (v *servant) alloc(o *order) error {
	b, err := v.ex.Alloc(v.ex.local[0], o.N)
	if err != nil {
		return err
	}
	v.buffers[o.Buffer] = b.(*buffer)
	return nil
}

// space is memory of n bytes until it is asked for again.
func (v *servant) space(n int64) []byte {
	if int64(len(v.block)) < n {
		v.block = make([]byte, n)
	}
	return v.block[:n]
}

// touch does something with one buffer, and gives the data that was read.
func (v *servant) touch(o *order, data []byte) ([]byte, error) {
	b := v.buffers[o.Buffer]
	if b == nil {
		return nil, fmt.Errorf("rank %d: the buffer was freed", v.ex.local[0])
	}
	switch o.Do {
	case doFree:
		delete(v.buffers, o.Buffer)
		return nil, b.Free()
	case doSet:
		return nil, b.Set(o.Value, o.Off, o.N)
	case doWrite:
		return nil, b.Write(data, o.Off)
	case doRead:
		data = v.space(o.N)
		return data, b.Read(data, o.Off)
	}
	return nil, fmt.Errorf("unknown order %d", o.Do)
}

// run takes part in a run.
func (v *servant) run(ctx context.Context, o *order) (answer, error) {
	p := *o.Plan
	p.Layout = v.ex.layout
	rank := v.ex.local[0]
	args := make([]allreduce.Args, len(o.Args))
	for i, x := range o.Args {
		args[i] = allreduce.Args{Send: make([]allreduce.Span, p.Layout.NRanks), Recv: make([]allreduce.Span, p.Layout.NRanks)}
		send, recv := v.buffers[x.Send], v.buffers[x.Recv]
		if send == nil || recv == nil {
			return answer{Usable: true}, fmt.Errorf("rank %d: work %d: a buffer was freed", rank, i)
		}
		args[i].Send[rank], args[i].Recv[rank] = allreduce.Span{Buf: send, Off: x.SendOff}, allreduce.Span{Buf: recv, Off: x.RecvOff}
	}
	timing, err := v.ex.Run(ctx, &p, args)
	return answer{Elapsed: timing.Elapsed, Usable: v.ex.broken == nil}, err
}
