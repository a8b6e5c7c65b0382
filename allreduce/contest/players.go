package contest

import (
	"context"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/nccl"
)

// OnGPUs has our kernels play, launched as tuned.
func OnGPUs(ex *gpu.Executor, t gpu.DirectTuning) Player { return &gpuPlayer{ex, t} }

type gpuPlayer struct {
	*gpu.Executor
	tuning gpu.DirectTuning
}

func (g *gpuPlayer) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	g.Tune(g.tuning)
	return g.Executor.Run(ctx, p, args)
}

func (g *gpuPlayer) Ready(p *allreduce.Plan, args []allreduce.Args, calls int, how How) (Replay, error) {
	g.Tune(g.tuning)
	r, err := g.Capture(p, args, calls, how == Graph)
	if err != nil {
		return nil, err
	}
	r.AtOnce()
	return gpuReplay{r}, nil
}

type gpuReplay struct{ *gpu.Replay }

func (r gpuReplay) Run(ctx context.Context, n int) (Pace, error) {
	p, err := r.Replay.Run(ctx, n)
	return Pace(p), err
}

// ByNCCL has NCCL play. With symmetric windows it needs buffers of its own,
// which are registered before they are used.
func ByNCCL(ex *nccl.Executor, symmetric bool) Player {
	if symmetric {
		return windowPlayer{ncclPlayer{ex, ex}}
	}
	return ncclPlayer{ex, ex}
}

type ncclPlayer struct {
	allreduce.Executor
	ex *nccl.Executor
}

func (c ncclPlayer) Ready(p *allreduce.Plan, args []allreduce.Args, calls int, how How) (Replay, error) {
	r, err := c.ex.Capture(p, args, calls, how == Graph)
	if err != nil {
		return nil, err
	}
	return ncclReplay{r}, nil
}

type windowPlayer struct{ ncclPlayer }

func (w windowPlayer) Register(list []allreduce.Buffer) error { return w.ex.Register(list) }

type ncclReplay struct{ *nccl.Replay }

func (r ncclReplay) Run(ctx context.Context, n int) (Pace, error) {
	p, err := r.Replay.Run(ctx, n)
	return Pace(p), err
}

// ByRuns has any executor play, by awaiting every run.
func ByRuns(ex allreduce.Executor) Player { return runner{ex} }

type runner struct{ allreduce.Executor }

func (r runner) Ready(p *allreduce.Plan, args []allreduce.Args, calls int, _ How) (Replay, error) {
	return &runs{r.Executor, p, args, calls}, nil
}

type runs struct {
	ex    allreduce.Executor
	plan  *allreduce.Plan
	args  []allreduce.Args
	calls int
}

func (r *runs) Run(ctx context.Context, n int) (Pace, error) {
	var device time.Duration
	begin := time.Now()
	for range n * r.calls {
		t, err := r.ex.Run(ctx, r.plan, r.args)
		if err != nil {
			return Pace{}, err
		}
		device += t.Elapsed
	}
	total := time.Duration(n * r.calls)
	return Pace{Device: device / total, Host: time.Since(begin) / total}, nil
}

func (r *runs) Close() error { return nil }
