package smi_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/smi"
)

// Messages in full: where, what, and what to do about it.
func TestMessages(t *testing.T) {
	for text, want := range map[string]string{
		"": "m.txt: no matrix in it: no line names the columns GPU0, GPU1 and so on; " +
			"give the output of nvidia-smi topo -m, topology XML, or a built-in machine",
		"\n\tGPU0\tGPU1\n": "m.txt:2: the header is there, but no row follows; copy the whole output of nvidia-smi topo -m",
		"\tGPU0\tGPU1\nGPU0\t X \tPIX\n": "m.txt:2: the text ends before the row of GPU1; " +
			"copy the whole output of nvidia-smi topo -m, without line breaks inside rows",
		"\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPXB\t X \n": "m.txt:2: GPU0 is PIX to GPU1, but the other way round (line 3) it is PXB; " +
			"a distance has no direction; are columns shifted?",
		"\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU0\t X \tPIX\n": "m.txt:3: a second row GPU0; the first is line 2; give one matrix at a time",
		"\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tPIX\nGPU2\tSYS\tPIX\t X \n": "m.txt: GPU0 and GPU2 are SYS apart, " +
			"but nearer over others: GPU0 -PIX- GPU1 -PIX- GPU2; no PCI tree has these distances; was the text edited?",
		"No devices were found\n": "m.txt:1: nvidia-smi found no GPU; run nvidia-smi topo -m on the machine and give its output",
	} {
		_, err := smi.Parse(strings.NewReader(text), "m.txt", smi.Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
}

// A long word of the text is cut in messages, and control codes are escaped.
func TestMessagesQuoteSafely(t *testing.T) {
	word := "FOO" + strings.Repeat("\u00e9", 100) + "\x07"
	_, err := smi.Read(strings.NewReader("\tGPU0\tGPU1\nGPU0\t X \t"+word+"\nGPU1\tPIX\t X\n"), "m.txt")
	if err == nil || len(err.Error()) > 250 || !strings.Contains(err.Error(), `"FOO`) || strings.Contains(err.Error(), "\x07") {
		t.Errorf("%v", err)
	}
}

func TestErrorWithoutLineOrRemedy(t *testing.T) {
	e := &smi.Error{File: "f", Msg: "reading: lost", Err: io.ErrUnexpectedEOF}
	if e.Error() != "f: reading: lost" || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("%v", e)
	}
}

// UTF-16 with the higher byte first, and one with half a unit at its end.
func TestUTF16(t *testing.T) {
	big, little := "\xfe\xff", "\xff\xfe"
	for _, u := range utf16.Encode([]rune(strings.ReplaceAll(pair, "\n", "\r\n"))) {
		big += string([]byte{byte(u >> 8), byte(u)})
		little += string([]byte{byte(u), byte(u >> 8)})
	}
	for name, text := range map[string]string{"big": big, "little, cut": little + "x"} {
		if diff := cmp.Diff(pairMatrix, read(t, text)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// The largest text and the widest header that are read.
func TestLimits(t *testing.T) {
	text := pair + strings.Repeat(" ", smi.MaxBytes-len(pair))
	if diff := cmp.Diff(pairMatrix, read(t, text)); diff != "" {
		t.Error(diff)
	}
	if m := read(t, full(smi.MaxColumns, "PIX")); len(m.GPUs) != smi.MaxColumns {
		t.Errorf("%d GPUs, want %d", len(m.GPUs), smi.MaxColumns)
	}
	if _, err := smi.Read(strings.NewReader(full(smi.MaxColumns+1, "PIX")), "x"); !errors.Is(err, smi.ErrNoMatrix) && !errors.Is(err, smi.ErrTruncated) {
		t.Errorf("one column more: %v", err)
	}
}

// affinity is the mask that a machine has for a list of CPUs.
func affinity(t fataler, list string) string {
	m, err := smi.Parse(strings.NewReader("\tGPU0\tCPU Affinity\nGPU0\t X \t"+list+"\n"), "x", smi.Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return m.System.CPUs[0].Affinity
}

func TestMasks(t *testing.T) {
	for list, want := range map[string]string{
		"0": "00000001", "31": "80000000", "32": "00000001,00000000", "0-31": "ffffffff", "0-63": "ffffffff,ffffffff",
		"1,3,5": "0000002a", "4-4": "00000010", "0,0": "00000001", "5,1": "00000022",
		"16384": "00000001" + strings.Repeat(",00000000", 512), "16385": "", "0-16385": "",
	} {
		if got := affinity(t, list); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

// Any set of CPUs, written as a list, becomes a mask of these bits and no others.
func TestAnyMask(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 300), 1, 40, rapid.ID[int]).Draw(rt, "cpus")
		words := make([]string, len(cpus))
		for i, c := range cpus {
			words[i] = fmt.Sprint(c)
		}
		groups := strings.Split(affinity(rt, strings.Join(words, ",")), ",")
		var got []int
		slices.Reverse(groups)
		for g, text := range groups {
			var w uint32
			if _, err := fmt.Sscanf(text, "%08x", &w); err != nil || len(text) != 8 {
				rt.Fatalf("group %q", text)
			}
			for b := range 32 {
				if w>>b&1 == 1 {
					got = append(got, 32*g+b)
				}
			}
		}
		slices.Sort(cpus)
		if !slices.Equal(got, cpus) {
			rt.Fatalf("%v becomes %v", cpus, got)
		}
	})
}

// The oldest compute capability that has that many NVLinks.
func TestComputeCapabilityByLinks(t *testing.T) {
	for links, want := range map[int]int{1: 70, 6: 70, 7: 80, 12: 80, 13: 90, 18: 90} {
		sys := parse(t, full(2, fmt.Sprintf("NV%d", links)), smi.Options{})
		if got := sys.CPUs[0].Devices[0].GPU.SM; got != want {
			t.Errorf("NV%d: %d, want %d", links, got, want)
		}
		if !assumes(sys, fmt.Sprintf("sm=%d for all GPUs", want)) {
			t.Errorf("NV%d: not stated: %v", links, sys.Assumed)
		}
	}
}

// Everything that a matrix does not tell is listed, once.
func TestAllAssumptionsAreListed(t *testing.T) {
	const text = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\n"
	sys := parse(t, text, smi.Options{})
	for _, want := range []string{
		"NVLinks are direct", "sm=70 for all GPUs", "16 lanes of 8.0 GT/s", "NICs run at 100 Gb/s", "GPUDirect",
		"NUMA domain of GPU0, GPU1 numbered 0", "NUMA domain of NIC0 numbered 1", "share no PCI switch", "Intel", "rows missing or cut off (NIC0)",
	} {
		n := 0
		for _, a := range sys.Assumed {
			if strings.Contains(a.What, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q is stated %d times, want once: %v", want, n, sys.Assumed)
		}
	}
}

// Rows of NICs that are missing: distances between NICs follow from those to
// the GPUs.
func TestNICsWithoutRows(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"on one switch":    {"\tGPU0\tNIC0\tNIC1\nGPU0\t X \tPIX\tPIX\n", "0{(g0 n0 n1)}"},
		"below one switch": {"\tGPU0\tNIC0\tNIC1\nGPU0\t X \tPIX\tPXB\n", "0{((g0 n0) (n1))}"},
		"on two bridges":   {"\tGPU0\tNIC0\tNIC1\nGPU0\t X \tPHB\tNODE\n", "0{g0 n0 n1}"},
		"far": {"\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\t X \tSYS\tPIX\tSYS\nGPU1\tSYS\t X \tSYS\tPIX\n",
			"0{(g0 n0)}1{(g1 n1)}"},
	} {
		if got := shape(parse(t, test.text, smi.Options{})); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// GPUs with an NVSwitch beside one without NVLinks.
func TestSwitchBesideAGPUWithoutNVLinks(t *testing.T) {
	var b strings.Builder
	const n = 5
	for i := range n {
		fmt.Fprintf(&b, "\tGPU%d", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "\nGPU%d", i)
		for j := range n {
			switch {
			case i == j:
				b.WriteString("\tX")
			case i == n-1 || j == n-1:
				b.WriteString("\tSYS")
			default:
				b.WriteString("\tNV18")
			}
		}
	}
	sys := parse(t, b.String(), smi.Options{})
	if !assumes(sys, "NVLinks lead to an NVSwitch (4 GPUs see each other over NV18 each; --nvswitch no denies it)") {
		t.Errorf("assumed %v", sys.Assumed)
	}
	links := map[int][]topo.NVLink{}
	for _, c := range sys.CPUs {
		for _, d := range c.Devices {
			links[d.GPU.Dev] = d.GPU.NVLinks
		}
	}
	for dev := range n {
		switch l := links[dev]; {
		case dev == n-1 && len(l) != 0:
			t.Errorf("GPU%d: links %v, want none", dev, l)
		case dev < n-1 && (len(l) != 1 || l[0].Class != topo.ClassNVSwitch || l[0].Count != 18):
			t.Errorf("GPU%d: links %v, want 18 to a switch", dev, l)
		}
	}
}

// A selection is a machine of its own: fewer GPUs, all NICs, ranks from 0 on.
func TestSelectedMachine(t *testing.T) {
	m := read(t, "\tGPU0\tGPU1\tGPU2\tNIC0\nGPU0\t X \tPIX\tSYS\tSYS\nGPU1\tPIX\t X \tSYS\tSYS\nGPU2\tSYS\tSYS\t X \tPIX\n")
	sub, err := m.Select([]int{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := sub.System("x", smi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := shape(sys); got != "0{(g2 n0)}1{g1}" {
		t.Errorf("machine %s", got)
	}
	if g := sys.CPUs[1].Devices[0].GPU; g.Rank != 1 || g.Dev != 1 {
		t.Errorf("rank %d dev %d, want GPU1 as rank 1", g.Rank, g.Dev)
	}
	if len(m.GPUs) != 3 || len(m.GPU) != 3 {
		t.Error("selecting changed the matrix")
	}
}

// Names of a legend belong to labels whatever their case; labels without an
// entry keep their own.
func TestLegend(t *testing.T) {
	m := read(t, "\tGPU0\tNIC0\tnic1\tNIC2\nGPU0\t X \tPIX\tPIX\tPIX\n\nNIC Legend:\n  nic0: mlx5_9\n  NIC1 : roce_7\n")
	var names []string
	for _, n := range m.NICs {
		names = append(names, n.Label+"="+n.Name)
	}
	if got := strings.Join(names, " "); got != "NIC0=mlx5_9 nic1=roce_7 NIC2=NIC2" {
		t.Errorf("names %s", got)
	}
}
