package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// computing is the GPU engine on fake GPUs, which compute nothing: after a run a
// serial executor works out what kernels would have left in the GPUs' memory.
type computing struct {
	*gpu.Executor
	serial *executortest.Serial
}

func (c computing) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	t, err := c.Executor.Run(ctx, p, args)
	if err != nil {
		return t, err
	}
	copies := make([]allreduce.Args, len(args))
	for i, a := range args {
		for rank := range p.Layout.NRanks {
			input, err := c.moved(a.Send[rank], p.Works[i].Bytes())
			if err != nil {
				return t, err
			}
			output, err := c.serial.Alloc(rank, p.Works[i].Bytes()+slack)
			if err != nil {
				return t, err
			}
			copies[i].Send, copies[i].Recv = append(copies[i].Send, input), append(copies[i].Recv, allreduce.Span{Buf: output})
		}
	}
	if _, err := c.serial.Run(ctx, p, copies); err != nil {
		return t, err
	}
	for i, a := range args {
		b := make([]byte, p.Works[i].Bytes())
		for rank, s := range a.Recv {
			if err := errors.Join(copies[i].Recv[rank].Buf.Read(b, 0), s.Buf.Write(b, s.Off)); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// slack is behind copies, where chunks of no elements begin.
const slack = 4096

// moved is a copy of a span in the serial executor's memory.
func (c computing) moved(s allreduce.Span, n int64) (allreduce.Span, error) {
	b := make([]byte, n)
	to, err := c.serial.Alloc(s.Buf.Rank(), n+slack)
	return allreduce.Span{Buf: to}, errors.Join(err, s.Buf.Read(b, s.Off), to.Write(b, 0))
}

// fakeGPUs is the GPU engine on a machine of the test's.
func fakeGPUs(t *testing.T, m *cudafake.Driver) []engine {
	t.Helper()
	drv, err := cuda.New(m.API())
	if err != nil {
		t.Fatal(err)
	}
	open := func(a *app, l *allreduce.Layout, o engineOptions) (allreduce.Executor, error) {
		ex, err := gpu.New(l, gpu.Options{Driver: drv, NoP2P: o.noP2P, RanksPerGPU: o.perGPU})
		if err != nil {
			return nil, err
		}
		serial, err := executortest.NewSerial(l)
		return computing{ex, serial}, err
	}
	return []engine{{"gpu", func(*engineFlags) error { return nil }, open}}
}

// small keeps the fake's memory small.
var small = []string{"--set", "NCCL_BUFFSIZE=65536", "--set", "NCCL_LL_BUFFSIZE=16384", "--set", "NCCL_LL128_BUFFSIZE=16384"}

// All that validate asks of GPUs, on two of them with two ranks each: hops are
// measured, every ring is proved alone and all together.
func TestValidateOnGPUs(t *testing.T) {
	m := cudafake.New(2)
	out, err := validateWith(t, fakeGPUs(t, m), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "256KiB", "--proto", "LL,LL128,Simple", "--rounds", "2")...)
	if err != nil {
		t.Fatal(err, out)
	}
	// A hop of 64 MiB takes 10 us on fake GPUs, measured to the nanosecond.
	for _, want := range []string{"Engine: gpu", "0 > 1  NVL 6711.6", "│ LL128  │", "PASSED: 62 runs, every bit as it must be"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q in\n%s", want, out)
		}
	}
	if m.Live() > 0 || m.Contexts() > 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
}

// On GPUs that have no room for all blocks of all ranks, fewer channels run.
func TestValidateOnSmallGPUs(t *testing.T) {
	m := cudafake.New(1)
	m.SMs = 20
	out, err := validateWith(t, fakeGPUs(t, m), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "2MiB", "--algo", "Ring", "--proto", "Simple", "--rounds", "1", "--stress=false")...)
	if err != nil || !strings.Contains(out, "ran on 5 of 12 channels: ") {
		t.Errorf("%v in\n%s", err, out)
	}
	m.SMs = 3
	_, err = validateWith(t, fakeGPUs(t, m), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "64KiB", "--algo", "Ring", "--rounds", "1")...)
	if err == nil || !strings.Contains(err.Error(), "use fewer ranks per GPU") {
		t.Errorf("got %v", err)
	}
}

// Through host memory there is no LL128: it is left out of the list.
func TestValidateThroughHostMemory(t *testing.T) {
	out, err := validateWith(t, fakeGPUs(t, cudafake.New(2)), append(small, "--engine", "gpu", "-m", "v100x4", "--no-p2p", "--bytes", "64KiB", "--proto", "LL,LL128", "--rounds", "1", "--stress=false")...)
	if err != nil {
		t.Fatal(err, out)
	}
	if !strings.Contains(out, "left out: gpu does not run Ring/LL128: channel 0 goes from rank 1 to 2 through host memory") ||
		!strings.Contains(out, "hops through host memory are not measured") || !strings.Contains(out, "PASSED: 14 runs") {
		t.Errorf("got\n%s", out)
	}
}
