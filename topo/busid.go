package topo

import (
	"fmt"
	"math"
	"strconv"
)

// BusID is a PCI address packed as NCCL packs it: domain<<20 | bus<<12 |
// device<<4 | function. Placeholders for devices that a driver hides, such as
// fffffff:ffff:ff, keep their digits.
type BusID int64

// ParseBusID packs the hexadecimal digits of s, skipping dots and colons and
// stopping at the first other character or after 16 digits; no digits give 0.
// Any number of domain digits is accepted, in either case.
func ParseBusID(s string) BusID {
	digits := make([]byte, 0, 16)
	for i := 0; i < len(s) && len(digits) < 16; i++ {
		c := s[i]
		if c == '.' || c == ':' {
			continue
		}
		if !isHex(c) {
			break
		}
		digits = append(digits, c)
	}
	v, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil {
		return 0
	}
	return BusID(min(v, math.MaxInt64))
}

// String gives the usual form, for example 0000:3b:00.0.
func (b BusID) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%01x",
		int64(b)>>20, (int64(b)&0xff000)>>12, (int64(b)&0xff0)>>4, int64(b)&0xf)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
