package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtopo/ringtopo/allreduce"
)

// guardBytes stand on either side of every buffer's data.
const guardBytes = 256

const guardByte = 0xa7

// stretchBytes are written or looked at at a time, by one of the crew.
const stretchBytes = 1 << 20

// Options say what a trial is given.
type Options struct {
	Pattern Pattern
	Seed    uint64 // of the first Fill; later ones differ
	InPlace bool
	// Shift moves the data by this many elements from an aligned place.
	Shift int
}

// Trial runs one plan on an executor with known data. Set it up once, then
// Fill, Run and Check as often as wanted; Run alone may be repeated for timing
// where the work is not in place.
type Trial struct {
	ex     allreduce.Executor
	plan   *allreduce.Plan
	opt    Options
	cases  []*Case
	args   []allreduce.Args
	bufs   []allreduce.Buffer
	local  []int
	before uint64 // seed of the last checked run
	round  uint64
	crew   crew
}

// NewTrial allocates buffers for all works of a plan on all local ranks.
func NewTrial(ex allreduce.Executor, p *allreduce.Plan, o Options) (*Trial, error) {
	t := &Trial{ex: ex, plan: p, opt: o, local: ex.Local()}
	for i := range p.Works {
		if err := t.allocate(&p.Works[i]); err != nil {
			return nil, errors.Join(fmt.Errorf("work %d: %w", i, err), t.Close())
		}
	}
	return t, nil
}

func (t *Trial) allocate(w *allreduce.Work) error {
	n := t.plan.Layout.NRanks
	args := allreduce.Args{Send: make([]allreduce.Span, n), Recv: make([]allreduce.Span, n)}
	for _, rank := range t.local {
		recv, err := t.span(rank, w)
		if err != nil {
			return err
		}
		args.Send[rank], args.Recv[rank] = recv, recv
		if t.opt.InPlace {
			continue
		}
		if args.Send[rank], err = t.span(rank, w); err != nil {
			return err
		}
	}
	t.args = append(t.args, args)
	return nil
}

func (t *Trial) span(rank int, w *allreduce.Work) (allreduce.Span, error) {
	shift := int64(t.opt.Shift * w.DType.Size())
	b, err := t.ex.Alloc(rank, guardBytes+shift+w.Bytes()+guardBytes)
	if err != nil {
		return allreduce.Span{}, err // it names the rank
	}
	t.bufs = append(t.bufs, b)
	return allreduce.Span{Buf: b, Off: guardBytes + shift}, nil
}

// Close frees the buffers.
func (t *Trial) Close() error {
	var errs []error
	for _, b := range t.bufs {
		errs = append(errs, b.Free())
	}
	t.bufs = nil
	return errors.Join(errs...)
}

// Use changes the pattern that Fill writes from now on.
func (t *Trial) Use(p Pattern) { t.opt.Pattern = p }

// Args are the buffers, for those who run the plan themselves.
func (t *Trial) Args() []allreduce.Args { return t.args }

// Run runs the plan once.
func (t *Trial) Run(ctx context.Context) (allreduce.Timing, error) {
	return t.ex.Run(ctx, t.plan, t.args)
}
