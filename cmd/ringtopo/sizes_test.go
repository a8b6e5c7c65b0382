package main

import (
	"slices"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1024": 1024, "64KiB": 65536, "64kib": 65536, "4M": 4 << 20, "1g": 1 << 30, "1GB": 1e9, "1.5 GiB": 3 << 29, "12B": 12, "2T": 2 << 40,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "K", "1.5", "1.0001K", "4 MoB", "inf", "NaN", "1e40", "0x10q"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for text, want := range map[string][]int64{
		"8": {8}, "1KiB:8KiB": {1024, 2048, 4096, 8192}, "1K:1K": {1024}, "1:100:10": {1, 10, 100}, "4:20:+8": {4, 12, 20}, "1K:3K": {1024, 2048}, "16T:1024T:1000000": {16 << 40},
	} {
		if got, err := parseSizes(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"8:4", "1:", ":1", "1:2:3:4", "1:2:1", "1:2:x", "1:2:+", "1:1G:+1"} {
		if got, err := parseSizes(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestSizeText(t *testing.T) {
	for size, want := range map[int64]string{1: "1 B", 1000: "1000 B", 1024: "1 KiB", 1536: "1536 B", 64 << 20: "64 MiB", 1 << 40: "1024 GiB", 1000003: "1000003 B"} {
		if got := sizeText(size); got != want {
			t.Errorf("%d: %s, want %s", size, got, want)
		}
	}
}
