package smi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/smi"
)

// spot is where a drawn device sits: its NUMA domain, host bridge, outer and
// inner switch, by numbers that grow over the machine.
type spot [4]int

// words are the distances of devices that differ from a place of their spots
// on.
var words = []string{"SYS", "NODE", "PHB", "PXB", "PIX"}

func (a spot) word(b spot) string {
	for i := range a {
		if a[i] != b[i] {
			return words[i]
		}
	}
	return words[len(a)]
}

// drawnMachine is a machine and its matrix.
type drawnMachine struct {
	spots  []spot // GPUs first
	matrix *smi.Matrix
}

func drawMachine(t *rapid.T) drawnMachine {
	var d drawnMachine
	gpus, nics := rapid.IntRange(1, 10).Draw(t, "gpus"), rapid.IntRange(0, 6).Draw(t, "nics")
	for range gpus + nics {
		var s spot
		outer := 0
		for i := range s {
			outer = outer*3 + rapid.IntRange(0, 2).Draw(t, "place")
			s[i] = outer
		}
		d.spots = append(d.spots, s)
	}
	nv := drawNVLinks(t, gpus)
	m := &smi.Matrix{GPU: [][]string{}, NIC: [][]string{}, Between: [][]string{}}
	legend := rapid.Bool().Draw(t, "legend")
	for i := range gpus {
		numa := d.spots[i][0]
		m.GPUs = append(m.GPUs, smi.GPU{Dev: i, CPUs: fmt.Sprintf("%d-%d,%d", 8*numa, 8*numa+7, 64+numa), NUMA: fmt.Sprint(numa)})
		var row []string
		for j := range gpus {
			switch {
			case i == j:
				row = append(row, "X")
			case nv(i, j) > 0:
				row = append(row, fmt.Sprintf("NV%d", nv(i, j)))
			default:
				row = append(row, d.spots[i].word(d.spots[j]))
			}
		}
		m.GPU = append(m.GPU, row)
		m.NIC = append(m.NIC, d.row(d.spots[i], -1, gpus))
	}
	for i := range nics {
		nic := smi.NIC{Label: fmt.Sprintf("NIC%d", i), Name: fmt.Sprintf("mlx5_%d", i)}
		if !legend {
			nic.Label = nic.Name
		}
		m.NICs = append(m.NICs, nic)
		m.Between = append(m.Between, d.row(d.spots[gpus+i], i, gpus))
	}
	d.matrix = m
	return d
}

// row gives the distances from a spot to all NICs; own is the NIC itself.
func (d drawnMachine) row(from spot, own, gpus int) []string {
	row := []string{}
	for i, to := range d.spots[gpus:] {
		if i == own {
			row = append(row, "X")
			continue
		}
		row = append(row, from.word(to))
	}
	return row
}

// drawNVLinks joins no GPUs, neighbours, or all of them.
func drawNVLinks(t *rapid.T, gpus int) func(i, j int) int {
	n := rapid.IntRange(1, 18).Draw(t, "nvlinks")
	switch rapid.IntRange(0, 2).Draw(t, "fabric") {
	case 0:
		return func(int, int) int { return 0 }
	case 1:
		return func(i, j int) int {
			if i/2 == j/2 {
				return n
			}
			return 0
		}
	}
	return func(int, int) int { return n }
}

// render writes a matrix in one of the ways that drivers and people write it.
func render(t *rapid.T, m *smi.Matrix) string {
	tabs, ansi, old := rapid.Bool().Draw(t, "tabs"), rapid.Bool().Draw(t, "ansi"), rapid.Bool().Draw(t, "old")
	nicRows := rapid.Bool().Draw(t, "tails of NIC rows")
	var lines [][]string
	header := []string{""}
	for _, g := range m.GPUs {
		header = append(header, fmt.Sprintf("GPU%d", g.Dev))
	}
	for _, n := range m.NICs {
		header = append(header, n.Label)
	}
	header = append(header, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
	lines = append(lines, header)
	for i, g := range m.GPUs {
		line := append([]string{header[i+1]}, m.GPU[i]...)
		line = append(append(line, m.NIC[i]...), g.CPUs, g.NUMA)
		if tabs {
			line = append(line, "")
		}
		lines = append(lines, append(line, "N/A"))
	}
	for i, n := range m.NICs {
		line := []string{n.Label}
		for g := range m.GPUs {
			line = append(line, m.NIC[g][i])
		}
		line = append(line, m.Between[i]...)
		if nicRows && tabs {
			line = append(line, "", "", "", "")
		}
		lines = append(lines, line)
	}
	var b strings.Builder
	for i, line := range lines {
		text := columns(line, tabs)
		if old {
			text = strings.ReplaceAll(text, "SYS", "SOC")
		}
		if i == 0 && ansi {
			text = strings.Replace(text, "GPU0", "\x1b[4mGPU0", 1) + "\x1b[0m"
		}
		b.WriteString(text + "\n")
	}
	b.WriteString("\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n")
	for _, n := range m.NICs {
		fmt.Fprintf(&b, "  %s: %s\n", n.Label, n.Name)
	}
	return b.String()
}

func columns(cells []string, tabs bool) string {
	if tabs {
		cells = slices.Clone(cells)
		for i, c := range cells {
			if c == "X" {
				cells[i] = " X "
			}
		}
		return strings.Join(cells, "\t")
	}
	var b strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&b, "%-15s ", c)
	}
	return strings.TrimRight(b.String(), " ")
}

// place is where a device of a machine sits: the switches above it.
type place struct {
	cpu   int
	above []topo.BusID
}

func places(sys *topo.System) (gpus, nics map[int]place, buses map[topo.BusID]int) {
	gpus, nics, buses = map[int]place{}, map[int]place{}, map[topo.BusID]int{}
	var visit func(cpu int, above []topo.BusID, devices []topo.Device)
	visit = func(cpu int, above []topo.BusID, devices []topo.Device) {
		for i := range devices {
			d := &devices[i]
			switch {
			case d.GPU != nil:
				gpus[d.GPU.Rank], buses[d.BusID] = place{cpu, above}, d.GPU.Rank
			case d.NIC != nil:
				nics[d.NIC.Nets[0].Dev] = place{cpu, above}
			}
			visit(cpu, append(slices.Clone(above), d.BusID), d.Devices)
		}
	}
	for i := range sys.CPUs {
		visit(i, nil, sys.CPUs[i].Devices)
	}
	return gpus, nics, buses
}

// distance is the word for two places. A machine does not tell host bridges
// apart.
func (a place) distance(b place) string {
	switch {
	case a.cpu != b.cpu:
		return "SYS"
	case len(a.above) == 0 || len(b.above) == 0 || a.above[0] != b.above[0]:
		return "PHB"
	case slices.Equal(a.above, b.above):
		return "PIX"
	}
	return "PXB"
}

func sameDistance(printed, built string) bool {
	return printed == built || printed == "NODE" && built == "PHB"
}

// checkDistances compares every PCI distance of a matrix with those of the
// machine that was made of it.
func checkDistances(t fataler, m *smi.Matrix, sys *topo.System) {
	gpus, nics, buses := places(sys)
	if len(gpus) != len(m.GPUs) || len(nics) != len(m.NICs) {
		t.Fatalf("%d GPUs and %d NICs, want %d and %d", len(gpus), len(nics), len(m.GPUs), len(m.NICs))
	}
	for i := range m.GPUs {
		for j := range m.GPUs {
			if w := m.GPU[i][j]; i != j && !strings.HasPrefix(w, "NV") && !sameDistance(w, gpus[i].distance(gpus[j])) {
				t.Fatalf("GPU%d and GPU%d are %s, want %s", i, j, gpus[i].distance(gpus[j]), w)
			}
		}
		for j := range m.NICs {
			if w := m.NIC[i][j]; !sameDistance(w, gpus[i].distance(nics[j])) {
				t.Fatalf("GPU%d and NIC%d are %s, want %s", i, j, gpus[i].distance(nics[j]), w)
			}
		}
	}
	for i := range m.NICs {
		for j := range m.NICs {
			if w := m.Between[i][j]; i != j && w != "" && !sameDistance(w, nics[i].distance(nics[j])) {
				t.Fatalf("NIC%d and NIC%d are %s, want %s", i, j, nics[i].distance(nics[j]), w)
			}
		}
	}
	checkNVLinks(t, m, sys, buses)
}

type fataler interface{ Fatalf(string, ...any) }

// checkNVLinks counts the links of each two GPUs, direct ones or those to a
// switch.
func checkNVLinks(t fataler, m *smi.Matrix, sys *topo.System, buses map[topo.BusID]int) {
	direct, switched := map[[2]int]int{}, map[int]int{}
	var visit func(devices []topo.Device)
	visit = func(devices []topo.Device) {
		for _, d := range devices {
			if d.GPU != nil {
				for _, l := range d.GPU.NVLinks {
					if l.Class == topo.ClassNVSwitch {
						switched[d.GPU.Rank] += l.Count
						continue
					}
					direct[[2]int{d.GPU.Rank, buses[l.Target]}] += l.Count
				}
			}
			visit(d.Devices)
		}
	}
	for _, c := range sys.CPUs {
		visit(c.Devices)
	}
	for i := range m.GPUs {
		for j := range m.GPUs {
			if i == j {
				continue
			}
			got := max(direct[[2]int{i, j}], min(switched[i], switched[j]))
			want := 0
			_, _ = fmt.Sscanf(m.GPU[i][j], "NV%d", &want)
			if got != want {
				t.Fatalf("GPU%d and GPU%d have %d NVLinks, want %d", i, j, got, want)
			}
		}
	}
}

func TestAnyMachineIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawMachine(t)
		text := render(t, d.matrix)
		got, err := smi.Parse(strings.NewReader(text), "drawn", smi.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got.Matrix.Notes = nil
		for i := range got.Matrix.GPUs {
			got.Matrix.GPUs[i].MemoryNUMA = ""
		}
		if diff := cmp.Diff(d.matrix, got.Matrix); diff != "" {
			t.Fatalf("-want +got:\n%s\n%s", diff, text)
		}
		checkDistances(t, got.Matrix, got.System)
	})
}
