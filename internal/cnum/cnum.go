// Package cnum reads numbers as C's strtol and strtof do: the longest prefix
// that is a number counts, and what follows is ignored. NCCL reads files and
// variables this way.
package cnum

import (
	"math"
	"strconv"
	"strings"
)

// Int reads an integer as strtoll does: leading white space, an optional sign,
// then digits in the given base, or, with base 0, hexadecimal after 0x, octal
// after 0, else decimal. No digits give 0. Out of the range of 64 bits it gives
// the nearest limit and false.
func Int(s string, base int) (int64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	base, s = splitBase(s, base)
	n := digits(s, base)
	if n == 0 {
		return 0, true
	}
	magnitude, err := strconv.ParseUint(s[:n], base, 64)
	switch {
	case negative && (err != nil || magnitude > 1<<63):
		return math.MinInt64, false
	case negative:
		return -int64(magnitude), true
	case err != nil || magnitude > math.MaxInt64:
		return math.MaxInt64, false
	}
	return int64(magnitude), true
}

// Int32 reads an integer with base 0 and keeps its low 32 bits, as C does when
// it stores the result of strtol in an int.
func Int32(s string) int {
	v, _ := Int(s, 0)
	return int(int32(v))
}

// Uint reads an unsigned integer as strtoull does; out of range it gives the
// largest value.
func Uint(s string, base int) uint64 {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	base, s = splitBase(s, base)
	v, err := strconv.ParseUint(s[:digits(s, base)], base, 64)
	if err != nil {
		if digits(s, base) == 0 {
			return 0
		}
		return math.MaxUint64
	}
	if negative {
		return -v
	}
	return v
}

// splitBase takes the prefix that names a base off s. "0x" without a digit
// after it is the number 0.
func splitBase(s string, base int) (int, string) {
	hex := len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && digits(s[2:], 16) > 0
	switch {
	case hex && (base == 0 || base == 16):
		return 16, s[2:]
	case base != 0:
		return base, s
	case strings.HasPrefix(s, "0"):
		return 8, s
	}
	return 10, s
}

// digits counts the leading digits of s in a base.
func digits(s string, base int) int {
	for i := 0; i < len(s); i++ {
		if v := digit(s[i]); v < 0 || v >= base {
			return i
		}
	}
	return len(s)
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'Z':
		return int(c-'A') + 10
	}
	return -1
}
