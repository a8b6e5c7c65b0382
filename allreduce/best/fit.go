package best

import "math"

// Fit makes rows of what was measured, smallest message first. Candidates within
// tie (0.02: 2 %) of the fastest count as equally fast: then the choice of the
// size before stays, else the candidate that is named first wins. A row reaches
// halfway to the next measured size, on a logarithmic scale.
func Fit(sizes []Size, tie float64) []Row {
	var rows []Row
	var last *Size
	for i := range sizes {
		s := &sizes[i]
		if len(s.Candidates) == 0 {
			continue
		}
		c := s.pick(rows, tie)
		if n := len(rows); n > 0 && rows[n-1].Choice == c {
			last = s
			continue
		} else if n > 0 {
			rows[n-1].UpTo = between(last.Bytes, s.Bytes)
		}
		rows, last = append(rows, Row{Choice: c}), s
	}
	return rows
}

// between is halfway between two sizes on a logarithmic scale.
func between(a, b int64) int64 { return max(a, int64(math.Sqrt(float64(a)*float64(b)))) }

// pick chooses at one size, with the rows for smaller ones.
func (s *Size) pick(before []Row, tie float64) Choice {
	least := math.Inf(1)
	for _, c := range s.Candidates {
		least = min(least, c.Median)
	}
	var first *Choice
	for i := range s.Candidates {
		c := &s.Candidates[i]
		if c.Median > least*(1+tie) {
			continue
		}
		if n := len(before); n > 0 && before[n-1].Choice == c.Choice {
			return c.Choice
		}
		if first == nil {
			first = &c.Choice
		}
	}
	return *first
}
