package host

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/verify"
)

// BenchmarkMemoryLimit sets the best algorithm for large messages beside the
// least that the memory must carry: every input read once and every output
// written once, which is what copying the inputs to the outputs does. Copies and
// AllReduces take turns on the same buffers and as many threads as there are
// processors; the better of two ways to copy counts. It reports medians:
// copy-GB/s (read and written bytes), copy-us, run-us, and x-limit, their ratio.
func BenchmarkMemoryLimit(b *testing.B) {
	for _, c := range []struct {
		name string
		open executortest.New
	}{{"goroutines", open}, {"procs", openProcs}} {
		for size := int64(16 << 20); size <= 256<<20; size *= 2 {
			b.Run(fmt.Sprintf("%s/%d", c.name, size), func(b *testing.B) { benchmarkLimit(b, size, c.open) })
		}
	}
}

func benchmarkLimit(b *testing.B, size int64, open executortest.New) {
	l := executortest.Four()
	l.BuffSize = allreduce.DefaultBuffSize()
	pl, layout := planFor(b, executortest.Config{Layout: l, Algo: allreduce.TwoShot, Proto: allreduce.Simple, Tasks: []plan.Task{{Count: size / 4, DType: allreduce.Float32}}})
	x, err := open(layout)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	trial, err := verify.NewTrial(x, pl, verify.Options{Pattern: verify.Ones})
	if err == nil {
		err = trial.Fill()
	}
	if err != nil {
		b.Fatal(err)
	}
	args := trial.Args()[0]
	run := func() time.Duration {
		timing, err := trial.Run(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		return timing.Elapsed
	}
	var runs, plain, streamed []time.Duration
	run()
	for b.Loop() {
		plain = append(plain, copyAll(args, size, func(dst, src []byte) { copy(dst, src) }))
		runs = append(runs, run())
		streamed = append(streamed, copyAll(args, size, func(dst, src []byte) { stream(dst, src, src[len(src)-1:]) }))
		runs = append(runs, run())
	}
	limit, took := min(middle(plain), middle(streamed)), middle(runs)
	b.ReportMetric(2*float64(layout.NRanks)*float64(size)/float64(limit.Nanoseconds()), "copy-GB/s")
	b.ReportMetric(float64(limit.Nanoseconds())/1e3, "copy-us")
	b.ReportMetric(float64(took.Nanoseconds())/1e3, "run-us")
	b.ReportMetric(float64(took)/float64(limit), "x-limit")
}

// copyAll copies every rank's input to its output, each thread its share of all.
func copyAll(args allreduce.Args, size int64, do func(dst, src []byte)) time.Duration {
	threads := int64(min(len(args.Send), runtime.GOMAXPROCS(0)))
	var group sync.WaitGroup
	begin := time.Now()
	for t := range threads {
		group.Go(func() {
			from, to := size*t/threads, size*(t+1)/threads
			for rank := range args.Send {
				do(memoryOf(args.Recv[rank], size)[from:to], memoryOf(args.Send[rank], size)[from:to])
			}
		})
	}
	group.Wait()
	return time.Since(begin)
}

func memoryOf(s allreduce.Span, size int64) []byte {
	return s.Buf.(allreduce.HostBuffer).Bytes()[s.Off:][:size]
}

func middle(list []time.Duration) time.Duration {
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// What the limit is measured with moves all data, all of it and nothing else.
func TestCopyAll(t *testing.T) {
	const size = 100_003
	x, err := New(executortest.Four(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	args := allreduce.Args{}
	for rank := range 4 {
		for _, list := range []*[]allreduce.Span{&args.Send, &args.Recv} {
			buf, err := x.Alloc(rank, size+64)
			if err != nil {
				t.Fatal(err)
			}
			*list = append(*list, allreduce.Span{Buf: buf, Off: 32})
		}
		src := memoryOf(args.Send[rank], size)
		for i := range src {
			src[i] = byte(i*7 + rank)
		}
	}
	for name, do := range map[string]func(dst, src []byte){
		"plain":    func(dst, src []byte) { copy(dst, src) },
		"streamed": func(dst, src []byte) { stream(dst, src, src[len(src)-1:]) },
	} {
		for rank := range 4 {
			clear(args.Recv[rank].Buf.(allreduce.HostBuffer).Bytes())
		}
		if took := copyAll(args, size, do); took <= 0 {
			t.Errorf("%s: took %v", name, took)
		}
		for rank := range 4 {
			all := args.Recv[rank].Buf.(allreduce.HostBuffer).Bytes()
			if !slices.Equal(all[32:32+size], memoryOf(args.Send[rank], size)) {
				t.Errorf("%s: rank %d was not copied", name, rank)
			}
			if slices.Max(all[:32]) != 0 || slices.Max(all[32+size:]) != 0 {
				t.Errorf("%s: more than rank %d's output was written", name, rank)
			}
		}
	}
}
