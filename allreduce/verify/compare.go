package verify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
)

// Compare counts the elements of got that are not those of want, and finds the
// first, -1 if there is none. Any NaN is as good as another: which bits it has
// depends on the processor.
func Compare(got, want []byte, t allreduce.DType) (wrong, first int64) {
	if bytes.Equal(got, want) {
		return 0, -1
	}
	first = -1
	size := t.Size()
	for at := 0; at < len(want); at += compareBytes {
		end := min(at+compareBytes, len(want))
		if bytes.Equal(got[at:end], want[at:end]) {
			continue
		}
		for i := at; i < end; i += size {
			g, w := got[i:i+size], want[i:i+size]
			if bytes.Equal(g, w) || isNaN(g, t) && isNaN(w, t) {
				continue
			}
			if first < 0 {
				first = int64(i / size)
			}
			wrong++
		}
	}
	return wrong, first
}

// compareBytes are looked at as a whole before element by element.
const compareBytes = 4096

func isNaN(b []byte, t allreduce.DType) bool {
	v, ok := float(b, t)
	return ok && math.IsNaN(v)
}

// float is the value of a floating element.
func float(b []byte, t allreduce.DType) (v float64, ok bool) {
	switch t {
	case allreduce.Float16:
		return float64(reduce.F16(binary.NativeEndian.Uint16(b))), true
	case allreduce.BFloat16:
		return float64(reduce.BF16(binary.NativeEndian.Uint16(b))), true
	case allreduce.Float32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b))), true
	case allreduce.Float64:
		return math.Float64frombits(binary.NativeEndian.Uint64(b)), true
	}
	return 0, false
}

// Format prints one element: a float with its bits, since two that differ can
// look alike.
func Format(b []byte, t allreduce.DType) string {
	if v, ok := float(b, t); ok {
		digits := map[allreduce.DType]int{allreduce.Float16: 5, allreduce.BFloat16: 4, allreduce.Float32: 9, allreduce.Float64: 17}[t]
		return fmt.Sprintf("%.*g (0x%0*x)", digits, v, 2*len(b), raw(b))
	}
	u := raw(b)
	switch t {
	case allreduce.Int8:
		return fmt.Sprint(int8(u))
	case allreduce.Int32:
		return fmt.Sprint(int32(u))
	case allreduce.Int64:
		return fmt.Sprint(int64(u))
	}
	return fmt.Sprint(u)
}

func raw(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}
