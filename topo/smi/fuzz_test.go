package smi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo/smi"
)

// FuzzParse: whatever the text, it is refused with an *Error or becomes a
// machine with just the distances that were read.
func FuzzParse(f *testing.F) {
	f.Add(pair)
	f.Add(full(8, "NV12"))
	f.Add("\tGPU0\tGPU1\tmlx4_0\tCPU Affinity\nGPU0\t X \tSOC\tPHB\t0-5\nGPU1\tSOC\t X \tSOC\t6-11\nmlx4_0\tPHB\tSOC\t X\n")
	f.Add("        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\nGPU0     X      NV1     0-3     0        N/A\nGPU1    NV1      X      4-7     1       N/A\n")
	f.Add(" \tGPU0\tGPU1\t\n GPU0\tX\tOK\n GPU1\tOK\tX\n")
	f.Add("GPU0\t X \tPIX\n")
	f.Add("\xff\xfeG\x00P\x00U\x000\x00\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := smi.Parse(strings.NewReader(text), "fuzz", smi.Options{})
		if err != nil {
			var e *smi.Error
			if !errors.As(err, &e) {
				t.Fatalf("not an *Error: %v", err)
			}
			return
		}
		if len(m.Matrix.GPUs) == 0 || len(m.System.CPUs) == 0 {
			t.Fatalf("a machine without GPUs")
		}
		checkDistances(t, m.Matrix, m.System)
	})
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{8, 16, 64} {
		text := full(n, "NV18")
		b.Run(fmt.Sprintf("%d GPUs", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := smi.Parse(strings.NewReader(text), "bench", smi.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
