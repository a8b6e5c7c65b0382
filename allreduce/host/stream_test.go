package host

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// stream copies exactly, whatever the size and place, and nothing beside it.
func TestStream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(rt, "bytes")
		from, to := rapid.IntRange(0, 70).Draw(rt, "from"), rapid.IntRange(0, 70).Draw(rt, "to")
		src, dst := make([]byte, n+140), bytes.Repeat([]byte{0xa5}, n+140)
		for i := range src {
			src[i] = byte(i * 7)
		}
		want := bytes.Clone(dst)
		copy(want[to:to+n], src[from:])
		stream(dst[to:to+n], src[from:from+n], src[:1])
		if !bytes.Equal(dst, want) {
			rt.Fatalf("%d bytes from %d to %d", n, from, to)
		}
	})
}
