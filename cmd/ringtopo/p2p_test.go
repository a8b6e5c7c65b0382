package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/gpu"
	"github.com/ringtopo/ringtopo/cuda"
	"github.com/ringtopo/ringtopo/cuda/cudafake"
)

// p2pWith runs p2p on a machine of the test's.
func p2pWith(t *testing.T, m *cudafake.Driver, args ...string) (string, error) {
	t.Helper()
	drv, err := cuda.New(m.API())
	if err != nil {
		t.Fatal(err)
	}
	c := &p2pCommand{
		present: func() (gpu.Hardware, error) {
			if m.GPUs == 0 {
				return gpu.Hardware{}, fmt.Errorf("%w: none here", allreduce.ErrNoDevice)
			}
			return gpu.Hardware{Devices: m.GPUs}, nil
		},
		open: func(o gpu.Options, bytes int64) (*gpu.Peers, error) {
			o.Driver = drv
			return gpu.OpenPeers(o, bytes)
		},
	}
	var out strings.Builder
	a, cmd := &app{out: &out, err: &strings.Builder{}, ctx: t.Context()}, &cobra.Command{}
	a.addP2PFlags(cmd, c)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	err = a.p2p(c)
	if m.Live() > 0 || m.Contexts() > 0 {
		t.Errorf("%q: %d allocations and %d contexts left", args, m.Live(), m.Contexts())
	}
	return out.String(), err
}

// apart are GPUs that reach only their own memory: nobody answers a fake's flags.
// Their kernels find so many words wrong.
func apart(gpus int, wrong uint32) *cudafake.Driver {
	m := cudafake.New(gpus)
	m.NoPeers = true
	m.OnLaunch = func(l cudafake.Launch) cuda.Result {
		if l.Kernel == "compare" {
			result := *(*unsafe.Pointer)(unsafe.Add(l.Params, 3*unsafe.Sizeof(l.Params)))
			m.Poke(*(*cuda.Ptr)(result), binary.NativeEndian.AppendUint32(nil, wrong))
		}
		return 0
	}
	return m
}

// GPUs are measured in the order in which they are named.
func TestP2P(t *testing.T) {
	out, err := p2pWith(t, apart(4, 0), "--gpus", "3,0-1", "--bytes", "4KiB", "--rounds", "1", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var r gpu.PeerReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != gpu.PeerSchema || len(r.GPUs) != 3 || r.GPUs[0].Ordinal != 3 || r.GPUs[2].Ordinal != 1 || r.Bytes != 4096 {
		t.Errorf("%+v", r)
	}
	if out, err = p2pWith(t, apart(2, 0), "--bytes", "4KiB"); err != nil || !strings.Contains(out, "GPU1 = Fake GPU at ") {
		t.Errorf("%v in\n%s", err, out)
	}
}

// Wrong data is exit code 1, and the report says where it was.
func TestP2PFindsWrongData(t *testing.T) {
	out, err := p2pWith(t, apart(2, 7), "--bytes", "4KiB", "-o", "yaml")
	if exitCode(err, true) != exitFailed || !strings.Contains(out, "\nok: false\n") || !strings.Contains(out, "  - [7, 0]\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What cannot be measured is told apart: mistakes of the command line, among them
// more memory than there is, machines without GPUs, and GPUs that fail.
func TestP2PEnds(t *testing.T) {
	small := cudafake.New(2)
	small.Memory = 1 << 20
	broken := cudafake.New(2)
	broken.OnLaunch = func(cudafake.Launch) cuda.Result { return cuda.LaunchFailed }
	for want, c := range map[string]struct {
		m    *cudafake.Driver
		args []string
		code int
	}{
		"1 of 1 MiB left; send fewer bytes (--bytes), or take fewer GPUs (--gpus)": {small, []string{"--bytes", "2MiB"}, exitUsage},
		"there is no GPU 2: this process sees GPUs 0 to 1":                         {cudafake.New(2), []string{"--gpus", "0,2"}, exitUsage},
		"--gpus 1,1: GPU 1 is named twice":                                         {cudafake.New(2), []string{"--gpus", "1,1"}, exitUsage},
		`--gpus 1,x: "x" is not a device number`:                                   {cudafake.New(2), []string{"--gpus", "1,x"}, exitUsage},
		"--bytes 4095: want a multiple of 16, from 4KiB on":                        {cudafake.New(2), []string{"--bytes", "4095"}, exitUsage},
		"--bytes 4100: want a multiple of 16":                                      {cudafake.New(2), []string{"--bytes", "4100"}, exitUsage},
		"--rounds 0: want at least 1":                                              {cudafake.New(2), []string{"--rounds", "0"}, exitUsage},
		"none here":                                                                {cudafake.New(0), nil, exitNoGPU},
		"cuLaunchKernel: CUDA_ERROR":                                               {broken, []string{"--bytes", "4KiB"}, exitFailed},
	} {
		out, err := p2pWith(t, c.m, c.args...)
		if err == nil || exitCode(err, true) != c.code || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("%q: %v with %q, want %q and exit code %d", c.args, err, out, want, c.code)
		}
	}
}

func TestWritePeers(t *testing.T) {
	r := &gpu.PeerReport{
		GPUs:  []gpu.PeerDevice{{Ordinal: 0, Name: "NVIDIA H200", BusID: "0000:06:00.0"}, {Ordinal: 3, Name: "NVIDIA H200", BusID: "0000:07:00.0"}},
		Bytes: 1 << 20, Reach: [][]string{{"self", "NVLink"}, {"host", "self"}},
		Write: gpu.Matrix{{1971.1, 368.25}, {0, 1963.6}}, Read: gpu.Matrix{{1971.1, 372.2}, {0, 1963.6}},
		Both: gpu.Matrix{{0, 363.5}, {0, 0}}, Latency: gpu.Matrix{{0, 1.21}, {0, 0}},
		OneToMany: []float64{368.7, 0}, ManyToOne: []float64{0, 367.4},
		Wrong: [][]int64{{0, 0}, {0, 0}}, OK: true, Notes: []string{"GPU 3 reaches GPU 0 through host memory: no peer access"},
	}
	var b strings.Builder
	if err := writePeers(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"GPU3 = NVIDIA H200 at 0000:07:00.0\n", "Reach:\n      GPU0  GPU3\nGPU0  self  NVLink\nGPU3  host  self\n",
		"GPU0  1971.1  368.2\nGPU3  -       1963.6\n", "Latency of a flag, us one way:\n      GPU0  GPU3\nGPU0  -     1.2\n",
		"GPU0  to all 368.7  from all 0.0\n", "Note: GPU 3 reaches GPU 0 through host memory", "Every word arrived right.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	r.OK, r.Wrong[0][1] = false, 12
	if err := writePeers(&b, r); err != nil || !strings.Contains(b.String(), "WRONG words: [[0 12] [0 0]]") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
