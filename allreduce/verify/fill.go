package verify

import (
	"encoding/binary"
	"math"

	"github.com/ringtopo/ringtopo/allreduce"
	"github.com/ringtopo/ringtopo/allreduce/reduce"
)

const wordBytes = 8

// golden spreads consecutive numbers over all words.
const golden = 0x9e3779b97f4a7c15

// randomWord is the i-th word of a stream: a hash, so that any word can be had
// without those before it.
func randomWord(stream, i uint64) uint64 { return mix((stream + i) * golden) }

func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

// stream tells apart the words of ranks and seeds.
func stream(seed uint64, rank int) uint64 { return randomWord(seed, uint64(rank)) }

// shape makes elements of random words: word & mask + base, lane by lane.
type shape struct{ mask, base uint64 }

// shapeOf keeps floats finite: sign, mantissa, and the low bits of the exponent
// are random. Factors stay between a half and two.
func shapeOf(t allreduce.DType, op allreduce.Op) shape {
	if op == allreduce.Prod {
		switch t {
		case allreduce.Float16:
			return shape{0x87ff * lanes16, 14 << 10 * lanes16}
		case allreduce.BFloat16:
			return shape{0x80ff * lanes16, 126 << 7 * lanes16}
		case allreduce.Float32:
			return shape{0x80ffffff * lanes32, 126 << 23 * lanes32}
		case allreduce.Float64:
			return shape{0x801fffffffffffff, 1022 << 52}
		}
	}
	switch t {
	case allreduce.Float16:
		return shape{0x9fff * lanes16, 10 << 10 * lanes16}
	case allreduce.BFloat16:
		return shape{0x83ff * lanes16, 124 << 7 * lanes16}
	case allreduce.Float32:
		return shape{0x83ffffff * lanes32, 124 << 23 * lanes32}
	case allreduce.Float64:
		return shape{0x807fffffffffffff, 1020 << 52}
	}
	return shape{mask: math.MaxUint64}
}

const (
	lanes8  = 0x0101010101010101
	lanes16 = 0x0001000100010001
	lanes32 = 0x0000000100000001
)

// fillRandom writes bytes from offset on of a rank's stream.
func fillRandom(dst []byte, offset int64, stream uint64, s shape) {
	i := uint64(offset) / wordBytes
	if skip := int(offset % wordBytes); skip != 0 {
		var word [wordBytes]byte
		binary.LittleEndian.PutUint64(word[:], randomWord(stream, i)&s.mask+s.base)
		dst = dst[copy(dst, word[skip:]):]
		i++
	}
	x := (stream + i) * golden
	for len(dst) >= 4*wordBytes {
		binary.LittleEndian.PutUint64(dst, mix(x)&s.mask+s.base)
		binary.LittleEndian.PutUint64(dst[8:], mix(x+golden)&s.mask+s.base)
		binary.LittleEndian.PutUint64(dst[16:], mix(x+2*golden&math.MaxUint64)&s.mask+s.base)
		binary.LittleEndian.PutUint64(dst[24:], mix(x+3*golden&math.MaxUint64)&s.mask+s.base)
		dst, i, x = dst[4*wordBytes:], i+4, x+4*golden&math.MaxUint64
	}
	for ; len(dst) >= wordBytes; i++ {
		binary.LittleEndian.PutUint64(dst, randomWord(stream, i)&s.mask+s.base)
		dst = dst[wordBytes:]
	}
	if len(dst) > 0 {
		var word [wordBytes]byte
		binary.LittleEndian.PutUint64(word[:], randomWord(stream, i)&s.mask+s.base)
		copy(dst, word[:])
	}
}

// fillConstant repeats one small number.
func fillConstant(dst []byte, v int, t allreduce.DType) {
	if len(dst) == 0 {
		return
	}
	putNumber(dst, v, t)
	for done := t.Size(); done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// fillRamp counts from 1 to period and begins again, element first being the
// first of dst.
func fillRamp(dst []byte, first int64, period int, t allreduce.DType) {
	size := t.Size()
	n := min(period, len(dst)/size)
	for i := range n {
		putNumber(dst[i*size:], int((first+int64(i))%int64(period))+1, t)
	}
	for done := n * size; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// putNumber writes a small integer as one element.
func putNumber(dst []byte, v int, t allreduce.DType) {
	switch t {
	case allreduce.Int8, allreduce.Uint8:
		dst[0] = byte(v)
	case allreduce.Int32, allreduce.Uint32:
		binary.NativeEndian.PutUint32(dst, uint32(v))
	case allreduce.Int64, allreduce.Uint64:
		binary.NativeEndian.PutUint64(dst, uint64(v))
	case allreduce.Float16:
		binary.NativeEndian.PutUint16(dst, reduce.ToF16(float32(v)))
	case allreduce.BFloat16:
		binary.NativeEndian.PutUint16(dst, reduce.ToBF16(float32(v)))
	case allreduce.Float32:
		binary.NativeEndian.PutUint32(dst, math.Float32bits(float32(v)))
	case allreduce.Float64:
		binary.NativeEndian.PutUint64(dst, math.Float64bits(float64(v)))
	}
}
