package verify_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/executortest"
	"github.com/ringtopo/ringtopo/allreduce/plan"
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
