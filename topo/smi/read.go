package smi

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/topo"
)

// Read finds the matrix in a text. The name is for messages. Every error is an
// *Error.
func Read(r io.Reader, name string) (*Matrix, error) {
	lines, err := readLines(r, name)
	if err != nil {
		return nil, err
	}
	found := tables(lines)
	if len(found) == 0 {
		return nil, noTable(lines, name)
	}
	t := found[0]
	for _, other := range found {
		if other.isMatrix() {
			t = other
			break
		}
	}
	return t.matrix(name, legend(lines))
}

// isMatrix tells a matrix of distances from other tables and lonely headers.
func (t *table) isMatrix() bool {
	return len(t.rows) > 0 && !t.has(p2pWords) && !t.has([]string{"N/A"})
}

var p2pWords = []string{"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"}

func (t *table) has(words []string) bool {
	for _, r := range t.rows {
		for _, c := range r.cells {
			if slices.Contains(words, c) {
				return true
			}
		}
	}
	return false
}

// matrix turns the rows into a matrix, if they are all there.
func (t *table) matrix(name string, names map[string]string) (*Matrix, error) {
	rows, err := t.byLabel(name)
	if err != nil {
		return nil, err
	}
	m := &Matrix{GPU: [][]string{}, NIC: [][]string{}, Between: [][]string{}}
	var gpuColumns, nicColumns []int
	column := map[int]string{}
	for i, label := range t.labels {
		if d := gpuLabel().FindStringSubmatch(label); d != nil {
			dev, _ := strconv.Atoi(d[1]) // four digits at most
			if other, twice := column[dev]; twice {
				return nil, t.fault(name, t.line, ErrNonsense, fmt.Sprintf("%s and %s are one GPU", other, label), "give each its own number")
			}
			column[dev] = label
			gpuColumns = append(gpuColumns, i)
			m.GPUs = append(m.GPUs, GPU{Dev: dev})
			continue
		}
		nicColumns = append(nicColumns, i)
		nic := NIC{Label: label, Name: label}
		if n, ok := names[strings.ToUpper(label)]; ok {
			nic.Name = n
		}
		m.NICs = append(m.NICs, nic)
	}
	for i, c := range gpuColumns {
		r := rows[c]
		m.GPU = append(m.GPU, pick(r.cells, gpuColumns))
		m.NIC = append(m.NIC, pick(r.cells, nicColumns))
		tails := t.tails(*r)
		m.GPUs[i].CPUs, m.GPUs[i].NUMA, m.GPUs[i].MemoryNUMA = tails[cpuAffinity], tails[numaAffinity], tails[gpuNUMA]
	}
	for _, c := range nicColumns {
		m.Between = append(m.Between, nicCells(rows[c], nicColumns))
	}
	if err := t.check(name, rows); err != nil {
		return nil, err
	}
	m.Notes = t.notes(rows, nicColumns)
	return m, nil
}

func pick(cells []string, columns []int) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = cells[c]
	}
	return out
}

// nicCells gives the cells between NICs, "" where the row is missing or stops.
func nicCells(r *row, columns []int) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		if r != nil && c < len(r.cells) {
			out[i] = r.cells[c]
		}
	}
	return out
}

// byLabel orders the rows as the columns are. A GPU's row must be there and
// whole; NICs may lack theirs.
func (t *table) byLabel(name string) ([]*row, error) {
	if len(t.rows) == 0 {
		return nil, t.noRows(name)
	}
	if t.has(p2pWords) {
		return nil, t.fault(name, t.rows[0].line, ErrNoMatrix,
			"this is the table of nvidia-smi topo -p2p, which says who may copy to whom but not over what",
			"give the output of nvidia-smi topo -m")
	}
	if t.has([]string{"N/A"}) {
		return nil, t.fault(name, t.rows[0].line, ErrNoMatrix,
			"distances are N/A: the tool that wrote this could not find them out",
			"run nvidia-smi topo -m on the machine itself, not in a container without its sysfs")
	}
	rows := make([]*row, len(t.labels))
	for i := range t.rows {
		r := &t.rows[i]
		c := t.column(r.label)
		if rows[c] != nil {
			return nil, t.fault(name, r.line, ErrNonsense, fmt.Sprintf("a second row %s; the first is line %d", r.label, rows[c].line.number),
				"give one matrix at a time")
		}
		rows[c] = r
	}
	for i, label := range t.labels {
		if j := t.column(label); j != i {
			return nil, t.fault(name, t.line, ErrNonsense, fmt.Sprintf("the header has %s twice", label), "give one matrix at a time")
		}
		if err := t.whole(name, label, rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// whole refuses a GPU's row that is missing or too short.
func (t *table) whole(name, label string, r *row) error {
	if !gpuLabel().MatchString(label) {
		return nil
	}
	const remedy = "copy the whole output of nvidia-smi topo -m, without line breaks inside rows"
	if r == nil {
		last := t.rows[len(t.rows)-1].line
		return t.fault(name, last, ErrTruncated, fmt.Sprintf("the text ends before the row of %s", label), remedy)
	}
	next := tokens(r.rest)
	if len(r.cells) == len(t.labels) {
		if len(next) > 0 && isDistance(next[0].text) {
			return t.fault(name, r.line, ErrNonsense, fmt.Sprintf("row %s has more cells than the header has devices (%d)", label, len(t.labels)),
				"copy the header with all its columns")
		}
		return nil
	}
	msg := fmt.Sprintf("row %s has %s for %d devices", label, cells(len(r.cells)), len(t.labels))
	if len(next) > 0 {
		msg += ", then " + quote(next[0].text)
	}
	return t.fault(name, r.line, ErrTruncated, msg, remedy)
}

func (t *table) fault(name string, at line, kind error, msg, remedy string) error {
	return &Error{File: name, Line: at.number, Msg: msg, Remedy: remedy, Err: kind}
}

// check refuses cells that contradict each other: a distance has no direction,
// and only a device itself is X.
func (t *table) check(name string, rows []*row) error {
	cell := func(i, j int) string {
		if rows[i] == nil || j >= len(rows[i].cells) {
			return ""
		}
		return rows[i].cells[j]
	}
	for i := range rows {
		for j := range rows {
			a, b := cell(i, j), cell(j, i)
			if a != "" && (a == "X") != (i == j) {
				return t.fault(name, rows[i].line, ErrNonsense, fmt.Sprintf("%s is %s to %s", t.labels[i], a, t.labels[j]),
					"only a device itself is X; are columns shifted?")
			}
			if a != "" && b != "" && a != b {
				return t.fault(name, rows[i].line, ErrNonsense, fmt.Sprintf("%s is %s to %s, but the other way round (line %d) it is %s",
					t.labels[i], a, t.labels[j], rows[j].line.number, b), "a distance has no direction; are columns shifted?")
			}
		}
	}
	for i, r := range rows {
		isNIC := !gpuLabel().MatchString(t.labels[i])
		for j := range rows {
			if c := cell(i, j); strings.HasPrefix(c, "NV") && (isNIC || !gpuLabel().MatchString(t.labels[j])) {
				return t.fault(name, r.line, ErrNonsense, fmt.Sprintf("%s is %s to %s", t.labels[i], c, t.labels[j]), "NVLinks join GPUs only")
			}
		}
	}
	return nil
}

// notes says which rows of NICs are missing.
func (t *table) notes(rows []*row, nicColumns []int) []topo.Assumption {
	var short []string
	for _, c := range nicColumns {
		if rows[c] == nil || len(rows[c].cells) < len(t.labels) {
			short = append(short, t.labels[c])
		}
	}
	if len(short) == 0 {
		return nil
	}
	return []topo.Assumption{{
		Where: fmt.Sprintf("line %d", t.rows[len(t.rows)-1].line.number),
		What:  "rows missing or cut off (" + strings.Join(short, ", ") + "): distances between NICs taken from those to the GPUs",
	}}
}
