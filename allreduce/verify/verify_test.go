package verify_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
	"github.com/ringtopo/ringtopo/allreduce/schedule"
	"github.com/ringtopo/ringtopo/allreduce/verify"
	"pgregory.net/rapid"
)

// planOn lays a task over some channels of the test layout.
func planOn(t testing.TB, channels []int, a allreduce.Algo, task plan.Task) *allreduce.Plan {
	t.Helper()
	l := executortest.Four()
	s := plan.DefaultSettings()
	s.BuffSize = l.BuffSize
	p, err := plan.New(plan.Nominal(l), s, plan.OnChannels(channels))
	if err != nil {
		t.Fatal(err)
	}
	proto := allreduce.Simple
	launches, err := p.Plan([]plan.Task{task}, plan.Force{Algo: &a, Proto: &proto, NChannels: len(channels)})
	if err != nil {
		t.Fatal(err)
	}
	return launches[0].Plan
}

func newCase(t testing.TB, p *allreduce.Plan, pattern verify.Pattern, seed uint64) *verify.Case {
	t.Helper()
	c, err := verify.NewCase(p, 0, pattern, seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Any stretch of an input or an expectation is the same as that stretch of the
// whole.
func TestStretchesAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom(allreduce.DTypes()).Draw(rt, "type")
		op := rapid.SampledFrom(allreduce.Ops()).Draw(rt, "op")
		a := rapid.SampledFrom([]allreduce.Algo{allreduce.Ring, allreduce.Tree, allreduce.OneShot, allreduce.TwoShot}).Draw(rt, "algo")
		count := rapid.Int64Range(1, 30000).Draw(rt, "count")
		c := newCase(t, planOn(t, []int{0, 2}, a, plan.Task{Count: count, DType: d, Op: op}), rapid.SampledFrom(verify.Patterns()).Draw(rt, "pattern"), 7)
		size := int64(d.Size())
		first := rapid.Int64Range(0, count-1).Draw(rt, "first")
		n := rapid.Int64Range(0, count-first).Draw(rt, "n")
		whole, part := make([]byte, count*size), make([]byte, n*size)
		c.Input(whole, 3, 0)
		c.Input(part, 3, first)
		if !bytes.Equal(part, whole[first*size:][:n*size]) {
			rt.Fatal("input differs")
		}
		c.Expected(whole, 0)
		c.Expected(part, first)
		if !bytes.Equal(part, whole[first*size:][:n*size]) {
			rt.Fatal("expectation differs")
		}
	})
}

func float32s(c *verify.Case, rank int, count int64) []float32 {
	b := make([]byte, 4*count)
	if rank < 0 {
		c.Expected(b, 0)
	} else {
		c.Input(b, rank, 0)
	}
	v := make([]float32, count)
	for i := range v {
		v[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return v
}

// The order of additions, written out: a chunk starts at the rank after its
// owner and goes round the ring.
func TestRingOrder(t *testing.T) {
	const count = 64
	c := newCase(t, planOn(t, []int{1}, allreduce.Ring, plan.Task{Count: count, DType: allreduce.Float32}), verify.Random, 3) // ring 0 2 3 1
	var x [4][]float32
	for rank := range x {
		x[rank] = float32s(c, rank, count)
	}
	orders := [4][4]int{{2, 3, 1, 0}, {3, 1, 0, 2}, {1, 0, 2, 3}, {0, 2, 3, 1}}
	for i, got := range float32s(c, -1, count) {
		o := orders[i/16]
		if want := ((x[o[0]][i] + x[o[1]][i]) + x[o[2]][i]) + x[o[3]][i]; got != want {
			t.Fatalf("element %d: %v, want %v", i, got, want)
		}
	}
}

// A tree adds a node's input and its children's results, first child first.
func TestTreeOrder(t *testing.T) {
	const count = 64
	for channel, order := range []func(x [4]float32) float32{
		func(x [4]float32) float32 { return x[0] + (x[1] + (x[2] + x[3])) },
		func(x [4]float32) float32 { return x[2] + ((x[1] + x[0]) + x[3]) },
		func(x [4]float32) float32 { return ((x[3] + x[2]) + x[0]) + x[1] },
	} {
		c := newCase(t, planOn(t, []int{channel}, allreduce.Tree, plan.Task{Count: count, DType: allreduce.Float32}), verify.Random, 3)
		var x [4][]float32
		for rank := range x {
			x[rank] = float32s(c, rank, count)
		}
		for i, got := range float32s(c, -1, count) {
			if want := order([4]float32{x[0][i], x[1][i], x[2][i], x[3][i]}); got != want {
				t.Fatalf("channel %d element %d: %v, want %v", channel, i, got, want)
			}
		}
	}
}

// Random data must show a wrong order: else the check proves less than it says.
func TestOrdersDiffer(t *testing.T) {
	const count = 4096
	a := float32s(newCase(t, planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: count, DType: allreduce.Float32}), verify.Random, 3), -1, count)
	b := float32s(newCase(t, planOn(t, []int{1}, allreduce.Ring, plan.Task{Count: count, DType: allreduce.Float32}), verify.Random, 3), -1, count)
	differ := 0
	for i := range a {
		if a[i] != b[i] {
			differ++
		}
	}
	if differ < count/20 {
		t.Errorf("only %d of %d sums differ between two orders", differ, count)
	}
}

func TestRandomFloatsAreFinite(t *testing.T) {
	for _, d := range allreduce.DTypes() {
		for _, op := range allreduce.Ops() {
			const count = 5000
			c := newCase(t, planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: count, DType: d, Op: op}), verify.Random, 11)
			in, out, size := make([]byte, count*d.Size()), make([]byte, count*d.Size()), d.Size()
			c.Input(in, 2, 0)
			c.Expected(out, 0)
			distinct := map[string]bool{}
			for i := range count {
				for _, b := range [][]byte{in, out} {
					if s := verify.Format(b[i*size:][:size], d); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
						t.Fatalf("%s %s: %s", d, op, s)
					}
				}
				distinct[string(in[i*size:][:size])] = true
			}
			if len(distinct) < 256 {
				t.Errorf("%s %s: only %d different values", d, op, len(distinct))
			}
		}
	}
}

func TestOnesCount(t *testing.T) {
	for _, d := range allreduce.DTypes() {
		c := newCase(t, planOn(t, []int{0, 1}, allreduce.Ring, plan.Task{Count: 100, DType: d}), verify.Ones, 0)
		got := make([]byte, 100*d.Size())
		c.Expected(got, 0)
		if s := verify.Format(got[:d.Size()], d); !strings.HasPrefix(s, "4") {
			t.Errorf("%s: four ones make %s", d, s)
		}
	}
}

// Marks say whose value it is, and of which chunk.
func TestMarksDiffer(t *testing.T) {
	p := planOn(t, []int{1}, allreduce.Ring, plan.Task{Count: 64, DType: allreduce.Int32})
	c := newCase(t, p, verify.Marked, 0)
	seen := map[string]bool{}
	for rank := range 4 {
		b := make([]byte, 4*64)
		c.Input(b, rank, 0)
		seen[string(b)] = true
		for chunk := range 4 {
			if a, z := b[chunk*64:][:4], b[chunk*64+60:][:4]; !bytes.Equal(a, z) {
				t.Errorf("rank %d chunk %d is not constant", rank, chunk)
			}
		}
		if bytes.Equal(b[:64], b[64:128]) {
			t.Errorf("rank %d: chunks 0 and 1 look alike", rank)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d different inputs of 4 ranks", len(seen))
	}
}

func TestCompare(t *testing.T) {
	want := make([]byte, 40000)
	for i := range want {
		want[i] = byte(i % 100)
	}
	got := bytes.Clone(want)
	if wrong, first := verify.Compare(got, want, allreduce.Float32); wrong != 0 || first != -1 {
		t.Errorf("equal: %d wrong, first %d", wrong, first)
	}
	got[20001]++
	got[20003]++
	got[39999]++
	if wrong, first := verify.Compare(got, want, allreduce.Float32); wrong != 2 || first != 5000 {
		t.Errorf("%d wrong, first %d, want 2 and 5000", wrong, first)
	}
	nan := []byte{0, 0x7e, 1, 0x7e}
	if wrong, _ := verify.Compare(nan, []byte{1, 0xfe, 0, 0x3c}, allreduce.Float16); wrong != 1 {
		t.Errorf("%d wrong, want the number only", wrong)
	}
	if wrong, _ := verify.Compare(nan, []byte{1, 0x7e, 1, 0x7e}, allreduce.Uint8); wrong != 1 {
		t.Errorf("integers: %d wrong, want 1", wrong)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		d    allreduce.DType
		b    []byte
		want string
	}{
		{allreduce.Int8, []byte{0xff}, "-1"}, {allreduce.Uint8, []byte{0xff}, "255"},
		{allreduce.Int32, []byte{0xfe, 0xff, 0xff, 0xff}, "-2"}, {allreduce.Uint32, []byte{1, 0, 0, 0x80}, "2147483649"},
		{allreduce.Int64, []byte{0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "-3"}, {allreduce.Uint64, []byte{1, 0, 0, 0, 0, 0, 0, 0}, "1"},
		{allreduce.Float16, []byte{0, 0x3e}, "1.5 (0x3e00)"}, {allreduce.BFloat16, []byte{0x80, 0xbf}, "-1 (0xbf80)"},
		{allreduce.Float32, []byte{0xcd, 0xcc, 0xcc, 0x3d}, "0.100000001 (0x3dcccccd)"},
		{allreduce.Float64, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, "1 (0x3ff0000000000000)"},
	} {
		if got := verify.Format(c.b, c.d); got != c.want {
			t.Errorf("%s %x: %s, want %s", c.d, c.b, got, c.want)
		}
	}
}

func TestPatternNames(t *testing.T) {
	for _, p := range verify.Patterns() {
		if back, err := verify.ParsePattern(p.String()); err != nil || back != p {
			t.Errorf("%s comes back as %v, %v", p, back, err)
		}
	}
	if _, err := verify.ParsePattern("noise"); err == nil || !strings.Contains(err.Error(), "random, ones, ramp, marked") {
		t.Errorf("error %v", err)
	}
}

func TestImpossibleCases(t *testing.T) {
	p := planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 1, DType: allreduce.Int8})
	if _, err := verify.NewCase(p, 1, verify.Ones, 0); err == nil {
		t.Error("work 1 of 1")
	}
	p.Works[0].Algo = allreduce.NVLS
	if _, err := verify.NewCase(p, 0, verify.Ones, 0); err == nil {
		t.Error("the order inside a switch")
	}
	p.Works[0].Algo = allreduce.Tree
	bare := *p.Layout
	bare.Trees, p.Layout = nil, &bare
	if _, err := verify.NewCase(p, 0, verify.Ones, 0); err == nil {
		t.Error("a tree without trees")
	}
}

// broken runs one float32 message on ring 0 2 3 1 with a defect and gives what
// the check says.
func broken(t *testing.T, o verify.Options, rounds int, send func(round int, row schedule.Row, data []byte) []byte) verify.Result {
	t.Helper()
	p := planOn(t, []int{1}, allreduce.Ring, plan.Task{Count: 1000, DType: allreduce.Float32})
	ex, err := executortest.NewSerial(p.Layout)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := verify.NewTrial(ex, p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	var r verify.Result
	for round := range rounds {
		ex.Send = func(row schedule.Row, data []byte) []byte { return send(round, row, data) }
		if err := trial.Fill(); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, err = trial.Check(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Defects and what the first difference must say of them. The ring is 0 2 3 1,
// chunks have 252 elements: chunk 2 belongs to rank 3 and begins at 504.
func TestDefectsAreExplained(t *testing.T) {
	var kept []byte
	zeros := func(data []byte) []byte { return make([]byte, len(data)) }
	for _, c := range []struct {
		name   string
		rounds int
		send   func(round int, row schedule.Row, data []byte) []byte
		wrong  int64
		chunk  int
		owner  int
		hint   string
	}{
		{"all is well", 1, func(_ int, _ schedule.Row, data []byte) []byte { return data }, 0, 0, 0, ""},
		{"the first message is empty", 1, func(_ int, row schedule.Row, data []byte) []byte {
			if row.Primitive == schedule.Send && row.Rank == 1 { // starts chunk 2
				return zeros(data)
			}
			return data
		}, 4 * 252, 2, 3, "the input of rank 1 is missing"},
		{"only the last addition counts", 1, func(_ int, row schedule.Row, data []byte) []byte {
			if row.Chunk == 2 && row.Rank == 2 && row.Primitive == schedule.RecvReduceSend {
				return zeros(data)
			}
			return data
		}, 4 * 252, 2, 3, "the input of rank 3 alone"},
		{"one rank gets the message of the run before", 2, func(round int, row schedule.Row, data []byte) []byte {
			if row.Chunk == 2 && row.Rank == 0 && row.Primitive == schedule.RecvReduceSend {
				if round == 0 {
					kept = bytes.Clone(data)
				} else {
					return kept
				}
			}
			return data
		}, 4 * 252, 2, 3, "rank 2 took data of the run before from rank 0"},
		{"one rank gets the result of the run before", 2, func(round int, row schedule.Row, data []byte) []byte {
			if row.Chunk == 1 && row.To == 0 && row.Primitive == schedule.RecvCopySend {
				if round == 0 {
					kept = bytes.Clone(data)
				} else {
					return kept
				}
			}
			return data
		}, 252, 1, 2, "the result of the run before"},
	} {
		r := broken(t, verify.Options{Seed: 5}, c.rounds, c.send)
		if r.Wrong != c.wrong || r.OK() != (c.wrong == 0) {
			t.Errorf("%s: %d wrong, want %d", c.name, r.Wrong, c.wrong)
		}
		if r.First == nil {
			continue
		}
		if m := r.First; m.Chunk != c.chunk || m.Owner != c.owner || m.Channel != 1 || m.Element != int64(252*c.chunk) || m.Hint != c.hint {
			t.Errorf("%s: %v, want chunk %d of rank %d: %s", c.name, m, c.chunk, c.owner, c.hint)
		}
	}
}

func TestDoubledInput(t *testing.T) {
	p := planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 1000, DType: allreduce.Int32})
	c := newCase(t, p, verify.Random, 9)
	var x [4]int32
	for rank := range x {
		b := make([]byte, 4)
		c.Input(b, rank, 0)
		x[rank] = int32(binary.NativeEndian.Uint32(b))
	}
	element := func(v int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(v)) }
	other := make([]byte, 4)
	c.Expected(other, 252)
	for want, found := range map[string][]byte{
		"the input of rank 2 is there twice": element(x[0] + x[1] + 2*x[2] + x[3]),
		"this rank's own input":              element(x[1]),
		"has the inputs of rank [1 2] only":  element(x[1] + x[2]),
		"the input of rank 0 is missing":     element(x[1] + x[2] + x[3]),
		"never written":                      {verify.Poison, verify.Poison, verify.Poison, verify.Poison},
		"the value of chunk 1":               other,
		"":                                   element(12345),
	} {
		m := c.Mismatch(1, 0, found, 0)
		if want == "the input of rank 0 is missing" {
			want = "has the inputs of rank [1 2 3] only" // the same thing, seen first
		}
		if m.Hint != want {
			t.Errorf("%v: hint %q, want %q", found, m.Hint, want)
		}
	}
}

// reckless changes memory that it should not.
type reckless struct {
	*executortest.Serial
	damage func(args allreduce.Args)
}

func (r *reckless) Run(ctx context.Context, p *allreduce.Plan, args []allreduce.Args) (allreduce.Timing, error) {
	timing, err := r.Serial.Run(ctx, p, args)
	r.damage(args[0])
	return timing, err
}

func TestGuardsAndInputs(t *testing.T) {
	p := planOn(t, []int{0}, allreduce.Ring, plan.Task{Count: 10, DType: allreduce.Float64})
	for want, damage := range map[string]func(args allreduce.Args){
		"byte 0 of the guard behind the buffer":   func(a allreduce.Args) { poke(t, a.Recv[2], 80) },
		"byte 255 of the guard before the buffer": func(a allreduce.Args) { poke(t, a.Recv[2], -1) },
		"the input was changed":                   func(a allreduce.Args) { poke(t, a.Send[2], 3) },
	} {
		serial, err := executortest.NewSerial(p.Layout)
		if err != nil {
			t.Fatal(err)
		}
		err = executortest.RunPlan(&reckless{serial, damage}, p, verify.Options{}, 1)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rank 2") {
			t.Errorf("error %v, want %q on rank 2", err, want)
		}
	}
}

func poke(t *testing.T, s allreduce.Span, at int64) {
	t.Helper()
	if err := s.Buf.Write([]byte{0x11}, s.Off+at); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkExpected(b *testing.B) {
	const bytes = 64 << 20
	for _, d := range []allreduce.DType{allreduce.Float32, allreduce.BFloat16, allreduce.Int8} {
		for _, algo := range []allreduce.Algo{allreduce.Ring, allreduce.OneShot} {
			b.Run(d.String()+"/"+algo.String(), func(b *testing.B) {
				c := newCase(b, planOn(b, []int{0, 1, 2}, algo, plan.Task{Count: bytes / int64(d.Size()), DType: d}), verify.Random, 1)
				dst := make([]byte, 8<<20)
				b.SetBytes(bytes)
				for b.Loop() {
					for at := int64(0); at < bytes; at += int64(len(dst)) {
						c.Expected(dst, at/int64(d.Size()))
					}
				}
			})
		}
	}
}
