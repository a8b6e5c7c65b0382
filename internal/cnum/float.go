package cnum

import (
	"strconv"
	"strings"
)

// Float reads a single-precision number as strtof does: decimal or
// hexadecimal, with exponent, or inf or nan; 0 where nothing can be read,
// infinity out of range.
func Float(s string) float32 {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	text, hex := floatPrefix(s)
	if hex && !strings.ContainsAny(text, "pP") {
		text += "p0" // Go demands the exponent that C leaves out
	}
	v, _ := strconv.ParseFloat(text, 32)
	return float32(v)
}

// floatPrefix is the longest prefix of s that strtof accepts, and whether it is
// hexadecimal.
func floatPrefix(s string) (prefix string, hex bool) {
	i := sign(s)
	rest := s[i:]
	for _, word := range []string{"infinity", "inf", "nan"} {
		if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
			return s[:i+len(word)], false
		}
	}
	if len(rest) > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X') {
		if n := mantissa(rest[2:], 16); n > 0 {
			return s[:i+2+n+exponent(rest[2+n:], 'p')], true
		}
	}
	n := mantissa(rest, 10)
	if n == 0 {
		return "", false
	}
	return s[:i+n+exponent(rest[n:], 'e')], false
}

// mantissa counts digits with at most one point among them; 0 if there is no
// digit.
func mantissa(s string, base int) int {
	whole := digits(s, base)
	if whole == len(s) || s[whole] != '.' {
		return whole
	}
	fraction := digits(s[whole+1:], base)
	if whole+fraction == 0 {
		return 0
	}
	return whole + 1 + fraction
}

// exponent is the length of an exponent with its letter and sign, 0 if s does
// not start with one.
func exponent(s string, letter byte) int {
	if len(s) < 2 || s[0]|0x20 != letter {
		return 0
	}
	i := 1 + sign(s[1:])
	n := digits(s[i:], 10)
	if n == 0 {
		return 0
	}
	return i + n
}

func sign(s string) int {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return 1
	}
	return 0
}
