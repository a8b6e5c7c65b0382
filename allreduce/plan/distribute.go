package plan

// minTraffic is the least traffic worth a channel of its own.
const minTraffic = 512

// cellBytes is the unit in which messages are cut.
const cellBytes = 16

// cursor is where the next task of one kind begins.
type cursor struct {
	limit   int    // channels that the kind may use
	channel int    // to fill next
	used    uint64 // traffic that it has already
	target  uint64 // traffic that a channel should get
}

// spread is a task laid over adjacent channels: lo elements on the first, hi on
// the last, midCount on each of mid channels between.
type spread struct {
	first, last int   // channels
	lo, hi      int64 // elements
	mid         int64 // parts between
	midCount    int64 // elements of each
}

// place cuts count elements over channels from the cursor on.
func (c *cursor) place(count int64, elemSize int) spread {
	elements := int64(cellBytes / elemSize)
	traffic := uint64(cellBytes * trafficPerByte) // of a cell
	cells := (count*int64(elemSize) + cellBytes - 1) / cellBytes
	per := min(cells, int64(ceil(c.target, traffic)))
	lo := cells
	if c.channel+1 != c.limit {
		lo = min(cells, int64((c.target-c.used)/traffic))
	}
	mid, hi := (cells-lo)/per, (cells-lo)%per
	if c.channel+parts(lo, mid, hi) > c.limit {
		// One channel's share too many: the rest goes evenly over what is left.
		mid = int64(c.limit - c.channel - 2)
		per = (cells - lo) / (mid + 1)
		hi = per + (cells-lo)%(mid+1)
	}
	if hi == 0 && mid != 0 {
		hi = per
		mid--
	}
	if lo == 0 {
		c.channel++
		if mid == 0 {
			lo, hi = hi, 0
		} else {
			lo = per
			mid--
		}
	}
	s := spread{lo: lo * elements, mid: mid, hi: hi * elements, first: c.channel}
	if mid != 0 {
		s.midCount = per * elements
	}
	if pad := cells*elements - count; s.hi != 0 {
		s.hi -= pad
	} else {
		s.lo -= pad
	}
	s.last = s.first + parts(s.lo, mid, hi) - 1
	return s
}

// parts counts those that are not empty.
func parts(lo, mid, hi int64) int {
	n := int(mid)
	if lo != 0 {
		n++
	}
	if hi != 0 {
		n++
	}
	return n
}

// advance moves the cursor past a task that was placed.
func (c *cursor) advance(s spread, elemSize int) {
	traffic := uint64(elemSize * trafficPerByte) // of an element
	switch {
	case s.hi != 0:
		c.channel = s.last
		c.used = uint64(s.hi) * traffic
	case s.mid != 0:
		c.channel = s.last + 1
		c.used = 0
	default:
		c.used += uint64(s.lo) * traffic
	}
	if c.used >= c.target && c.channel+1 != c.limit {
		c.channel++
		c.used = 0
	}
}

// offset is where a channel's elements begin, relative to the task.
func (s *spread) offset(channel int) int64 {
	if channel == s.first {
		return 0
	}
	return s.lo + int64(channel-s.first-1)*s.midCount
}

// count is how many elements a channel gets.
func (s *spread) count(channel int) int64 {
	switch {
	case channel == s.first:
		return s.lo
	case channel == s.last:
		return s.hi
	}
	return s.midCount
}
