package main

import (
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce/gpu"
)

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
