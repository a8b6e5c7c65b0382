package connect_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/ringtopo/ringtopo/connect"
	"github.com/ringtopo/ringtopo/internal/topotest"
)

// alike gives nodes of 8 GPUs that found 12 channels, 24 after doubling.
func alike(t testing.TB, n int) []connect.Node {
	g := boxOf(t, topotest.AMD, 8, 80)
	search := fake(g, 0, rotated(12, 8)...).Search
	search.Ring.CrossNIC = 1
	nodes := make([]connect.Node, n)
	for i := range nodes {
		nodes[i] = connect.Node{Graph: g, Search: search, Ranks: make([]int, 8)}
		for j := range nodes[i].Ranks {
			nodes[i].Ranks[j] = 8*i + j
		}
	}
	return nodes
}

// BenchmarkJoin stitches, builds and checks 24 channels over many nodes of 8
// GPUs. Memory is to grow with the number of ranks, and time nearly so.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{1000, 5000, 12500} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			nodes := alike(b, n)
			b.ReportAllocs()
			var c *connect.Comm
			var times []float64
			for b.Loop() {
				var err error
				start := cpuSeconds()
				if c, err = connect.Join(nodes, connect.DefaultOptions()); err != nil {
					b.Fatal(err)
				}
				times = append(times, cpuSeconds()-start)
			}
			if c.NChannels != 24 {
				b.Fatalf("%d channels", c.NChannels)
			}
			slices.Sort(times)
			median := times[len(times)/2]
			b.ReportMetric(median*1e3, "cpu-ms")
			b.ReportMetric(median*1e9/float64(c.NRanks), "cpu-ns/rank")
		})
	}
}

// cpuSeconds is what this process has used; other processes do not disturb it
// much.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkBuildRing follows and checks one ring of 100,000 ranks.
func BenchmarkBuildRing(b *testing.B) {
	next := make([]int32, 100000)
	for i := range next {
		next[i] = int32((i + 1) % len(next))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := connect.BuildRing(0, next); err != nil {
			b.Fatal(err)
		}
	}
}

// Memory is linear in the number of ranks, which needs no clock to see: 12
// rings of 16 bytes a rank, 24 trees of 16, and little else.
func TestJoinMemoryIsLinear(t *testing.T) {
	perRank := func(n int) uint64 {
		nodes := alike(t, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := connect.Join(nodes, connect.DefaultOptions())
		runtime.ReadMemStats(&after)
		if err != nil || c.NChannels != 24 {
			t.Fatal(c, err)
		}
		return (after.TotalAlloc - before.TotalAlloc) / uint64(c.NRanks)
	}
	for _, n := range []int{10, 100, 1000} {
		if got := perRank(n); got > 1000 {
			t.Errorf("%d nodes: %d bytes per rank", n, got)
		}
	}
}
