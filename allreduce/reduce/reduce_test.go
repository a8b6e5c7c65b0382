package reduce

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
	"pgregory.net/rapid"
)

// one computes a single element the plain way, through a path of its own.
func one(t *testing.T, a, b []byte, dt allreduce.DType, op allreduce.Op) []byte {
	t.Helper()
	dst := make([]byte, dt.Size())
	switch dt {
	case allreduce.Int8:
		dst[0] = byte(integer(int64(int8(a[0])), int64(int8(b[0])), op))
	case allreduce.Uint8:
		dst[0] = byte(integer(uint64(a[0]), uint64(b[0]), op))
	case allreduce.Int32:
		as[int32](dst)[0] = int32(integer(int64(as[int32](a)[0]), int64(as[int32](b)[0]), op))
	case allreduce.Uint32:
		as[uint32](dst)[0] = uint32(integer(uint64(as[uint32](a)[0]), uint64(as[uint32](b)[0]), op))
	case allreduce.Int64:
		as[int64](dst)[0] = integer(as[int64](a)[0], as[int64](b)[0], op)
	case allreduce.Uint64:
		as[uint64](dst)[0] = integer(as[uint64](a)[0], as[uint64](b)[0], op)
	case allreduce.Float32:
		as[float32](dst)[0] = float32(float(float64(as[float32](a)[0]), float64(as[float32](b)[0]), op))
	case allreduce.Float64:
		as[float64](dst)[0] = float(as[float64](a)[0], as[float64](b)[0], op)
	case allreduce.Float16:
		as[uint16](dst)[0] = nearest(float(float64(F16(as[uint16](a)[0])), float64(F16(as[uint16](b)[0])), op), 5, 10)
	case allreduce.BFloat16:
		as[uint16](dst)[0] = nearest(float(float64(BF16(as[uint16](a)[0])), float64(BF16(as[uint16](b)[0])), op), 8, 7)
	}
	return dst
}

func integer[T int64 | uint64](a, b T, op allreduce.Op) T {
	switch op {
	case allreduce.Prod:
		return a * b
	case allreduce.Min:
		return min(a, b)
	case allreduce.Max:
		return max(a, b)
	}
	return a + b
}

func float(a, b float64, op allreduce.Op) float64 {
	switch {
	case op == allreduce.Prod:
		return a * b
	case op == allreduce.Sum || op == allreduce.Avg:
		return a + b
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	case op == allreduce.Min:
		return math.Min(a, b)
	}
	return math.Max(a, b)
}

// nearest rounds a float64 to a small binary format with ties to even, by
// scaling it to an integer. Sums and products of two small floats are exact in
// float64, or so far apart that the rounding to float64 cannot matter.
func nearest(v float64, expBits, mantBits int) uint16 {
	bias := 1<<(expBits-1) - 1
	inf := uint16((1<<expBits - 1) << mantBits)
	if math.IsNaN(v) {
		return 0x7fff
	}
	var sign uint16
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	_, e := math.Frexp(v)
	e = max(e-1, 1-bias) // v is m * 2^e with 1 <= m < 2, or subnormal
	q := math.RoundToEven(math.Ldexp(v, mantBits-e))
	if v == 0 {
		return sign
	}
	u := uint64(q) // mantissa with its leading one
	u += uint64(e+bias-1) << mantBits
	if math.IsInf(v, 0) || u >= uint64(inf) {
		return sign | inf
	}
	return sign | uint16(u)
}

func isNaN(b []byte, dt allreduce.DType) bool {
	switch dt {
	case allreduce.Float16:
		return math.IsNaN(float64(F16(as[uint16](b)[0])))
	case allreduce.BFloat16:
		return math.IsNaN(float64(BF16(as[uint16](b)[0])))
	case allreduce.Float32:
		return math.IsNaN(float64(as[float32](b)[0]))
	case allreduce.Float64:
		return math.IsNaN(as[float64](b)[0])
	}
	return false
}

// Every type and operation against the plain way, on random bits: any value of
// a type can come up, infinities and NaNs too.
func TestReduceMatchesPlainArithmetic(t *testing.T) {
	for _, dt := range allreduce.DTypes() {
		for _, op := range allreduce.Ops() {
			t.Run(fmt.Sprintf("%v/%v", dt, op), func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					n, es := rapid.IntRange(0, 300/dt.Size()).Draw(rt, "n"), dt.Size()
					shift := rapid.IntRange(0, 9).Draw(rt, "misaligned by")
					a := rapid.SliceOfN(rapid.Byte(), shift+n*es, shift+n*es).Draw(rt, "a")[shift:]
					b := rapid.SliceOfN(rapid.Byte(), n*es, n*es).Draw(rt, "b")
					dst := make([]byte, n*es+1)
					dst[n*es] = 0xa5
					Reduce(dst[:n*es], a, b, dt, op)
					if dst[n*es] != 0xa5 {
						rt.Fatal("wrote past the end")
					}
					for i := range n {
						x, y, got := a[i*es:][:es], b[i*es:][:es], dst[i*es:][:es]
						want := one(t, x, y, dt, op)
						if !bytes.Equal(got, want) && !(isNaN(got, dt) && isNaN(want, dt)) {
							rt.Fatalf("element %d: %x %v %x = %x, want %x", i, x, op, y, got, want)
						}
					}
				})
			})
		}
	}
}

// The destination may be either source.
func TestReduceInPlace(t *testing.T) {
	a := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	b := []byte{9, 8, 7, 6, 5, 4, 3, 2, 1}
	want := bytes.Repeat([]byte{10}, 9)
	left, right := bytes.Clone(a), bytes.Clone(b)
	Reduce(left, left, b, allreduce.Uint8, allreduce.Sum)
	Reduce(right, a, right, allreduce.Uint8, allreduce.Sum)
	if !bytes.Equal(left, want) || !bytes.Equal(right, want) {
		t.Errorf("in place: %v and %v, want %v", left, right, want)
	}
}

func TestReducePanicsOnBadSizes(t *testing.T) {
	for name, f := range map[string]func(){
		"part of an element": func() { Reduce(make([]byte, 3), make([]byte, 3), make([]byte, 3), allreduce.Float16, allreduce.Sum) },
		"short source":       func() { Reduce(make([]byte, 4), make([]byte, 4), make([]byte, 2), allreduce.Float16, allreduce.Sum) },
		"unknown operation":  func() { Reduce(nil, nil, nil, allreduce.Float16, allreduce.NumOps) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// All 65,536 values survive the way to float32 and back, and their value is
// what the format's definition says.
func TestHalfRoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		for _, c := range []struct {
			name      string
			value     float32
			back      uint16
			exp, mant int
		}{
			{"float16", F16(h), ToF16(F16(h)), 5, 10},
			{"bfloat16", BF16(h), ToBF16(BF16(h)), 8, 7},
		} {
			if math.IsNaN(float64(c.value)) {
				if h&0x7fff <= 0x7fff&^(1<<c.mant-1) {
					t.Fatalf("%s %#04x is no NaN, got one", c.name, h)
				}
				continue
			}
			if c.back != h {
				t.Fatalf("%s %#04x came back as %#04x", c.name, h, c.back)
			}
			if want := valueOf(h, c.exp, c.mant); float64(c.value) != want {
				t.Fatalf("%s %#04x = %v, want %v", c.name, h, c.value, want)
			}
		}
	}
}

// valueOf decodes a small float by the definition.
func valueOf(h uint16, expBits, mantBits int) float64 {
	bias := 1<<(expBits-1) - 1
	e, m := int(h>>mantBits)&(1<<expBits-1), float64(h&(1<<mantBits-1))
	v := math.Ldexp(m, 1-bias-mantBits)
	if e == 1<<expBits-1 {
		v = math.Inf(1)
	} else if e > 0 {
		v = math.Ldexp(m+float64(int(1)<<mantBits), e-bias-mantBits)
	}
	if h&0x8000 != 0 {
		return -v
	}
	return v
}

func TestRoundingOfFloat32(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := math.Float32frombits(rapid.Uint32().Draw(rt, "bits"))
		if got, want := ToF16(f), nearest(float64(f), 5, 10); got != want {
			rt.Fatalf("ToF16(%v) = %#04x, want %#04x", f, got, want)
		}
		if got, want := ToBF16(f), nearest(float64(f), 8, 7); got != want {
			rt.Fatalf("ToBF16(%v) = %#04x, want %#04x", f, got, want)
		}
	})
	// Ties and edges that random bits hardly meet.
	for f, want := range map[float32]uint16{
		1 + 0x1p-11: 0x3c00, 1 + 3*0x1p-11: 0x3c02, 65519.996: 0x7bff, 65520: 0x7c00,
		0x1p-25: 0, 0x1.8p-25: 1, 3 * 0x1p-25: 2, 0x1p-24: 1, 0x1.ffbp-15: 0x03ff, 0x1.ffcp-15: 0x0400,
	} {
		if got := ToF16(f); got != want {
			t.Errorf("ToF16(%v) = %#04x, want %#04x", f, got, want)
		}
	}
}

func TestScale(t *testing.T) {
	src := make([]byte, 8)
	as[float32](src)[0], as[float32](src)[1] = 3, -1e30
	Scale(src, src, allreduce.Float32, 3)
	third := float32(1.0 / 3)
	if got := as[float32](src); got[0] != 3*third || got[1] != -1e30*third {
		t.Errorf("float32: %v", got)
	}
	as[float64](src)[0] = 7
	Scale(src, src, allreduce.Float64, 7)
	if got := as[float64](src)[0]; got != 7*(1.0/7) {
		t.Errorf("float64: %v", got)
	}
	h := src[:2]
	as[uint16](h)[0] = ToF16(9)
	Scale(h, h, allreduce.Float16, 3) // 1/3 is 0x3555 = 0.33325...; times 9 is 2.99927, to 2.99902 or 3.00000
	if got, want := as[uint16](h)[0], nearest(9*valueOf(0x3555, 5, 10), 5, 10); got != want {
		t.Errorf("float16: %#04x, want %#04x", got, want)
	}
	as[uint16](h)[0] = ToBF16(9)
	Scale(h, h, allreduce.BFloat16, 3)
	if got, want := as[uint16](h)[0], nearest(9*valueOf(0x3eab, 8, 7), 8, 7); got != want {
		t.Errorf("bfloat16: %#04x, want %#04x", got, want)
	}
	i := []byte{5}
	Scale(i, i, allreduce.Uint8, 5)
	if i[0] != 5 {
		t.Error("an integer was scaled")
	}
}

func TestDivide(t *testing.T) {
	i8 := []byte{0xf9, 7, 100} // -7, 7, 100
	Divide(i8, i8, allreduce.Int8, 2)
	if !bytes.Equal(i8, []byte{0xfd, 3, 50}) {
		t.Errorf("int8: %v", i8)
	}
	Divide(i8, i8, allreduce.Int8, 300) // more ranks than an int8 holds
	if !bytes.Equal(i8, []byte{0, 0, 0}) {
		t.Errorf("int8 by 300: %v", i8)
	}
	u8 := []byte{250}
	Divide(u8, u8, allreduce.Uint8, 4)
	if u8[0] != 62 {
		t.Errorf("uint8: %v", u8)
	}
	b := make([]byte, 8)
	as[int32](b)[0], as[int32](b)[1] = -7, math.MaxInt32
	Divide(b, b, allreduce.Int32, 2)
	if as[int32](b)[0] != -3 || as[int32](b)[1] != math.MaxInt32/2 {
		t.Errorf("int32: %v", as[int32](b))
	}
	as[uint32](b)[0] = math.MaxUint32
	Divide(b, b, allreduce.Uint32, 2)
	if as[uint32](b)[0] != math.MaxUint32/2 {
		t.Errorf("uint32: %v", as[uint32](b))
	}
	as[int64](b)[0] = -9
	Divide(b, b, allreduce.Int64, 4)
	if as[int64](b)[0] != -2 {
		t.Errorf("int64: %v", as[int64](b))
	}
	as[uint64](b)[0] = math.MaxUint64
	Divide(b, b, allreduce.Uint64, 16)
	if as[uint64](b)[0] != math.MaxUint64/16 {
		t.Errorf("uint64: %v", as[uint64](b))
	}
	as[float64](b)[0] = 5
	Divide(b, b, allreduce.Float64, 5)
	if as[float64](b)[0] != 5 {
		t.Error("a float was divided")
	}
}

func TestAverageRules(t *testing.T) {
	for _, dt := range allreduce.DTypes() {
		for _, op := range allreduce.Ops() {
			if got, want := Scales(dt, op), op == allreduce.Avg && dt.IsFloat(); got != want {
				t.Errorf("Scales(%v, %v) = %v", dt, op, got)
			}
			if got, want := Divides(dt, op), op == allreduce.Avg && !dt.IsFloat(); got != want {
				t.Errorf("Divides(%v, %v) = %v", dt, op, got)
			}
		}
	}
}

func TestReduceAllocatesNothing(t *testing.T) {
	a, b, dst := make([]byte, 4096), make([]byte, 4096), make([]byte, 4096)
	for _, dt := range allreduce.DTypes() {
		for _, op := range allreduce.Ops() {
			if n := testing.AllocsPerRun(10, func() { Reduce(dst, a, b, dt, op) }); n != 0 {
				t.Errorf("%v/%v: %v allocations", dt, op, n)
			}
		}
	}
}

// Operands of 64 KiB stay in the second-level cache: this times arithmetic, not
// memory. Bytes per second are those of one operand.
func BenchmarkReduce(b *testing.B) {
	const size = 64 << 10
	x, y, dst := make([]byte, size), make([]byte, size), make([]byte, size)
	for i := range x {
		x[i], y[i] = byte(i*7)&0x3f, byte(i*13)&0x3f
	}
	for _, dt := range allreduce.DTypes() {
		for _, op := range []allreduce.Op{allreduce.Sum, allreduce.Prod, allreduce.Min} {
			b.Run(fmt.Sprintf("%v/%v", dt, op), func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					Reduce(dst, x, y, dt, op)
				}
			})
		}
	}
}
