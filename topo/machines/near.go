package machines

import "strings"

// near gives the name that s begins or is closest to, or "" if it is far from
// all.
func near(s string) string {
	s = plain(s)
	for _, m := range list {
		if len(s) > 1 && strings.HasPrefix(plain(m.Name), s) {
			return m.Name
		}
	}
	best, least := "", 1+len(s)/3
	for _, m := range list {
		if d := distance(s, plain(m.Name)); d <= least && (best == "" || d < least) {
			best, least = m.Name, d
		}
	}
	return best
}

// plain is a name without what people leave out or swap: case and separators.
func plain(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(s))
}

// distance counts the letters to insert, drop or change to get from a to b
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
