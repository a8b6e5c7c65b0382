package smi

import (
	"fmt"
	"io"
	"slices"

	"github.com/ringtopo/ringtopo/topo"
)

// Matrix is what the text says. Distances are nvidia-smi's words: X, NV# (# NVLinks),
// PIX, PXB, PHB, NODE and SYS; the old SOC is SYS.
type Matrix struct {
	GPUs []GPU
	NICs []NIC
	GPU  [][]string // rows and columns are GPUs
	NIC  [][]string // rows are GPUs, columns NICs
	// Between has rows and columns for NICs, "" where the text stops short.
	Between [][]string
	// Notes say what of the text was passed over.
	Notes []topo.Assumption
}

// GPU is a row of the matrix with what follows its distances, as printed.
type GPU struct {
	Dev  int    // its number, as in GPU0
	CPUs string // CPU Affinity, for example 0-23,48-71; "" if it is not there
	NUMA string // NUMA Affinity, for example 0 or N/A; "" if it is not there
	// MemoryNUMA is GPU NUMA ID: a number where the GPU's memory belongs to the
	// system's, as on Grace Hopper.
	MemoryNUMA string
}

// NIC is a network device.
type NIC struct {
	Label string // in the matrix, for example NIC0 or mlx5_0
	Name  string // of the device: by the legend, else the label
}

// Machine is what Parse makes of a text.
type Machine struct {
	Matrix *Matrix
	System *topo.System // its Assumed lists what the text does not tell
}

// Parse reads a matrix and makes a machine of it. The name is for messages.
// Every error is an *Error.
func Parse(r io.Reader, name string, o Options) (*Machine, error) {
	m, err := Read(r, name)
	if err != nil {
		return nil, err
	}
	sys, err := m.System(name, o)
	if err != nil {
		return nil, err
	}
	return &Machine{Matrix: m, System: sys}, nil
}

// Select gives the matrix of some GPUs, by their numbers, in that order. A GPU
// that is not there is an error.
func (m *Matrix) Select(devs []int) (*Matrix, error) {
	rows := make([]int, len(devs))
	for i, dev := range devs {
		rows[i] = slices.IndexFunc(m.GPUs, func(g GPU) bool { return g.Dev == dev })
		if rows[i] < 0 {
			return nil, fmt.Errorf("the matrix has no GPU%d", dev)
		}
	}
	out := &Matrix{NICs: m.NICs, Between: m.Between, Notes: m.Notes, GPU: [][]string{}, NIC: [][]string{}}
	for _, r := range rows {
		out.GPUs = append(out.GPUs, m.GPUs[r])
		out.NIC = append(out.NIC, m.NIC[r])
		row := make([]string, len(rows))
		for j, c := range rows {
			row[j] = m.GPU[r][c]
		}
		out.GPU = append(out.GPU, row)
	}
	return out, nil
}

// label names the device of an index that counts GPUs first, then NICs.
func (m *Matrix) label(i int) string {
	if i < len(m.GPUs) {
		return fmt.Sprintf("GPU%d", m.GPUs[i].Dev)
	}
	return m.NICs[i-len(m.GPUs)].Label
}

// size counts GPUs and NICs.
func (m *Matrix) size() int { return len(m.GPUs) + len(m.NICs) }

// word gives the distance of two devices by their indexes, GPUs first; "" if it
// is not known.
func (m *Matrix) word(i, j int) string {
	g := len(m.GPUs)
	switch {
	case i < g && j < g:
		return m.GPU[i][j]
	case i < g:
		return m.NIC[i][j-g]
	case j < g:
		return m.NIC[j][i-g]
	case m.Between[i-g][j-g] != "":
		return m.Between[i-g][j-g]
	}
	return m.Between[j-g][i-g]
}
