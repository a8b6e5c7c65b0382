package nccllog

import (
	"strconv"
	"strings"
)

// cursor reads a line piece by piece. After the first piece that does not fit
// it is bad and gives zero values.
type cursor struct {
	rest string
	bad  bool
}

func (c *cursor) fail() { c.bad, c.rest = true, "" }

// literal skips text that must stand here.
func (c *cursor) literal(text string) {
	rest, ok := strings.CutPrefix(c.rest, text)
	if !ok {
		c.fail()
		return
	}
	c.rest = rest
}

// has skips text if it stands here.
func (c *cursor) has(text string) bool {
	rest, ok := strings.CutPrefix(c.rest, text)
	if ok {
		c.rest = rest
	}
	return ok
}

// until takes what stands before text, and skips both.
func (c *cursor) until(text string) string {
	before, rest, ok := strings.Cut(c.rest, text)
	if !ok {
		c.fail()
		return ""
	}
	c.rest = rest
	return before
}

// span takes the characters that belong to set.
func (c *cursor) span(set string) string {
	n := len(c.rest) - len(strings.TrimLeft(c.rest, set))
	text := c.rest[:n]
	c.rest = c.rest[n:]
	return text
}

// integer takes a decimal number that fits a rank.
func (c *cursor) integer() int {
	sign := ""
	if c.has("-") {
		sign = "-"
	}
	v, err := strconv.ParseInt(sign+c.span("0123456789"), 10, 32)
	if err != nil {
		c.fail()
	}
	return int(v)
}

// decimal takes a number such as 24.0.
func (c *cursor) decimal() float64 {
	v, err := strconv.ParseFloat(c.span("0123456789."), 64)
	if err != nil {
		c.fail()
	}
	return v
}

// done says whether everything fitted and nothing but space is left.
func (c *cursor) done() bool { return !c.bad && strings.TrimSpace(c.rest) == "" }
