package plan_test

import (
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/plan"
)

// BenchmarkNew is what a communicator costs once: its tables.
func BenchmarkNew(b *testing.B) {
	comm := systemB()
	for b.Loop() {
		if _, err := plan.New(comm, plan.DefaultSettings()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlan is what every message costs: choice, distribution, chunks.
func BenchmarkPlan(b *testing.B) {
	p := newPlanner(b, systemA(), nil)
	for name, tasks := range map[string][]plan.Task{
		"4KiB":     {{Count: 1024, DType: allreduce.Float32}},
		"64MiB":    {{Count: 16 << 20, DType: allreduce.Float32}},
		"group100": make([]plan.Task, 100),
	} {
		for i := range tasks {
			if tasks[i].Count == 0 {
				tasks[i] = plan.Task{Count: int64(i+1) * 1000, DType: allreduce.Float16}
			}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Plan(tasks, plan.Force{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
