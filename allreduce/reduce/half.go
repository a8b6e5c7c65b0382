package reduce

import "math"

// F16 is the value of float16 bits.
func F16(h uint16) float32 {
	// Shifted into place, the bits are a float32 whose exponent is off by 112:
	// a multiplication mends it, and makes subnormal numbers normal.
	const scale = 1 << 112
	u := uint32(h&0x7fff) << 13
	v := math.Float32bits(math.Float32frombits(u) * scale)
	if h&0x7fff >= 0x7c00 {
		v = u | 0x7f800000
	}
	return math.Float32frombits(v | uint32(h&0x8000)<<16)
}

// ToF16 rounds to float16 bits, ties to even. A NaN becomes 0x7fff.
func ToF16(f float32) uint16 {
	u := math.Float32bits(f)
	sign := uint16(u >> 16 & 0x8000)
	u &= 0x7fffffff
	switch {
	case u > 0x7f800000:
		return 0x7fff
	case u >= 0x477ff000: // 65520, half way to what would be 65536
		return sign | 0x7c00
	case u < 0x38800000: // 2^-14: adding 0.5 leaves multiples of 2^-24, rounded
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	}
	return sign | uint16((u-0x38000000+0xfff+u>>13&1)>>13)
}

// BF16 is the value of bfloat16 bits.
func BF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 rounds to bfloat16 bits, ties to even. A NaN becomes 0x7fff.
func ToBF16(f float32) uint16 {
	u := math.Float32bits(f)
	if u&0x7fffffff > 0x7f800000 {
		return 0x7fff
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

func addF16(dst, a, b []uint16) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = ToF16(F16(a[i]) + F16(b[i]))
	}
}

func addBF16(dst, a, b []uint16) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = ToBF16(BF16(a[i]) + BF16(b[i]))
	}
}

func mulF16(dst, a, b []uint16) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = ToF16(F16(a[i]) * F16(b[i]))
	}
}

func mulBF16(dst, a, b []uint16) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = ToBF16(BF16(a[i]) * BF16(b[i]))
	}
}
