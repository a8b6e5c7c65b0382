package allreduce

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxBytes is the largest size that a user can ask for: 1024 TiB.
const MaxBytes = 1 << 50

// units are those of sizes. A letter alone is binary, as in nccl-tests.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

// ParseBytes reads a size such as 4MiB, 64K, 1.5GB or 1024, from 1 to
// [MaxBytes]. Units may be in any case and stand after a space. A size that is
// no whole number of bytes is an error, and so is one out of range.
func ParseBytes(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if n := len(number) - len(u.name); n > 0 && strings.EqualFold(number[n:], u.name) {
			number, unit = strings.TrimSpace(number[:n]), u.bytes
			break
		}
	}
	if n, ok := wholeBytes(number, unit); ok {
		return n, nil
	}
	return 0, fmt.Errorf("size %q: want a whole number of bytes from 1 to 1024 TiB, such as 1024, 64KiB or 4M", text)
}

// wholeBytes multiplies without rounding: 1.001 KB are 1001 bytes. The float
// goes first, because it is quick to refuse exponents that would take long.
func wholeBytes(number string, unit int64) (int64, bool) {
	about, err := strconv.ParseFloat(number, 64)
	if about *= float64(unit); err != nil || !(about > 0.5 && about < 2*MaxBytes) {
		return 0, false
	}
	size, ok := new(big.Rat).SetString(number)
	if !ok || !size.Mul(size, new(big.Rat).SetInt64(unit)).IsInt() {
		return 0, false
	}
	n := size.Num().Int64()
	return n, 1 <= n && n <= MaxBytes
}

// FormatBytes writes a size so that [ParseBytes] reads it, with the largest of
// KiB, MiB and GiB that leaves a whole number: 64MiB, 1000003.
func FormatBytes(n int64) string {
	for _, u := range []struct {
		name  string
		shift int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if n>>u.shift > 0 && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
