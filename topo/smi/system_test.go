package smi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/smi"
)

// shape draws a machine as text: sockets in braces with their NUMA number,
// switches in parentheses.
func shape(sys *topo.System) string {
	var b strings.Builder
	for _, c := range sys.CPUs {
		fmt.Fprintf(&b, "%d{", c.NUMA)
		draw(&b, c.Devices)
		b.WriteString("}")
	}
	return b.String()
}

func draw(b *strings.Builder, devices []topo.Device) {
	for i, d := range devices {
		if i > 0 {
			b.WriteString(" ")
		}
		switch {
		case d.GPU != nil:
			fmt.Fprintf(b, "g%d", d.GPU.Dev)
		case d.NIC != nil:
			fmt.Fprintf(b, "n%d", d.NIC.Nets[0].Dev)
		default:
			b.WriteString("(")
			draw(b, d.Devices)
			b.WriteString(")")
		}
	}
}

func parse(t *testing.T, text string, o smi.Options) *topo.System {
	t.Helper()
	m, err := smi.Parse(strings.NewReader(text), "test.txt", o)
	if err != nil {
		t.Fatal(err)
	}
	checkDistancesUnlessForced(t, m, o)
	return m.System
}

func checkDistancesUnlessForced(t *testing.T, m *smi.Machine, o smi.Options) {
	t.Helper()
	if o.NVSwitch == nil {
		checkDistances(t, m.Matrix, m.System)
	}
}

func assumes(sys *topo.System, what string) bool {
	for _, a := range sys.Assumed {
		if strings.Contains(a.What, what) {
			return true
		}
	}
	return false
}

func TestTrees(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"one GPU":            {"\tGPU0\nGPU0\t X \n", "0{g0}"},
		"one switch":         {"\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n", "0{(g0 g1)}"},
		"two switches":       {"\tGPU0\tGPU1\nGPU0\t X \tPXB\nGPU1\tPXB\t X \n", "0{((g0) (g1))}"},
		"one bridge":         {"\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "0{g0 g1}"},
		"two bridges":        {"\tGPU0\tGPU1\nGPU0\t X \tNODE\nGPU1\tNODE\t X \n", "0{g0 g1}"},
		"two sockets":        {"\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n", "0{g0}1{g1}"},
		"numbers as printed": {"\tGPU0\tGPU1\tNUMA Affinity\nGPU0\t X \tSYS\t3\nGPU1\tSYS\t X \t1\n", "3{g0}1{g1}"},
		"first of several":   {"\tGPU0\tGPU1\tNUMA Affinity\nGPU0\t X \tSYS\t0-1\nGPU1\tSYS\t X \tN/A\n", "0{g0}1{g1}"},
		"one number, far":    {"\tGPU0\tGPU1\tNUMA Affinity\nGPU0\t X \tSYS\t0\nGPU1\tSYS\t X \t0\n", "0{g0}1{g1}"},
		"NVLink hides":       {"\tGPU0\tGPU1\tNUMA Affinity\nGPU0\t X \tNV2\t0\nGPU1\tNV2\t X \t1\n", "0{g0}1{g1}"},
		"NVLink, one socket": {"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-3\nGPU1\tNV2\t X \t0-3\n", "0{g0 g1}"},
		"NVLink, two lists":  {"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-3\nGPU1\tNV2\t X \t4-7\n", "0{g0}1{g1}"},
		"a NIC shows it":     {"\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV2\tPIX\nGPU1\tNV2\t X \tPIX\n", "0{(g0 g1 n0)}"},
		"a NIC apart":        {"\tGPU0\tNIC0\tNUMA Affinity\nGPU0\t X \tSYS\t0\nNIC0\tSYS\t X \n", "0{g0}1{n0}"},
		"NICs fill a gap":    {"\tGPU0\tGPU1\tNIC0\tNUMA Affinity\nGPU0\t X \tNV2\tSYS\t0\nGPU1\tNV2\t X \tPIX\t0\n", "0{g0}1{(g1 n0)}"},
		"other GPU numbers":  {"\tGPU5\tGPU2\nGPU5\t X \tPIX\nGPU2\tPIX\t X \n", "0{(g5 g2)}"},
	} {
		if got := shape(parse(t, test.text, smi.Options{})); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// full is the matrix of n GPUs that see each other over NVLinks.
func full(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\tGPU%d", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "\nGPU%d", i)
		for j := range n {
			if i == j {
				b.WriteString("\t X ")
				continue
			}
			b.WriteString("\t" + word)
		}
	}
	return b.String() + "\n"
}

func TestDirectOrSwitched(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		text     string
		o        smi.Options
		sm       int
		switched bool
	}{
		"4 x A100":            {full(4, "NV4"), smi.Options{}, 80, false},
		"4 x V100":            {full(4, "NV2"), smi.Options{}, 70, false},
		"4 x H100":            {full(4, "NV6"), smi.Options{}, 90, false},
		"8 x A100":            {full(8, "NV12"), smi.Options{}, 80, true},
		"8 x H100":            {full(8, "NV18"), smi.Options{}, 90, true},
		"16 x V100":           {full(16, "NV6"), smi.Options{}, 70, true},
		"3 of 16 x V100":      {full(3, "NV6"), smi.Options{SM: 70}, 70, true},
		"2 x H200":            {full(2, "NV18"), smi.Options{}, 90, false},
		"2 x H200, told":      {full(2, "NV18"), smi.Options{NVSwitch: &yes}, 90, true},
		"8 x H100, denied":    {full(8, "NV18"), smi.Options{NVSwitch: &no, SM: 90}, 90, false},
		"P100":                {full(4, "NV1"), smi.Options{SM: 60}, 60, false},
		"without NVLinks":     {full(2, "PHB"), smi.Options{}, 80, false},
		"a switch, not asked": {full(2, "PHB"), smi.Options{NVSwitch: &yes}, 80, false},
	} {
		sys := parse(t, test.text, test.o)
		for _, d := range sys.CPUs[0].Devices {
			if d.GPU.SM != test.sm {
				t.Errorf("%s: compute capability %d, want %d", name, d.GPU.SM, test.sm)
			}
			switched := len(d.GPU.NVLinks) == 1 && d.GPU.NVLinks[0].Class == topo.ClassNVSwitch
			if switched != test.switched {
				t.Errorf("%s: switched %v, links %v", name, switched, d.GPU.NVLinks)
			}
		}
	}
}

func TestTwoIslands(t *testing.T) {
	var b strings.Builder
	b.WriteString("\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\n")
	for i := range 6 {
		fmt.Fprintf(&b, "GPU%d", i)
		for j := range 6 {
			switch {
			case i == j:
				b.WriteString("\t X ")
			case i/3 == j/3:
				b.WriteString("\tNV18")
			default:
				b.WriteString("\tSYS")
			}
		}
		b.WriteString("\n")
	}
	sys := parse(t, b.String(), smi.Options{})
	if !assumes(sys, "2 groups of GPUs with an NVSwitch each") || !assumes(sys, "36 NVLinks, more than any has") {
		t.Errorf("assumed %v", sys.Assumed)
	}
	yes := true
	sys = parse(t, b.String(), smi.Options{NVSwitch: &yes})
	if !assumes(sys, "2 separate groups") || sys.CPUs[0].Devices[0].GPU.NVLinks[0].Count != 18 {
		t.Errorf("assumed %v", sys.Assumed)
	}
}

func TestDefaultsAndFlags(t *testing.T) {
	const text = "\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n"
	for _, test := range []struct {
		o           smi.Options
		speed, mbps int
		stated      []string
	}{
		{smi.Options{}, 120, 200000, []string{"sm=80", "16.0 GT/s PCIe", "200 Gb/s", "GPUDirect"}},
		{smi.Options{SM: 70}, 60, 100000, []string{"8.0 GT/s PCIe", "100 Gb/s"}},
		{smi.Options{SM: 90}, 240, 400000, []string{"32.0 GT/s PCIe", "400 Gb/s"}},
		{smi.Options{SM: 90, Speed: 480, Mbps: 50000}, 480, 50000, nil},
	} {
		sys := parse(t, text, test.o)
		sw := sys.CPUs[0].Devices[0]
		nic := sw.Devices[1]
		if sw.Speed != test.speed || nic.Speed != test.speed || nic.Width != 16 || nic.NIC.Nets[0].Mbps != test.mbps {
			t.Errorf("%+v: %+v", test.o, sw)
		}
		for _, what := range test.stated {
			if !assumes(sys, what) {
				t.Errorf("%+v: %s is not stated in %v", test.o, what, sys.Assumed)
			}
		}
		if test.o.SM != 0 && assumes(sys, "sm=") || test.o.Mbps != 0 && assumes(sys, "Gb/s") {
			t.Errorf("%+v: stated although given: %v", test.o, sys.Assumed)
		}
	}
}

func TestProcessors(t *testing.T) {
	sys := parse(t, "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tSYS\t0-71\t0\t\t4\nGPU1\tSYS\t X \t72-143\t1\t\t12\n", smi.Options{})
	if c := sys.CPUs[0]; c.Arch != topo.ArchARM || c.Vendor != topo.VendorUndefined || !assumes(sys, "Arm") {
		t.Errorf("Grace is %v %v, assumed %v", c.Arch, c.Vendor, sys.Assumed)
	}
	sys = parse(t, "\tGPU0\tCPU Affinity\nGPU0\t X \t0-3,33,64-65\n", smi.Options{})
	if c := sys.CPUs[0]; c.Arch != topo.ArchX86 || c.Affinity != "00000003,00000002,0000000f" {
		t.Errorf("processor %+v", c)
	}
	for _, list := range []string{"N/A", "3-1", "0-99999", "a", "0-", "0,,1"} {
		sys = parse(t, "\tGPU0\tCPU Affinity\nGPU0\t X \t"+list+"\n", smi.Options{})
		if c := sys.CPUs[0]; c.Affinity != "" {
			t.Errorf("list %s gives mask %s", list, c.Affinity)
		}
	}
}

func TestBusIDsAreDistinct(t *testing.T) {
	var b strings.Builder
	const n = 200
	for i := range n {
		fmt.Fprintf(&b, "\tGPU%d", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "\nGPU%d", i)
		for j := range n {
			word := " X "
			if i != j {
				word = "PXB"
			}
			b.WriteString("\t" + word)
		}
	}
	sys := parse(t, b.String(), smi.Options{})
	seen := map[topo.BusID]bool{}
	var visit func(devices []topo.Device)
	visit = func(devices []topo.Device) {
		for _, d := range devices {
			if seen[d.BusID] || d.BusID == 0 || topo.ParseBusID(d.BusID.String()) != d.BusID {
				t.Fatalf("bus id %s", d.BusID)
			}
			seen[d.BusID] = true
			visit(d.Devices)
		}
	}
	visit(sys.CPUs[0].Devices)
	if len(seen) != 2*n+1 {
		t.Errorf("%d devices", len(seen))
	}
}
