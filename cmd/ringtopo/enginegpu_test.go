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
	last   *allreduce.Plan
	shape  func(*allreduce.Block) // what a block records that is not so
}

// Blocks are what kernels would have recorded: all ranks in one launch.
func (c *computing) Blocks() (list []allreduce.Block) {
	channels := c.last.Channels()
	for rank := range c.last.Layout.NRanks {
		for i, channel := range channels {
			b := allreduce.Block{Rank: rank, Index: rank*len(channels) + i, Grid: c.last.Layout.NRanks * len(channels), Threads: c.last.Threads, Channel: channel}
			if c.shape != nil {
				c.shape(&b)
			}
			list = append(list, b)
		}
	}
	return list
}

func (c *computing) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	c.last = p
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
func (c *computing) moved(s allreduce.Span, n int64) (allreduce.Span, error) {
	b := make([]byte, n)
	to, err := c.serial.Alloc(s.Buf.Rank(), n+slack)
	return allreduce.Span{Buf: to}, errors.Join(err, s.Buf.Read(b, s.Off), to.Write(b, 0))
}

// fakeGPUs is the GPU engine on a machine of the test's.
func fakeGPUs(t *testing.T, m *cudafake.Driver, shape func(*allreduce.Block)) []engine {
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
		return &computing{ex, serial, nil, shape}, err
	}
	return []engine{{name: "gpu", usable: usable, open: open}}
}

// small keeps the fake's memory small.
var small = []string{"--set", "NCCL_BUFFSIZE=65536", "--set", "NCCL_LL_BUFFSIZE=16384", "--set", "NCCL_LL128_BUFFSIZE=16384"}

// All that validate asks of GPUs, on two of them with two ranks each: hops are
// measured, every ring is proved alone and all together.
func TestValidateOnGPUs(t *testing.T) {
	m := cudafake.New(2)
	out, err := validateWith(t, fakeGPUs(t, m, nil), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "256KiB", "--proto", "LL,LL128,Simple", "--rounds", "2")...)
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
	out, err := validateWith(t, fakeGPUs(t, m, nil), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "2MiB", "--algo", "Ring", "--proto", "Simple", "--rounds", "1", "--stress=false")...)
	if err != nil || !strings.Contains(out, "ran on 5 of 12 channels: ") {
		t.Errorf("%v in\n%s", err, out)
	}
	m.SMs = 3
	_, err = validateWith(t, fakeGPUs(t, m, nil), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "64KiB", "--algo", "Ring", "--rounds", "1")...)
	if exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), "use fewer ranks per GPU") {
		t.Errorf("got %v", err)
	}
}

// A GPU that refuses while hops are measured, or in a run, fails the validation:
// nothing is wrong with the machine's topology.
func TestValidateOnFailingGPUs(t *testing.T) {
	for kernel, where := range map[string]string{"transfer": "measure hop 0 > 1: ", "ring_simple": "cuLaunchCooperativeKernel: "} {
		m := cudafake.New(2)
		m.OnLaunch = func(l cudafake.Launch) cuda.Result {
			if l.Kernel == kernel {
				return cuda.LaunchFailed
			}
			return 0
		}
		_, err := validateWith(t, fakeGPUs(t, m, nil), append(small, "--engine", "gpu", "-m", "v100x4", "--bytes", "64KiB", "--proto", "Simple", "--rounds", "1")...)
		if exitCode(err, true) != exitFailed || !strings.HasPrefix(err.Error(), where) {
			t.Errorf("%s: exit code %d, %v", kernel, exitCode(err, true), err)
		}
		if m.Live() > 0 || m.Contexts() > 0 {
			t.Errorf("%s: %d allocations and %d contexts left", kernel, m.Live(), m.Contexts())
		}
	}
}

// Through host memory there is no LL128: it is left out of the list.
func TestValidateThroughHostMemory(t *testing.T) {
	out, err := validateWith(t, fakeGPUs(t, cudafake.New(2), nil), append(small, "--engine", "gpu", "-m", "v100x4", "--no-p2p", "--bytes", "64KiB", "--proto", "LL,LL128", "--rounds", "1", "--stress=false")...)
	if err != nil {
		t.Fatal(err, out)
	}
	if !strings.Contains(out, "left out: gpu does not run Ring/LL128: channel 0 goes from rank 1 to 2 through host memory") ||
		!strings.Contains(out, "hops through host memory are not measured") || !strings.Contains(out, "PASSED: 14 runs") {
		t.Errorf("got\n%s", out)
	}
}

// Memory that runs out, for messages or for FIFOs, is a mistake of the command
// line, with the remedy.
func TestValidateWithoutMemory(t *testing.T) {
	m := cudafake.New(1)
	m.Memory = 20 << 20
	args := append(small, "--engine", "gpu", "--ring", "0 1", "--bytes", "40MiB", "--rounds", "1")
	_, err := validateWith(t, fakeGPUs(t, m, nil), args...)
	if exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), "20 of 20 MiB left") || !strings.Contains(err.Error(), "send fewer bytes (--bytes)") {
		t.Errorf("messages: %v", err)
	}
	m.Memory = 10000
	_, err = validateWith(t, fakeGPUs(t, m, nil), args...)
	if exitCode(err, true) != exitUsage || !strings.Contains(err.Error(), "take fewer channels (--nchannels)") {
		t.Errorf("FIFOs: %v", err)
	}
	if m.Live() > 0 || m.Contexts() > 0 {
		t.Errorf("%d allocations and %d contexts left", m.Live(), m.Contexts())
	}
}

// A block that runs something else than planned fails the run, although the data
// is right.
func TestBlocksAsPlanned(t *testing.T) {
	for want, shape := range map[string]func(*allreduce.Block){
		"block 2 of 4, for rank 2, ran channel 1, planned are [0]": func(b *allreduce.Block) { b.Channel += b.Rank / 2 },
		"block 0 of 4, for rank 0, had 576 threads, planned are":   func(b *allreduce.Block) { b.Threads = 576 },
		"block 1 of 4, for rank 0, ran channel 0 once more":        func(b *allreduce.Block) { b.Rank = 0 },
		"": nil,
	} {
		out, err := validateWith(t, fakeGPUs(t, cudafake.New(1), shape), append(small, "--engine", "gpu", "--ring", "0 2 3 1", "--bytes", "1KiB", "--proto", "Simple", "--rounds", "1")...)
		if shape == nil {
			if err != nil || !strings.Contains(out, "PASSED: 2 runs") {
				t.Errorf("%v in\n%s", err, out)
			}
			continue
		}
		if exitCode(err, true) != exitFailed || !strings.Contains(out, "not as planned: "+want) {
			t.Errorf("%v, lacks %q in\n%s", err, want, out)
		}
	}
}

func TestMisplaced(t *testing.T) {
	p := &allreduce.Plan{Layout: &allreduce.Layout{NRanks: 2}, Mask: 0b100101, Threads: 96}
	block := func(rank, index, channel int) allreduce.Block {
		return allreduce.Block{Rank: rank, Index: index, Grid: 6, Threads: 96, Channel: channel}
	}
	good := []allreduce.Block{block(0, 0, 0), block(0, 1, 2), block(0, 2, 5), block(1, 3, 0), block(1, 4, 2), block(1, 5, 5)}
	if what := misplaced(p, good); what != "" {
		t.Error(what)
	}
	for want, list := range map[string][]allreduce.Block{
		"5 blocks recorded that they ran, planned are 6": good[1:], "0 blocks recorded that they ran, planned are 6": nil,
		"ran channel 5, which is number 2 of 3": {block(0, 1, 5)}, "ran channel 3, planned are [0 2 5]": {block(0, 1, 3)},
	} {
		if what := misplaced(p, list); !strings.Contains(what, want) {
			t.Errorf("got %q, want %q", what, want)
		}
	}
}
