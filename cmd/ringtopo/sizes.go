package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are those of sizes. A letter alone is binary, as in nccl-tests.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// maxSize is the largest size that a user can ask for.
const maxSize = 1 << 50

// parseSize reads a size such as 4MiB, 64K, 1.5GB or 1024.
func parseSize(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if n := len(number) - len(u.name); n > 0 && strings.EqualFold(number[n:], u.name) {
			number, unit = strings.TrimSpace(number[:n]), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= unit
	if err != nil || v < 1 || v > maxSize || v != math.Trunc(v) {
		return 0, usage("size %q: want a whole number of bytes from 1 to 1024 TiB, such as 1024, 64KiB or 4M", text)
	}
	return int64(v), nil
}

// parseSizes reads a size, or a range: FROM:TO doubles, FROM:TO:N multiplies by
// N, FROM:TO:+SIZE adds.
func parseSizes(text string) ([]int64, error) {
	fields := strings.Split(text, ":")
	from, err := parseSize(fields[0])
	if err != nil || len(fields) == 1 {
		return []int64{from}, err
	}
	to, err := parseSize(fields[1])
	switch {
	case err != nil:
		return nil, err
	case len(fields) > 3 || to < from:
		return nil, usage("sizes %q: want FROM:TO, FROM:TO:FACTOR or FROM:TO:+STEP, FROM not above TO", text)
	}
	factor, step := int64(2), int64(0)
	if len(fields) == 3 {
		if factor, step, err = parseStep(fields[2]); err != nil {
			return nil, err
		}
	}
	var sizes []int64
	for size := from; ; size = size*factor + step {
		if sizes = append(sizes, size); len(sizes) > maxSizes {
			return nil, usage("sizes %q: more than %d", text, maxSizes)
		}
		if size > (to-step)/factor {
			return sizes, nil
		}
	}
}

// maxSizes is how many sizes a range may have.
const maxSizes = 10000

func parseStep(text string) (factor, step int64, err error) {
	if size, ok := strings.CutPrefix(text, "+"); ok {
		step, err = parseSize(size)
		return 1, step, err
	}
	factor, err = strconv.ParseInt(text, 10, 64)
	if err != nil || factor < 2 || factor > 1<<20 {
		return 0, 0, usage("factor %q between sizes: want a whole number from 2, or + and a size", text)
	}
	return factor, 0, nil
}

// sizeText writes a size for people: 64 MiB, 1000003 B.
func sizeText(bytes int64) string {
	for _, u := range []struct {
		name  string
		shift int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if bytes >= 1<<u.shift && bytes%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d %s", bytes>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
