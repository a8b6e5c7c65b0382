package reduce

// Bytes are taken eight at a time in a 64-bit word.

const signBits = 0x8080808080808080

// add8 sums bytes: the lower seven bits of each lane cannot carry out of it,
// the top bit is their exclusive or.
func add8(dst, a, b []byte) {
	d, x, y := words(dst, a, b)
	for i := range d {
		d[i] = (x[i]&^signBits + y[i]&^signBits) ^ (x[i]^y[i])&signBits
	}
	for i := 8 * len(d); i < len(dst); i++ {
		dst[i] = a[i] + b[i]
	}
}

// words views the whole words of three buffers.
func words(dst, a, b []byte) (d, x, y []uint64) {
	d = as[uint64](dst)
	return d, as[uint64](a)[:len(d)], as[uint64](b)[:len(d)]
}

// below has all bits of each lane set in which x < y as unsigned bytes.
func below(x, y uint64) uint64 {
	d := (x | signBits) - y&^signBits // lane by lane, no borrow crosses
	borrow := (^x&y | ^(x^y)&^d) & signBits
	return borrow<<1 - borrow>>7 // the top lane's 1<<64 drops out
}

// min8 and max8 compare bytes after turning over the bits of flip: the sign
// bits for signed ones.

func min8(dst, a, b []byte, flip uint64) {
	d, x, y := words(dst, a, b)
	for i := range d {
		m := below(x[i]^flip, y[i]^flip)
		d[i] = x[i]&m | y[i]&^m
	}
	f := byte(flip)
	for i := 8 * len(d); i < len(dst); i++ {
		dst[i] = min(a[i]^f, b[i]^f) ^ f
	}
}

func max8(dst, a, b []byte, flip uint64) {
	d, x, y := words(dst, a, b)
	for i := range d {
		m := below(x[i]^flip, y[i]^flip)
		d[i] = y[i]&m | x[i]&^m
	}
	f := byte(flip)
	for i := 8 * len(d); i < len(dst); i++ {
		dst[i] = max(a[i]^f, b[i]^f) ^ f
	}
}
