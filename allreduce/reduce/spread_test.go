package reduce

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"pgregory.net/rapid"
)

// field is memory with operands at known places, and guards around them.
type field struct {
	mem   []byte
	at    []int
	bytes int
}

const fieldGuard = 192

// newField lays n operands out, each some elements away from an even place.
func newField(n, size int, shifts []int) *field {
	f := &field{bytes: size}
	at := 0
	for i := range n {
		at += fieldGuard
		f.at = append(f.at, at+shifts[i])
		at += (size + shifts[i] + 63) &^ 63
	}
	f.mem = make([]byte, at+fieldGuard)
	for i := range f.mem {
		f.mem[i] = byte(i*31 + i>>8)
	}
	return f
}

func (f *field) operand(i int) []byte { return f.mem[f.at[i]:][:f.bytes:f.bytes] }

// combined is what Reduce makes of operands, two by two.
func combined(src [][]byte, t allreduce.DType, op allreduce.Op) []byte {
	sum := bytes.Clone(src[0])
	for _, s := range src[1:] {
		Reduce(sum, sum, s, t, op)
	}
	return sum
}

// Spread does what Reduce does two by two, bit for bit: for every type,
// operation, number of operands, place and length, in place or not. What it
// leaves out, it leaves alone.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dt := rapid.SampledFrom(allreduce.DTypes()).Draw(rt, "type")
		op := rapid.SampledFrom(allreduce.Ops()).Draw(rt, "op")
		ns, nd := rapid.IntRange(1, 9).Draw(rt, "inputs"), rapid.IntRange(1, 9).Draw(rt, "outputs")
		size := rapid.IntRange(0, 3000).Draw(rt, "elements") * dt.Size()
		past := rapid.Bool().Draw(rt, "past")
		one := rapid.IntRange(0, 40).Draw(rt, "shift")
		shifts := make([]int, ns+nd)
		for i := range shifts {
			shifts[i] = one * dt.Size()
			if rapid.IntRange(0, 9).Draw(rt, "astray") == 0 {
				shifts[i] = rapid.IntRange(0, 40).Draw(rt, "shift") * dt.Size()
			}
		}
		f := newField(ns+nd, size, shifts)
		var src, dst [][]byte
		for i := range ns {
			src = append(src, f.operand(i))
		}
		for i := range nd {
			if i < ns && rapid.Bool().Draw(rt, "in place") {
				dst = append(dst, src[i])
			} else {
				dst = append(dst, f.operand(ns+i))
			}
		}
		sum, before := combined(src, dt, op), bytes.Clone(f.mem)
		from, to := Spread(dst, src, dt, op, past)
		if from < 0 || to < from || to > size || (to-from)%dt.Size() != 0 || from%dt.Size() != 0 {
			rt.Fatalf("done from %d to %d of %d", from, to, size)
		}
		expectSpread(rt, f, dst, before, sum, from, to)
	})
}

// expectSpread wants sum in every dst between two offsets, and all else as
// before.
func expectSpread(rt *rapid.T, f *field, dst [][]byte, before, sum []byte, from, to int) {
	want := bytes.Clone(before)
	for _, d := range dst {
		for _, at := range f.at {
			if len(d) > 0 && &f.mem[at] == &d[0] {
				copy(want[at+from:at+to], sum[from:to])
			}
		}
	}
	for i := range want {
		if f.mem[i] != want[i] {
			rt.Fatalf("byte %d of the field is %#x, want %#x", i, f.mem[i], want[i])
		}
	}
}

// Where there is a way at all it leaves less than a vector at either end, so
// that the way is taken; and only operations that need nothing but an order have
// one.
func TestSpreadDoesNearlyAll(t *testing.T) {
	const size = 4096 + 52
	for _, dt := range allreduce.DTypes() {
		for _, op := range allreduce.Ops() {
			for _, past := range []bool{false, true} {
				f := newField(4, size&^7, []int{8, 8, 8, 8})
				dst, src := [][]byte{f.operand(0), f.operand(1)}, [][]byte{f.operand(2), f.operand(3)}
				from, to := Spread(dst, src, dt, op, past)
				switch {
				case spreaderFor(dt, op) == nil:
					if from != 0 || to != 0 {
						t.Errorf("%v %v: done from %d to %d without a way", dt, op, from, to)
					}
				case from >= pastAlign || len(dst[0])-to >= vectorBytes:
					t.Errorf("%v %v past %v: done from %d to %d of %d", dt, op, past, from, to, len(dst[0]))
				}
				if op == allreduce.Avg && to > 0 {
					t.Errorf("%v: an average was only summed", dt)
				}
			}
		}
	}
}

// Outputs that differ in their alignment cannot go past the caches all, and go
// through them.
func TestSpreadOverUnevenPlaces(t *testing.T) {
	f := newField(3, 1024, []int{0, 4, 0})
	dst, src := [][]byte{f.operand(0), f.operand(1)}, [][]byte{f.operand(2)}
	from, to := Spread(dst, src, allreduce.Float32, allreduce.Sum, true)
	if spreaderFor(allreduce.Float32, allreduce.Sum) != nil && (from != 0 || to != 1024) {
		t.Errorf("done from %d to %d of 1024", from, to)
	}
	if !bytes.Equal(dst[0][from:to], src[0][from:to]) || !bytes.Equal(dst[1][from:to], src[0][from:to]) {
		t.Error("wrong outputs")
	}
}

func TestSpreadOfNothing(t *testing.T) {
	some := [][]byte{make([]byte, 512)}
	for name, c := range map[string]struct{ dst, src [][]byte }{
		"no outputs": {nil, some},
		"no inputs":  {some, nil},
		"no bytes":   {[][]byte{{}}, [][]byte{{}}},
		"few bytes":  {[][]byte{make([]byte, 64)}, [][]byte{make([]byte, 64)}},
	} {
		if from, to := Spread(c.dst, c.src, allreduce.Int32, allreduce.Sum, true); name != "few bytes" && (from != 0 || to != 0) {
			t.Errorf("%s: done from %d to %d", name, from, to)
		}
	}
}

func TestSpreadOverUnequalSlices(t *testing.T) {
	if spreaderFor(allreduce.Float32, allreduce.Sum) == nil {
		t.Skip("portable loops only")
	}
	for _, lists := range [][2][][]byte{
		{{make([]byte, 512), make([]byte, 256)}, {make([]byte, 512)}},
		{{make([]byte, 512)}, {make([]byte, 512), make([]byte, 516)}},
	} {
		func() {
			defer func() {
				if s := fmt.Sprint(recover()); !strings.Contains(s, "512 and") {
					t.Errorf("panic %q", s)
				}
			}()
			Spread(lists[0], lists[1], allreduce.Float32, allreduce.Sum, false)
		}()
	}
}

// BenchmarkSpread sets one pass beside operands two by two and a copy each: 4
// inputs of float32, 4 outputs.
func BenchmarkSpread(b *testing.B) {
	for _, size := range []int{8 << 10, 256 << 10, 16 << 20} {
		var src, dst [][]byte
		for range 4 {
			src, dst = append(src, make([]byte, size)), append(dst, make([]byte, size))
		}
		for _, past := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/past=%v", size, past), func(b *testing.B) {
				b.SetBytes(int64(8 * size))
				for b.Loop() {
					Spread(dst, src, allreduce.Float32, allreduce.Sum, past)
				}
			})
		}
		b.Run(fmt.Sprintf("%d/by two", size), func(b *testing.B) {
			b.SetBytes(int64(8 * size))
			for b.Loop() {
				Reduce(dst[0], src[0], src[1], allreduce.Float32, allreduce.Sum)
				Reduce(dst[0], dst[0], src[2], allreduce.Float32, allreduce.Sum)
				Reduce(dst[0], dst[0], src[3], allreduce.Float32, allreduce.Sum)
				for _, d := range dst[1:] {
					copy(d, dst[0])
				}
			}
		})
	}
}
