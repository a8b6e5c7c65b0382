package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/allreduce/launch"
	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/job"
)

// torchrun is the environment of one of two processes.
func torchrun(rank int, more ...string) []string {
	return append(more, fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("LOCAL_RANK=%d", rank), "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=test")
}

func TestWorld(t *testing.T) {
	named := &machineFlags{machines: []string{"v100x4"}}
	for name, c := range map[string]struct {
		environ []string
		engine  string
		rank    int // -1: none
		want    string
	}{
		"none":           {nil, "gpu", -1, ""},
		"rank 1":         {torchrun(1), "gpu", 1, ""},
		"another engine": {torchrun(1), "host", -1, ""},
		"auto elsewhere": {torchrun(1), engineAuto, -1, ""},
		"one process":    {[]string{"RANK=0", "WORLD_SIZE=1"}, "gpu", -1, ""},
		"several hosts":  {[]string{"RANK=0", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2"}, "gpu", -1, "torchrun has started processes on several hosts"},
		"nonsense":       {[]string{"RANK=x", "WORLD_SIZE=2"}, "gpu", -1, `RANK="x"`},
	} {
		a := &app{environ: c.environ}
		w, err := a.world(&engineFlags{engine: c.engine}, named)
		switch {
		case c.want != "" && (err == nil || exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), c.want)), c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case (w != nil) != (c.rank >= 0) || w != nil && w.Rank != c.rank:
			t.Errorf("%s: %+v", name, w)
		}
	}
	if _, err := (&app{environ: torchrun(0)}).world(&engineFlags{engine: engineAuto}, &machineFlags{machines: []string{job.Auto}}); err != nil {
		t.Error(err) // whether it joins depends on the machine
	}
}

func TestTooFewLaunched(t *testing.T) {
	l := &allreduce.Layout{NRanks: 4, Rings: [][]int{{0, 1, 2, 3}}}
	_, err := joinGPU(&app{err: io.Discard, ctx: context.Background()}, l, gpu.Options{}, &launch.World{Launcher: "torchrun", Size: 2, LocalSize: 2})
	if exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), "2 processes, the rings have 4 ranks") {
		t.Errorf("got %v", err)
	}
}

// What one process finds all hear of: wrong elements add up, the slowest counts,
// and stalls of any are a stall of all.
func TestAgree(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stall := allreduce.Stall{Rank: 1, Peer: 0, Proto: allreduce.LL}
	own := errors.New("an error that is nobody else's")
	var wg sync.WaitGroup
	for rank := range 2 {
		wg.Go(func() {
			r, err := launch.Join(ctx, launch.World{Launcher: "test", Rank: rank, Size: 2, LocalRank: rank, LocalSize: 2, Job: t.Name()})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			v := &validator{ex: &launched{rank: r}, comm: &connect.Comm{NRanks: 2}, options: engineOptions{limit: time.Second}}
			run := &allreduce.Run{Bytes: 4000, TimeUs: float64(1 + rank), Wrong: int64(3 * rank)}
			if rank == 1 {
				run.FirstWrong = &allreduce.Mismatch{Rank: 1, Element: 7}
			}
			if err := v.agree(ctx, run, nil); err != nil || run.Wrong != 3 || run.TimeUs != 2 || run.BusBW != 2 || run.FirstWrong.Element != 7 {
				t.Errorf("rank %d: %+v, %v", rank, run, err)
			}
			ended := error(nil)
			if rank == 1 {
				ended = fmt.Errorf("round 1: %w", &allreduce.StuckError{Stalls: []allreduce.Stall{stall}})
			}
			var stuck *allreduce.StuckError
			if err := v.agree(ctx, run, ended); !errors.As(err, &stuck) || len(stuck.Stalls) != 1 || stuck.Root() != stall {
				t.Errorf("rank %d: %v", rank, err)
			}
			if err := v.agree(ctx, run, own); err != own {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
	alone := &validator{}
	if err := alone.agree(ctx, &allreduce.Run{}, own); err != own {
		t.Errorf("without others: %v", err)
	}
}
