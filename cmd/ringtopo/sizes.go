package main

import (
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/allreduce"
)

// parseSize reads a size such as 4MiB, 64K, 1.5GB or 1024.
func parseSize(text string) (int64, error) {
	size, err := allreduce.ParseBytes(text)
	if err != nil {
		return 0, usage("%w", err)
	}
	return size, nil
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
	text := allreduce.FormatBytes(bytes)
	number := strings.TrimRight(text, "GMKiB")
	if number == text {
		return number + " B"
	}
	return number + " " + text[len(number):]
}
