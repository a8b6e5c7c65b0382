package ncclxml

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
)

// required reads an integer that must be there.
func (b *builder) required(e *Element, key, remedy string) (int, error) {
	text, ok := e.Get(key)
	if !ok {
		return 0, b.doc.nonsense(e, key+" is missing", remedy)
	}
	return b.integer(e, key, text), nil
}

// optional reads an integer that has a default; note says what the default
// means if that is worth telling.
func (b *builder) optional(e *Element, key string, absent int, note string) int {
	text, ok := e.Get(key)
	if ok {
		return b.integer(e, key, text)
	}
	if note != "" {
		b.doc.assume(e, key+" missing: "+note)
	}
	return absent
}

// integer reads as NCCL does, which takes any text for a number, and notes a
// text that is none.
func (b *builder) integer(e *Element, key, text string) int {
	v := cnum.Int32(text)
	if strict, err := strconv.ParseInt(text, 0, 32); err != nil || int(strict) != v {
		b.doc.assume(e, fmt.Sprintf("%s %s: read as %d, as NCCL does", key, quote(text), v))
	}
	return v
}

// busID reads a PCI address. NCCL takes any text for one; here it must look
// like one, because an index in its place makes a machine without links.
func (b *builder) busID(e *Element, key string) (topo.BusID, error) {
	const form = "an address looks like 0000:3b:00.0"
	text, ok := e.Get(key)
	if !ok {
		return 0, b.doc.nonsense(e, key+" is missing", form)
	}
	if !isAddress(text) {
		return 0, b.doc.nonsense(e, key+" "+quote(text)+" is no PCI address", form)
	}
	return topo.ParseBusID(text), nil
}

// isAddress tells whether a text is up to 16 hexadecimal digits in groups.
func isAddress(s string) bool {
	digits, groups := 0, 1
	for i := range len(s) {
		switch {
		case s[i] == ':':
			groups++
		case strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0:
			digits++
		case s[i] != '.':
			return false
		}
	}
	return groups > 1 && digits > 0 && digits <= 16
}

// numa is a cpu's number; index is its place in the file.
func (b *builder) numa(e *Element, index int) int {
	return b.optional(e, "numaid", index, fmt.Sprintf("counted as %d by its place in the file", index))
}
