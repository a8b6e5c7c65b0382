package host

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ringtopo/ringtopo/allreduce"
	"pgregory.net/rapid"
)

func drawPlan(t *rapid.T) *allreduce.Plan {
	p := &allreduce.Plan{Mask: rapid.Uint64().Draw(t, "mask"), Works: []allreduce.Work{}}
	for range rapid.IntRange(0, 4).Draw(t, "works") {
		w := allreduce.Work{
			Count: rapid.Int64Range(0, 50).Draw(t, "count"), DType: rapid.SampledFrom(allreduce.DTypes()).Draw(t, "type"),
			Op: rapid.SampledFrom(allreduce.Ops()).Draw(t, "op"), Algo: allreduce.Algo(rapid.IntRange(0, allreduce.NumAlgos-1).Draw(t, "algo")),
			Proto:     rapid.SampledFrom(allreduce.Protos()).Draw(t, "proto"),
			StepBytes: rapid.IntRange(1, 1<<30).Draw(t, "step"), ChunkSteps: 4, SliceSteps: 2, Parts: []allreduce.Part{},
		}
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			w.Parts = append(w.Parts, allreduce.Part{Channel: rapid.IntRange(0, 63).Draw(t, "channel"), Offset: rapid.Int64Range(0, 1<<50).Draw(t, "offset"),
				Count: rapid.Int64Range(0, 1<<50).Draw(t, "part"), ChunkBytes: rapid.IntRange(0, 1<<30).Draw(t, "chunk"), Loops: rapid.IntRange(0, 9).Draw(t, "loops")})
		}
		p.Works = append(p.Works, w)
	}
	return p
}

// A plan that is told is heard as it was, into whatever the last one left.
func TestTellAndHear(t *testing.T) {
	const ranks = 3
	memory := make([]byte, 1<<16)
	offset := func(b []byte) int { return cap(memory) - cap(b) }
	page := make([]uint64, 1<<12)
	heard, got := &allreduce.Plan{}, spans{}
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var told spans
		told.reset(len(p.Works), ranks)
		for i := range p.Works {
			told.shared[i] = rapid.Bool().Draw(rt, "in place")
			for range ranks {
				cutOne := func() []byte {
					at := rapid.IntRange(0, 60000).Draw(rt, "at")
					return memory[at : at+int(p.Works[i].Bytes())]
				}
				told.list = append(told.list, span{cutOne(), cutOne()})
			}
		}
		if err := (&scribe{words: page}).tell(p, &told, offset); err != nil {
			rt.Fatal(err)
		}
		(&scribe{words: page}).hear(heard, &got, ranks, memory)
		if diff := cmp.Diff(p, heard, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(diff)
		}
		for i := range told.list {
			if offset(told.list[i].in) != offset(got.list[i].in) || offset(told.list[i].out) != offset(got.list[i].out) || len(told.list[i].in) != len(got.list[i].in) {
				rt.Fatalf("span %d differs", i)
			}
		}
		if !slices.Equal(told.shared, got.shared) {
			rt.Fatal("what is in place differs")
		}
	})
}

func TestTellTooMuch(t *testing.T) {
	p := &allreduce.Plan{Works: []allreduce.Work{{Parts: make([]allreduce.Part, 64)}}}
	var s spans
	s.reset(1, 2)
	if err := (&scribe{words: make([]uint64, 100)}).tell(p, &s, nil); !errors.Is(err, errLongPlan) {
		t.Errorf("error %v", err)
	}
}

func TestResizeKeepsMemory(t *testing.T) {
	a := resize([][]int(nil), 3)
	a[2] = make([]int, 5)
	b := resize(resize(a, 1), 3)
	if len(b) != 3 || len(b[2]) != 5 {
		t.Errorf("%d elements, the last of %d", len(b), len(b[2]))
	}
	if n := testing.AllocsPerRun(100, func() { b = resize(resize(b, 1), 3) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
