package smi

import (
	"fmt"
	"strings"
)

// table is a header with the rows that follow it.
type table struct {
	head
	rows []row
	// after are the lines behind the header that are no rows.
	after []line
}

// head is the header: a column for each device, then further columns.
type head struct {
	line   line
	labels []string
	extras []extra
}

// extra is a column behind the distances.
type extra struct {
	kind  string
	start int // byte offset
}

// Kinds of extra columns.
const (
	cpuAffinity  = "CPU Affinity"
	numaAffinity = "NUMA Affinity"
	gpuNUMA      = "GPU NUMA ID"
)

// row is the line of one device.
type row struct {
	line  line
	label string
	cells []string // as far as they go
	// rest is what follows the cells, and where it starts in the line.
	rest  string
	start int
}

var (
	gpuLabel = pattern(`^(?i:GPU|GP)([0-9]{1,4})$`)
	nicLabel = pattern(`^[A-Za-z][A-Za-z0-9_.\-]*[0-9_][A-Za-z0-9_.\-]*$`)
	// cellWord also knows the words of other tables and those of a cut-off cell.
	cellWord = pattern(`^(?:X|NV[0-9]{1,3}|PIX|PXB|PHB|NODE|SYS|SOC|OK|CNS|GNS|TNS|NS|DR|U|N/A)$`)
)

// tables finds the headers of a text and their rows.
func tables(lines []line) []*table {
	var out []*table
	for _, l := range lines {
		if h, ok := parseHead(l); ok {
			out = append(out, &table{head: h})
			continue
		}
		if len(out) == 0 {
			continue
		}
		t := out[len(out)-1]
		if r, ok := t.parseRow(l); ok {
			t.rows = append(t.rows, r)
		} else {
			t.after = append(t.after, l)
		}
	}
	return out
}

// parseHead recognises a header by its labels: at least one GPU, and nothing
// else before the further columns.
func parseHead(l line) (head, bool) {
	h := head{line: l}
	gpus := 0
	words := tokens(l.text)
	for i, w := range words {
		if kind := extraKind(words[i:]); kind != "" {
			h.extras = parseExtras(words[i:])
			break
		}
		label := normalLabel(w.text)
		if cellWord().MatchString(label) || !nicLabel().MatchString(label) || len(h.labels) == MaxColumns {
			return head{}, false
		}
		if gpuLabel().MatchString(label) {
			gpus++
		}
		h.labels = append(h.labels, label)
	}
	return h, gpus > 0
}

// extraKind tells which further column starts with these words.
func extraKind(words []token) string {
	is := func(want ...string) bool {
		for i, w := range want {
			if i >= len(words) || !strings.EqualFold(words[i].text, w) {
				return false
			}
		}
		return true
	}
	switch {
	case is("CPU"):
		return cpuAffinity
	case is("GPU", "NUMA"):
		return gpuNUMA
	case is("NUMA"):
		return numaAffinity
	}
	return ""
}

func parseExtras(words []token) []extra {
	var out []extra
	for i := 0; i < len(words); i++ {
		if kind := extraKind(words[i:]); kind != "" {
			out = append(out, extra{kind, words[i].start})
			if kind == gpuNUMA {
				i++ // past its own word NUMA
			}
		}
	}
	return out
}

// normalLabel removes what a hand put behind a label.
func normalLabel(s string) string { return strings.TrimRight(s, ".") }

// parseRow recognises a row by its label and a first cell.
func (t *table) parseRow(l line) (row, bool) {
	words := tokens(l.text)
	if len(words) < 2 {
		return row{}, false
	}
	r := row{line: l, label: normalLabel(words[0].text)}
	if _, ok := parseCell(words[1].text); !ok || t.column(r.label) < 0 {
		return row{}, false
	}
	for _, w := range words[1:] {
		cell, ok := parseCell(w.text)
		if !ok || len(r.cells) == len(t.labels) {
			break
		}
		r.cells = append(r.cells, cell)
		r.start = w.end()
	}
	r.rest = l.text[r.start:]
	return r, true
}

// column gives the index of a label, or -1.
func (h *head) column(label string) int {
	for i, l := range h.labels {
		if strings.EqualFold(l, label) {
			return i
		}
	}
	return -1
}

// parseCell reads a distance, or a word that stands in its place in other
// tables.
func parseCell(s string) (string, bool) {
	s = strings.ToUpper(strings.TrimRight(s, "."))
	if s == "SOC" {
		return "SYS", true // the word of drivers before 384
	}
	return s, cellWord().MatchString(s)
}

// isDistance tells a cell from what stands behind the cells.
func isDistance(s string) bool {
	c, ok := parseCell(s)
	return ok && c != "N/A"
}

// looksLikeRow tells a row whose header is missing.
func looksLikeRow(l line) bool {
	words := tokens(l.text)
	if len(words) < 2 || !gpuLabel().MatchString(normalLabel(words[0].text)) {
		return false
	}
	_, ok := parseCell(words[1].text)
	return ok
}

// tails assigns what follows the cells of a row to the further columns: by tabs
// where there are some, else in order, else by place.
func (t *table) tails(r row) map[string]string {
	if at := strings.IndexByte(r.rest, '\t'); at >= 0 && strings.TrimSpace(r.rest[:at]) == "" {
		return t.tabbed(strings.Split(r.rest[at+1:], "\t"))
	}
	out := map[string]string{}
	words := joinLists(r)
	for i, w := range words {
		if len(words) == len(t.extras) {
			out[t.extras[i].kind] = w.text
		} else if kind := t.kindAt(w.start); kind != "" {
			out[kind] = w.text
		}
	}
	return out
}

// tabbed assigns fields between tabs. nvidia-smi puts an empty one before the
// column GPU NUMA ID.
func (t *table) tabbed(fields []string) map[string]string {
	out := map[string]string{}
	for i, e := range t.extras {
		if e.kind == gpuNUMA && i+1 < len(fields) {
			i++
		}
		if i < len(fields) {
			out[e.kind] = trimNUMA(strings.TrimSpace(fields[i]))
		}
	}
	return out
}

// joinLists gives the words behind the cells; lists of CPUs with blanks after
// their commas are one word, and "NUMA 0" is 0.
func joinLists(r row) []token {
	var out []token
	for _, w := range tokens(r.rest) {
		w.start += r.start
		if strings.EqualFold(w.text, "NUMA") {
			continue
		}
		if n := len(out); n > 0 && strings.HasSuffix(out[n-1].text, ",") {
			out[n-1].text += w.text
			continue
		}
		out = append(out, w)
	}
	return out
}

func trimNUMA(s string) string {
	if len(s) > 5 && strings.EqualFold(s[:5], "NUMA ") {
		return strings.TrimSpace(s[5:])
	}
	return s
}

// kindAt gives the column that stands above a place.
func (t *table) kindAt(start int) string {
	kind := ""
	for _, e := range t.extras {
		if e.start <= start+1 {
			kind = e.kind
		}
	}
	return kind
}

// legend finds the device names of NICs, anywhere in the text.
func legend(lines []line) map[string]string {
	names := map[string]string{}
	for _, l := range lines {
		for _, m := range legendEntry().FindAllStringSubmatch(l.text, -1) {
			names[strings.ToUpper(m[1])] = m[2]
		}
	}
	return names
}

var legendEntry = pattern(`(?i)\b(NIC[0-9]{1,4})\s*[:=]\s*([A-Za-z][A-Za-z0-9_.\-]*)`)

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}
