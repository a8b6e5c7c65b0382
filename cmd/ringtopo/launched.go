package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/internal/job"
)

// launched is an executor of one rank, whose process a launcher has started
// together with those of the others.
type launched struct {
	allreduce.Executor
	rank *launch.Rank
}

// Close leaves the others, too.
func (l *launched) Close() error { return errors.Join(l.Executor.Close(), l.rank.Close()) }

// world is the job of a launcher (mpirun, srun, torchrun) that this process is
// one of, where the engine is one whose processes join it; nil: none.
func (a *app) world(f *engineFlags, m *machineFlags) (*launch.World, error) {
	here := f.engine == engineAuto && slices.Equal(m.machines, []string{job.Auto}) && gpu.Usable() == nil
	if f.engine != "gpu" && !here {
		return nil, nil
	}
	w, ok, err := launch.FromEnv(a.lookup)
	switch {
	case err != nil:
		return nil, usage("the launcher's environment: %v", err)
	case !ok:
		return nil, nil
	case !w.Local():
		return nil, usage("%s has started processes on several hosts, or does not say that it has not: GPUs are joined on one host only", w.Launcher)
	}
	return &w, nil
}

// lookup finds a variable of the environment.
func (a *app) lookup(name string) (string, bool) {
	for _, s := range a.environ {
		if k, v, ok := strings.Cut(s, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

// joinGPU has this process hold its rank's share of the engine.
func joinGPU(a *app, l *allreduce.Layout, o gpu.Options, w *launch.World) (allreduce.Executor, error) {
	if w.Size != l.NRanks {
		return nil, usage("%s has started %d processes, the rings have %d ranks: start as many, or choose GPUs (--gpus)", w.Launcher, w.Size, l.NRanks)
	}
	r, err := launch.Join(a.ctx, *w)
	if err != nil {
		return nil, err
	}
	ex, err := gpu.Join(l, o, r, r.Number)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	for _, n := range ex.Notes() {
		a.note("%s", n)
	}
	return &launched{ex, r}, nil
}

// finding is what one process has seen of a run.
type finding struct {
	Wrong  int64
	First  *allreduce.Mismatch
	TimeUs float64
	Stalls []allreduce.Stall
}

// agree puts together what all processes have found, so that they go on alike:
// the slowest counts, and what is wrong or stuck anywhere is so everywhere. err
// is what the run has ended with here.
func (v *validator) agree(ctx context.Context, r *allreduce.Run, err error) error {
	l, ok := v.ex.(*launched)
	var stuck *allreduce.StuckError
	if !ok || err != nil && !errors.As(err, &stuck) {
		return err
	}
	mine := finding{r.Wrong, r.FirstWrong, r.TimeUs, nil}
	all := &allreduce.StuckError{After: v.options.limit}
	if stuck != nil {
		mine.Stalls = stuck.Stalls
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	parts, err := l.rank.Exchange(ctx, text)
	if err != nil {
		return err
	}
	r.Wrong, r.FirstWrong = 0, nil
	for rank, p := range parts {
		var f finding
		if err := json.Unmarshal(p.Data, &f); err != nil {
			return fmt.Errorf("what rank %d found: %w", rank, err)
		}
		r.Wrong += f.Wrong
		if r.FirstWrong == nil {
			r.FirstWrong = f.First
		}
		r.TimeUs = max(r.TimeUs, f.TimeUs)
		all.Stalls = append(all.Stalls, f.Stalls...)
	}
	v.rate(r)
	if len(all.Stalls) > 0 {
		return all
	}
	return nil
}
