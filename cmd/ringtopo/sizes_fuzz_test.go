package main

import (
	"testing"

	"github.com/ringtopo/ringtopo/allreduce"
)

func FuzzParseSizes(f *testing.F) {
	for _, s := range []string{"64MiB", "1KiB:1GiB", "4:20:+8", "1:100:10", "1e9", ":", "1.5KiB", "-1", "9999999TiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sizes, err := parseSizes(s)
		if err != nil {
			return
		}
		for i, size := range sizes {
			if size < 1 || size > allreduce.MaxBytes || i > 0 && size <= sizes[i-1] {
				t.Fatalf("%q: sizes %v", s, sizes)
			}
		}
	})
}
