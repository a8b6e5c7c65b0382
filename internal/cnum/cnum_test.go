package cnum

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestInt(t *testing.T) {
	tests := []struct {
		s    string
		base int
		want int64
		ok   bool
	}{
		{"", 0, 0, true},
		{"abc", 0, 0, true},
		{"-", 0, 0, true},
		{"0", 0, 0, true},
		{"08", 0, 0, true}, // octal stops at the 8
		{"017", 0, 15, true},
		{"0x", 0, 0, true}, // the 0 counts, the x does not
		{"0xg", 0, 0, true},
		{"0xfF.", 0, 255, true},
		{"-0x10", 0, -16, true},
		{" \t\n\v\f\r7", 0, 7, true},
		{"- 7", 0, 0, true},
		{"1_000", 0, 1, true},
		{"0b1", 0, 0, true},
		{"10", 16, 16, true},
		{"0x10", 16, 16, true},
		{"0x", 16, 0, true},
		{"zz", 36, 35*36 + 35, true},
		{"9223372036854775807", 10, math.MaxInt64, true},
		{"9223372036854775808", 10, math.MaxInt64, false},
		{"-9223372036854775808", 10, math.MinInt64, true},
		{"-9223372036854775809", 10, math.MinInt64, false},
		{"0xffffffffffffffff", 0, math.MaxInt64, false},
		{"123456789012345678901234567890", 0, math.MaxInt64, false},
		{"-123456789012345678901234567890", 0, math.MinInt64, false},
	}
	for _, test := range tests {
		if got, ok := Int(test.s, test.base); got != test.want || ok != test.ok {
			t.Errorf("Int(%q, %d) = %d, %v, want %d, %v", test.s, test.base, got, ok, test.want, test.ok)
		}
	}
}

func TestInt32KeepsTheLowBits(t *testing.T) {
	for s, want := range map[string]int{
		"7": 7, "-1": -1, "4294967295": -1, "4294967296": 0, "2147483648": math.MinInt32, "x": 0,
		"99999999999999999999": -1, // the limit of 64 bits, cut to 32
	} {
		if got := Int32(s); got != want {
			t.Errorf("Int32(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestUint(t *testing.T) {
	for s, want := range map[string]uint64{
		"": 0, "x": 0, "0x9a3f1c5e7b2d4608": 0x9a3f1c5e7b2d4608, "ff": 255, "-1": math.MaxUint64,
		"0x1ffffffffffffffff": math.MaxUint64, " +f z": 15,
	} {
		if got := Uint(s, 16); got != want {
			t.Errorf("Uint(%q, 16) = %#x, want %#x", s, got, want)
		}
	}
}

func TestFloat(t *testing.T) {
	inf := float32(math.Inf(1))
	for s, want := range map[string]float32{
		"": 0, "x": 0, ".": 0, "-": 0, "e5": 0, "12": 12, "12.5 GB": 12.5, " -1.25e2x": -125, "1e": 1, "1e+": 1,
		".5": 0.5, "5.": 5, "0x1.8p1": 3, "0x10": 16, "0x1.8": 1.5, "0x": 0, "0xp1": 0, "inf": inf, "-INFINITYx": -inf, "1e99": inf,
		"1_0": 1, "16.0 GT/s": 16, "infini": inf, "0.1": 0.1, "3.4.5": 3.4,
	} {
		if got := Float(s); got != want {
			t.Errorf("Float(%q) = %v, want %v", s, got, want)
		}
	}
	if got := Float("nanx"); got == got {
		t.Errorf("Float(nan) = %v", got)
	}
}

// What Go reads as a number and C writes, both read alike.
func TestNumbersThatGoWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		tail := rapid.SampledFrom([]string{"", " ", "x", ".5", "\n", "GT/s"}).Draw(t, "tail")
		if got, ok := Int(strconv.FormatInt(i, 10)+tail, 0); got != i || !ok {
			t.Fatalf("Int of %d gives %d, %v", i, got, ok)
		}
		f := rapid.Float32().Draw(t, "f")
		format := rapid.SampledFrom([]byte("efgx")).Draw(t, "format")
		if got := Float(strconv.FormatFloat(float64(f), format, -1, 32) + " x"); got != f {
			t.Fatalf("Float of %v as %c gives %v", f, format, got)
		}
	})
}

func TestNoTextPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abfxXpPeE+-. \tinfnaz\x00é")), 0, 12, -1).Draw(t, "s")
		for _, base := range []int{0, 8, 10, 16, 36} {
			Int(s, base)
			Uint(s, base)
		}
		Float(s)
	})
}
