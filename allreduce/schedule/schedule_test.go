package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
	"pgregory.net/rapid"
)

func mustRing(t *testing.T, order ...int) *schedule.Ring {
	t.Helper()
	r, err := schedule.NewRing(order)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func whole(count int64, chunkBytes int, dt allreduce.DType, n int) *allreduce.Part {
	return &allreduce.Part{Count: count, ChunkBytes: chunkBytes, Loops: schedule.Loops(count, chunkBytes, dt, n)}
}

func TestRingCoordinates(t *testing.T) {
	r := mustRing(t, 0, 2, 3, 1)
	if p := r.Position(3); p != 2 {
		t.Errorf("rank 3 is at position %d, want 2", p)
	}
	if prev, next := r.Prev(3), r.Next(3); prev != 2 || next != 1 {
		t.Errorf("rank 3 is between %d and %d, want 2 and 1", prev, next)
	}
	if o := r.Owner(2); o != 3 {
		t.Errorf("chunk 2 belongs to rank %d, want 3", o)
	}
	if s := r.String(); s != "0 2 3 1" {
		t.Errorf("ring prints as %q", s)
	}
	if back := mustRing(t, 0, 3, 2, 1); back.Position(3) != 1 {
		t.Errorf("ring 0 3 2 1: rank 3 is at %d, want 1", back.Position(3))
	}
}

// However a ring is written, positions count from rank 0.
func TestRingBeginsAtRankZero(t *testing.T) {
	for _, text := range []string{"3 1 0 2", "3,1,0,2", "3->1->0->2"} {
		r, err := schedule.ParseRing(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Order(); !slices.Equal(got, []int{0, 2, 3, 1}) {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestImpossibleRings(t *testing.T) {
	for text, want := range map[string]string{
		"0 1 1":    "rank 1 is repeated",
		"0 1 3":    "rank 3 is unknown",
		"0 -1 1":   "rank -1 is unknown",
		"0":        "at least 2 ranks",
		"":         "at least 2 ranks",
		"0 one 2":  `"one" is no rank`,
		"0 1 2 2 ": "rank 2 is repeated",
	} {
		if _, err := schedule.ParseRing(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ring %q: error %v, want %q", text, err, want)
		}
	}
}

// Four ranks: the primitives and chunks as the algorithm's description has
// them, S(i-1) RRS(i-2) RRS(i-3) RRCS(i) RCS(i-1) RCS(i-2) R(i+1).
func TestFourRanks(t *testing.T) {
	r := mustRing(t, 0, 2, 3, 1)
	rows := slices.Collect(schedule.All(r, whole(16, 1<<10, allreduce.Float32, 4), allreduce.Float32))
	if len(rows) != 28 {
		t.Fatalf("%d rows, want 28", len(rows))
	}
	var got []schedule.Row
	for row := range schedule.Rows(r, 3, whole(16, 1<<10, allreduce.Float32, 4), allreduce.Float32) {
		got = append(got, row)
	}
	row := func(step int, ph schedule.Phase, pr schedule.Primitive, c schedule.Chunk, owner, from, to schedule.Rank) schedule.Row {
		return schedule.Row{Step: step, Rank: 3, Position: 2, Phase: ph, Primitive: pr, Chunk: c, Owner: owner,
			From: from, To: to, Offset: int64(c) * 4, Count: 4}
	}
	want := []schedule.Row{
		row(0, schedule.ReduceScatter, schedule.Send, 1, 2, -1, 1),
		row(1, schedule.ReduceScatter, schedule.RecvReduceSend, 0, 0, 2, 1),
		row(2, schedule.ReduceScatter, schedule.RecvReduceSend, 3, 1, 2, 1),
		row(3, schedule.Fused, schedule.RecvReduceCopySend, 2, 3, 2, 1),
		row(4, schedule.AllGather, schedule.RecvCopySend, 1, 2, 2, 1),
		row(5, schedule.AllGather, schedule.RecvCopySend, 0, 0, 2, 1),
		row(6, schedule.AllGather, schedule.Recv, 3, 1, 2, -1),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rank 3 of 0 2 3 1 (-want +got):\n%s", d)
	}
	if err := schedule.Check(r, rows, 0, 16); err != nil {
		t.Error(err)
	}
}

func TestTwoRanks(t *testing.T) {
	r := mustRing(t, 0, 1)
	var got []string
	for row := range schedule.Rows(r, 1, whole(8, 1<<10, allreduce.Float32, 2), allreduce.Float32) {
		got = append(got, row.Primitive.String())
	}
	if want := []string{"send", "recvReduceCopySend", "recv"}; !slices.Equal(got, want) {
		t.Errorf("rank 1 of 2: %v, want %v", got, want)
	}
}

// By construction, for any ring, type, size and chunk size.
func TestEveryScheduleWorks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 17).Draw(rt, "n")
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(rt, "order")
		dt := rapid.SampledFrom(allreduce.DTypes()).Draw(rt, "type")
		p := whole(rapid.Int64Range(1, 3000).Draw(rt, "count"), 16*rapid.IntRange(1, 64).Draw(rt, "cells"), dt, n)
		p.Offset = int64(16 / dt.Size() * rapid.IntRange(0, 9).Draw(rt, "offset"))
		r, err := schedule.NewRing(order)
		if err != nil {
			rt.Fatal(err)
		}
		rows := slices.Collect(schedule.All(r, p, dt))
		if want := n * (2*n - 1) * p.Loops; len(rows) != want {
			rt.Fatalf("%d rows, want %d", len(rows), want)
		}
		checkCounts(rt, rows, n, p.Loops)
		if err := schedule.Check(r, rows, p.Offset, p.Count); err != nil {
			rt.Fatal(err)
		}
		checkFind(rt, rows, p, dt, n)
	})
}

func checkCounts(rt *rapid.T, rows []schedule.Row, n, loops int) {
	sends, receives := make([]int, n), make([]int, n)
	for _, row := range rows {
		if row.Primitive.Sends() {
			sends[row.Rank]++
		}
		if row.Primitive.Receives() {
			receives[row.Rank]++
		}
		if row.Owner != row.Rank && row.Primitive == schedule.RecvReduceCopySend {
			rt.Fatalf("rank %d finishes a chunk of rank %d", row.Rank, row.Owner)
		}
	}
	for rank := range n {
		if sends[rank] != loops*(2*n-2) || receives[rank] != loops*(2*n-2) {
			rt.Fatalf("rank %d sends %d and receives %d chunks in %d loops", rank, sends[rank], receives[rank], loops)
		}
	}
}

// Find agrees with where the rows say that chunks lie.
func checkFind(rt *rapid.T, rows []schedule.Row, p *allreduce.Part, dt allreduce.DType, n int) {
	for _, row := range rows {
		for _, e := range []int64{row.Offset, row.Offset + row.Count - 1} {
			if row.Count == 0 {
				continue
			}
			if loop, chunk := schedule.Find(p, dt, n, e); loop != row.Loop || chunk != row.Chunk {
				rt.Fatalf("element %d is in loop %d chunk %d, Find says %d and %d", e, row.Loop, row.Chunk, loop, chunk)
			}
		}
	}
}

// Chunk lengths that the device's arithmetic is known to give.
func TestKnownChunks(t *testing.T) {
	for _, c := range []struct {
		count         int64
		elements      int // of a full chunk of float32
		loops         int
		first, fourth int64 // lengths in the last loop
	}{
		{1398100, 524288, 1, 349528, 349516},
		{1398100, 8192, 43, 5464, 5452},
		{83332, 524288, 1, 20836, 20824},
		{83336, 524288, 1, 20836, 20828},
		{83311, 524288, 1, 20828, 20827},
		{83332, 8192, 3, 4452, 4440},
		{1024, 8192, 1, 256, 256},
		{1, 8192, 1, 1, 0},
	} {
		p := whole(c.count, 4*c.elements, allreduce.Float32, 4)
		if p.Loops != c.loops {
			t.Errorf("%d elements: %d loops, want %d", c.count, p.Loops, c.loops)
			continue
		}
		loop := schedule.LoopAt(p, allreduce.Float32, 4, p.Loops-1)
		_, first := loop.At(0)
		_, fourth := loop.At(3)
		if first != c.first || fourth != c.fourth {
			t.Errorf("%d elements, chunks of %d: last loop %d .. %d, want %d .. %d", c.count, c.elements, first, fourth, c.first, c.fourth)
		}
	}
}

func TestShares(t *testing.T) {
	loop := schedule.ShareLoop(&allreduce.Part{Offset: 8, Count: 21}, allreduce.Float32, 4)
	var got [][2]int64
	for c := range schedule.Chunk(4) {
		off, n := loop.At(c)
		got = append(got, [2]int64{off, n})
	}
	if want := [][2]int64{{8, 8}, {16, 8}, {24, 5}, {32, 0}}; !slices.Equal(got, want) {
		t.Errorf("shares %v, want %v", got, want)
	}
}

// Check must see every kind of damage.
func TestCheckSeesDamage(t *testing.T) {
	r := mustRing(t, 0, 2, 3, 1)
	p := whole(64, 64, allreduce.Float32, 4)
	for name, damage := range map[string]func(rows []schedule.Row) []schedule.Row{
		"a row is missing": func(rows []schedule.Row) []schedule.Row { return slices.Delete(rows, 3, 4) },
		"last receive is missing": func(rows []schedule.Row) []schedule.Row {
			return slices.DeleteFunc(rows, func(x schedule.Row) bool { return x.Rank == 2 && x.Primitive == schedule.Recv })
		},
		"wrong chunk":  func(rows []schedule.Row) []schedule.Row { rows[0].Chunk = 1; return rows },
		"wrong length": func(rows []schedule.Row) []schedule.Row { rows[2].Count--; return rows },
		"wrong peer":   func(rows []schedule.Row) []schedule.Row { rows[1].To = 1; return rows },
		"skipped addition": func(rows []schedule.Row) []schedule.Row {
			rows[1].Primitive = schedule.RecvCopySend
			return rows
		},
	} {
		rows := slices.Collect(schedule.All(r, p, allreduce.Float32))
		if err := schedule.Check(r, damage(rows), 0, 64); err == nil {
			t.Errorf("%s: not seen", name)
		}
	}
	if err := schedule.Check(r, slices.Collect(schedule.All(r, p, allreduce.Float32)), 0, 65); err == nil {
		t.Error("an element too few: not seen")
	}
}

// Stopping early is allowed.
func TestRowsCanStop(t *testing.T) {
	r := mustRing(t, 0, 1, 2)
	p := whole(30, 16, allreduce.Int8, 3)
	for range schedule.Rows(r, 1, p, allreduce.Int8) {
		break
	}
	for row := range schedule.All(r, p, allreduce.Int8) {
		if row.Rank == 1 {
			break
		}
	}
}

func TestMermaid(t *testing.T) {
	r := mustRing(t, 0, 1)
	var b strings.Builder
	rows := slices.Collect(schedule.All(r, whole(8, 1<<10, allreduce.Float32, 2), allreduce.Float32))
	if err := schedule.WriteMermaid(&b, r, rows); err != nil {
		t.Fatal(err)
	}
	want := `sequenceDiagram
    participant R0 as rank 0<br/>position 0
    participant R1 as rank 1<br/>position 1
    Note over R0,R1: channel 0, loop 0, step 0: send
    R0->>R1: chunk 1 [4, 8)
    R1->>R0: chunk 0 [0, 4)
    Note over R0,R1: channel 0, loop 0, step 1: recvReduceCopySend
    R0->>R1: chunk 0 [0, 4)
    R1->>R0: chunk 1 [4, 8)
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("diagram (-want +got):\n%s", d)
	}
}

func TestNames(t *testing.T) {
	if s := schedule.RecvReduceCopySend.String() + " " + schedule.Fused.String() + " " + schedule.Primitive(9).String() + " " + schedule.Phase(9).String(); s != "recvReduceCopySend fused Primitive(9) Phase(9)" {
		t.Error(s)
	}
}
