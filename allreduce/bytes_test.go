package allreduce_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/allreduce"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "+8": 8, "1024": 1024, " 12 B ": 12, "64KiB": 65536, "64kib": 65536, "64k": 65536, "4M": 4 << 20,
		"1.5 GiB": 3 << 29, "0.5K": 512, "1GB": 1e9, "1e6": 1e6, "2T": 2 << 40, "2TiB": 2 << 40, "1024TiB": 1 << 50,
		// What floats would miss by a rounding.
		"1.001KB": 1001, "4.35MB": 4350000, "1.000000000001TB": 1000000000001,
	} {
		if got, err := allreduce.ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "0", "0K", "-1", "-1K", "K", "iB", "1.5", "1.0001K", "0.0001K", "4 MoB", "1KK", "1 2", "1/2", "4/2", "inf", "NaN",
		"1e40", "1e999999999", "1e-999999999", "0x10q", "1025TiB", "1125899906842625", "1125899906842624.5", "99999999999GiB",
	} {
		got, err := allreduce.ParseBytes(text)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("size %q: want a whole number of bytes", text)) {
			t.Errorf("%q: %d, %v, want an error that names it", text, got, err)
		}
	}
}

// Every decimal with every unit is the exact product, or an error where that is
// no whole number or out of range.
func TestParseBytesIsExact(t *testing.T) {
	units := map[string]int64{
		"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}
	rapid.Check(t, func(t *rapid.T) {
		whole, places := rapid.Int64Range(0, 1<<40).Draw(t, "digits"), rapid.IntRange(0, 9).Draw(t, "places")
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
		number := new(big.Rat).SetFrac(big.NewInt(whole), scale)
		unit := rapid.SampledFrom([]string{"", "B", "K", "M", "G", "T", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"}).Draw(t, "unit")
		want := new(big.Rat).Mul(number, new(big.Rat).SetInt64(units[unit]))
		text := number.FloatString(places) + rapid.SampledFrom([]string{"", " "}).Draw(t, "space") + unit
		possible := want.IsInt() && want.Sign() > 0 && want.Num().Cmp(big.NewInt(allreduce.MaxBytes)) <= 0
		got, err := allreduce.ParseBytes(text)
		switch {
		case (err == nil) != possible:
			t.Fatalf("%s: %d, %v; exactly it is %s", text, got, err, want.RatString())
		case possible && got != want.Num().Int64():
			t.Fatalf("%s: %d, want %s", text, got, want.RatString())
		}
	})
}

func TestFormatBytes(t *testing.T) {
	for size, want := range map[int64]string{
		1: "1", 1000: "1000", 1023: "1023", 1024: "1KiB", 1536: "1536", 3 << 10: "3KiB", 64 << 20: "64MiB", 1<<20 + 1<<10: "1025KiB", 1 << 40: "1024GiB", 0: "0",
	} {
		if got := allreduce.FormatBytes(size); got != want {
			t.Errorf("%d: %s, want %s", size, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(1, allreduce.MaxBytes).Draw(t, "size") >> rapid.IntRange(0, 40).Draw(t, "down")
		want = max(1, want) << rapid.IntRange(0, 9).Draw(t, "up")
		want = min(want, allreduce.MaxBytes)
		text := allreduce.FormatBytes(want)
		if got, err := allreduce.ParseBytes(text); err != nil || got != want {
			t.Fatalf("%d is written as %s, and read as %d, %v", want, text, got, err)
		}
	})
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"64MiB", "1.5 kb", "1e9", "0x1p20", "1e-400000G", "", "KiB", "9999999TiB", "1_000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := allreduce.ParseBytes(text)
		if err != nil {
			return
		}
		if n < 1 || n > allreduce.MaxBytes {
			t.Fatalf("%q is %d", text, n)
		}
		if back, err := allreduce.ParseBytes(allreduce.FormatBytes(n)); err != nil || back != n {
			t.Fatalf("%q is %d, which is read back as %d, %v", text, n, back, err)
		}
	})
}
