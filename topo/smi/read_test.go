package smi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo/smi"
)

func read(t *testing.T, text string) *smi.Matrix {
	t.Helper()
	m, err := smi.Read(strings.NewReader(text), "test.txt")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pair is a matrix of two GPUs and a card, as a driver prints it.
const pair = "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n" +
	"GPU0\t X \tNV4\tPIX\t0-7,16-23\t0\t\tN/A\n" +
	"GPU1\tNV4\t X \tSYS\t8-15,24-31\t1\t\tN/A\n" +
	"NIC0\tPIX\tSYS\t X \t\t\t\t\n" +
	"\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect\n\nNIC Legend:\n\n  NIC0: mlx5_3\n"

var pairMatrix = &smi.Matrix{
	GPUs:    []smi.GPU{{Dev: 0, CPUs: "0-7,16-23", NUMA: "0", MemoryNUMA: "N/A"}, {Dev: 1, CPUs: "8-15,24-31", NUMA: "1", MemoryNUMA: "N/A"}},
	NICs:    []smi.NIC{{Label: "NIC0", Name: "mlx5_3"}},
	GPU:     [][]string{{"X", "NV4"}, {"NV4", "X"}},
	NIC:     [][]string{{"PIX"}, {"SYS"}},
	Between: [][]string{{"X"}},
}

// TestWritings reads the same matrix in the ways that people write it.
func TestWritings(t *testing.T) {
	plain := strings.NewReplacer("\x1b[4m", "", "\x1b[0m", "").Replace(pair)
	body, legend, _ := strings.Cut(plain, "\nLegend")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	utf := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(plain)) {
		utf += string([]byte{byte(u), byte(u >> 8)})
	}
	for name, text := range map[string]string{
		"as printed":              pair,
		"without codes":           plain,
		"codes that lost a byte":  strings.ReplaceAll(pair, "\x1b", ""),
		"codes made visible":      strings.ReplaceAll(pair, "\x1b", "^["),
		"carriage returns":        strings.ReplaceAll(pair, "\n", "\r\n"),
		"byte order mark":         "\ufeff" + pair,
		"PowerShell":              utf,
		"hard spaces":             strings.ReplaceAll(plain, " X ", "\u00a0X\u00a0"),
		"spaces":                  strings.ReplaceAll(expand(body), "\t", " ") + "\nLegend" + legend,
		"indented":                indent(expand(body)) + "\nLegend" + legend,
		"one space":               squeeze(body) + "\nLegend" + legend,
		"a prompt before":         "$ nvidia-smi topo -m\n" + pair + "$ \n",
		"no leading tab":          strings.TrimPrefix(plain, "\t"),
		"legend first":            "NIC Legend:\n  NIC0: mlx5_3\n" + body,
		"legend in one line":      body + "\nNIC0 = mlx5_3    NIC1: other\n",
		"rows in another order":   strings.Join([]string{lines[0], lines[3], lines[2], lines[1]}, "\n") + "\nLegend" + legend,
		"rules between rows":      "====\n" + strings.Join(lines, "\n------\n") + "\n====\nLegend" + legend,
		"dots and lower case":     strings.NewReplacer("GPU1\tNV4", "gpu1.\tnv4.", "PIX\t0", "pix\t0").Replace(pair),
		"NUMA in words":           strings.NewReplacer("\t1\t\tN/A", "\tNUMA 1\t\tN/A").Replace(pair),
		"another table behind":    pair + "\n \tGPU0\tGPU1\t\n GPU0\tX\tOK\n GPU1\tOK\tX\n",
		"another table before":    " \tGPU0\tGPU1\t\n GPU0\tX\tOK\n GPU1\tOK\tX\n\n" + pair,
		"without a final newline": strings.TrimSuffix(pair, "\n"),
	} {
		got, err := smi.Read(strings.NewReader(text), name)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		if diff := cmp.Diff(pairMatrix, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// expand puts spaces in the place of tabs, as terminals do.
func expand(s string) string {
	var b strings.Builder
	for _, line := range strings.Split(s, "\n") {
		n := 0
		for _, c := range line {
			b.WriteRune(c)
			n++
			if c == '\t' {
				for n%8 != 0 {
					b.WriteByte(' ')
					n++
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.ReplaceAll(s, "\t", " "), "\n", "\n    ")
}

func squeeze(s string) string {
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestOldWordsAndColumns(t *testing.T) {
	m := read(t, "\tGPU0\tGPU1\tmlx4_0\tCPU Affinity\nGPU0\t X \tSOC\tPHB\t0-5\nGPU1\tSOC\t X \tSOC\t6-11\nmlx4_0\tPHB\tSOC\t X\n")
	want := &smi.Matrix{
		GPUs: []smi.GPU{{Dev: 0, CPUs: "0-5"}, {Dev: 1, CPUs: "6-11"}}, NICs: []smi.NIC{{Label: "mlx4_0", Name: "mlx4_0"}},
		GPU: [][]string{{"X", "SYS"}, {"SYS", "X"}}, NIC: [][]string{{"PHB"}, {"SYS"}}, Between: [][]string{{"X"}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNamesOfNICs(t *testing.T) {
	for _, name := range []string{"NIC0", "mlx5_bond_0", "rocep1s0f0np0", "hfi1_0", "rxe_eth", "ibp-0.1"} {
		m := read(t, "\tGPU0\t"+name+"\nGPU0\t X \tPIX\n"+name+"\tPIX\t X \n")
		if len(m.NICs) != 1 || m.NICs[0].Name != name || m.Between[0][0] != "X" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestTails(t *testing.T) {
	const three = "CPU Affinity    NUMA Affinity   GPU NUMA ID"
	for _, test := range []struct{ header, row, cpus, numa, memory string }{
		{"\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID", "\t0-3\t0\t\tN/A", "0-3", "0", "N/A"},
		{"\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID", "\t\t\t\tN/A", "", "", "N/A"},
		{"\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID", "\t0\t0\t4", "0", "0", "4"},
		{"\tCPU Affinity\tNUMA Affinity", "\t0-23\tN/A", "0-23", "N/A", ""},
		{"\tCPU Affinity\tNUMA Affinity", "\t0-23", "0-23", "", ""},
		{"\tNUMA Affinity", "\tNUMA 3", "", "3", ""},
		{"", "", "", "", ""},
		{"   " + three, "    0-31            0               N/A", "0-31", "0", "N/A"},
		{"   " + three, "    0-31    0               N/A", "0-31", "0", "N/A"},
		{"   " + three, "                                    N/A", "", "", "N/A"},
		{"   " + three, "                    0-1             1", "", "0-1", "1"},
		{"   " + three, "    0,2, 4          0               N/A", "0,2,4", "0", "N/A"},
	} {
		m := read(t, "        GPU0 "+test.header+"\nGPU0     X   "+test.row+"\n")
		want := smi.GPU{CPUs: test.cpus, NUMA: test.numa, MemoryNUMA: test.memory}
		if diff := cmp.Diff([]smi.GPU{want}, m.GPUs); diff != "" {
			t.Errorf("%q %q: -want +got:\n%s", test.header, test.row, diff)
		}
	}
}

func TestRowsOfNICs(t *testing.T) {
	const gpus = "\tGPU3\tNIC0\tNIC1\n" + "GPU3\t X \tPIX\tSYS\n"
	for _, test := range []struct {
		text, note string
		between    [][]string
	}{
		{gpus, "NIC0, NIC1", [][]string{{"", ""}, {"", ""}}},
		{gpus + "NIC0\tPIX\t X \tSYS\nNIC1\tSY", "NIC1", [][]string{{"X", "SYS"}, {"", ""}}},
		{gpus + "NIC0\tPIX\t X \tSYS\nNIC1\tSYS\tSYS\t X", "", [][]string{{"X", "SYS"}, {"SYS", "X"}}},
	} {
		m := read(t, test.text)
		if diff := cmp.Diff(test.between, m.Between); diff != "" {
			t.Errorf("%q: -want +got:\n%s", test.text, diff)
		}
		if (len(m.Notes) > 0) != (test.note != "") || len(m.Notes) > 0 && !strings.Contains(m.Notes[0].What, "("+test.note+")") {
			t.Errorf("%q: notes %v", test.text, m.Notes)
		}
	}
}

func TestSelect(t *testing.T) {
	m := read(t, "  GPU0 GPU5 GPU2 NIC0\nGPU0 X NV1 NV2 PIX\nGPU5 NV1 X NV3 PXB\nGPU2 NV2 NV3 X PHB\n")
	got, err := m.Select([]int{2, 0})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"X", "NV2"}, {"NV2", "X"}}, got.GPU); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"PHB"}, {"PIX"}}, got.NIC); diff != "" {
		t.Error(diff)
	}
	if _, err := m.Select([]int{1}); err == nil || !strings.Contains(err.Error(), "GPU1") {
		t.Errorf("error %v", err)
	}
}

func TestRefused(t *testing.T) {
	const head = "\tGPU0\tGPU1\tCPU Affinity\n"
	for name, test := range map[string]struct {
		text string
		kind error
		line int
		want string
	}{
		"nothing":             {"", smi.ErrNoMatrix, 0, "no line names the columns"},
		"prose":               {"the quick brown fox\n", smi.ErrNoMatrix, 0, "no matrix"},
		"log of NCCL":         {"NCCL version 2.22.3+cuda12.5\n", smi.ErrNoMatrix, 1, "a log of NCCL"},
		"line of a log":       {"\nnode1:71:95 [0] NCCL INFO Channel 00/24 :    0   1\n", smi.ErrNoMatrix, 2, "NCCL_TOPO_DUMP_FILE"},
		"sandbox":             {head + "Failed to run topology matrix\n", smi.ErrNoMatrix, 2, "/sys/bus/pci/devices"},
		"old Windows":         {"ERROR: Option -m is missing its value. Please run\n", smi.ErrNoMatrix, 1, "Windows"},
		"argument":            {"The -i command line argument must be used in conjunction with -n or -p.\n", smi.ErrNoMatrix, 1, "without -i"},
		"no driver":           {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", smi.ErrNoMatrix, 1, "driver"},
		"no GPU":              {"No devices were found\n", smi.ErrNoMatrix, 1, "found no GPU"},
		"no program":          {"\nbash: nvidia-smi: command not found\n", smi.ErrNoMatrix, 2, "did not find nvidia-smi"},
		"links":               {"GPU 0: NVIDIA H200 (UUID: GPU-x)\n\t Link 0: 26.562 GB/s\n", smi.ErrNoMatrix, 2, "nvidia-smi nvlink"},
		"overview":            {"| NVIDIA-SMI 580.1  Driver Version: 580.1  CUDA Version: 13.0 |\n", smi.ErrNoMatrix, 1, "overview"},
		"measured":            {"Bidirectional P2P=Enabled Latency (P2P Writes) Matrix (us)\n", smi.ErrNoMatrix, 1, "bandwidth"},
		"who may copy":        {"\tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n", smi.ErrNoMatrix, 2, "topo -p2p"},
		"nobody knows":        {"   GP0 GP1\nGP0 X N/A\nGP1. N/A X\n", smi.ErrNoMatrix, 2, "N/A"},
		"header alone":        {head, smi.ErrTruncated, 1, "no row follows"},
		"no header":           {"GPU0\t X \tPIX\nGPU1\tPIX\t X \n", smi.ErrTruncated, 1, "without a header"},
		"a row missing":       {head + "GPU0\t X \tPIX\t0\n", smi.ErrTruncated, 2, "before the row of GPU1"},
		"a row cut":           {head + "GPU0\t X \tPIX\t0\nGPU1\tPI", smi.ErrTruncated, 2, "before the row of GPU1"},
		"a row cut later":     {head + "GPU0\t X \tPIX\t0\nGPU1\tPIX", smi.ErrTruncated, 3, "1 cell for 2 devices"},
		"a strange cell":      {head + "GPU0\t X \tFOO\t0\nGPU1\tPIX\t X \n", smi.ErrTruncated, 2, `then "FOO"`},
		"a column missing":    {head + "GPU0\t X \tPIX\tSYS\t0\nGPU1\tPIX\t X \tSYS\t0\n", smi.ErrNonsense, 2, "more cells"},
		"a row twice":         {head + "GPU0\t X \tPIX\nGPU0\t X \tPIX\n", smi.ErrNonsense, 3, "a second row GPU0"},
		"a column twice":      {"\tGPU0\tGPU0\nGPU0\t X \t X \n", smi.ErrNonsense, 1, "GPU0 twice"},
		"one GPU, two names":  {"\tGPU0\tGP0\nGPU0\t X \tPIX\nGP0\tPIX\t X \n", smi.ErrNonsense, 1, "one GPU"},
		"two directions":      {head + "GPU0\t X \tPIX\nGPU1\tPXB\t X \n", smi.ErrNonsense, 2, "the other way round (line 3) it is PXB"},
		"columns shifted":     {head + "GPU0\tPIX\t X \nGPU1\t X \tPIX\n", smi.ErrNonsense, 2, "only a device itself is X"},
		"X to a NIC":          {"\tGPU0\tNIC0\nGPU0\t X \t X \n", smi.ErrNonsense, 2, "only a device itself is X"},
		"NVLink to a NIC":     {"\tGPU0\tNIC0\nGPU0\t X \tNV4\nNIC0\tNV4\t X \n", smi.ErrNonsense, 2, "NVLinks join GPUs only"},
		"NIC the other way":   {"\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tSYS\t X \n", smi.ErrNonsense, 2, "NIC0"},
		"too large":           {strings.Repeat("x", smi.MaxBytes+1), smi.ErrNoMatrix, 0, "bytes"},
		"too many columns":    {strings.Repeat("GPU1 ", smi.MaxColumns+1) + "\n", smi.ErrNoMatrix, 0, "no matrix"},
		"no tree of switches": {"\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tPIX\nGPU2\tSYS\tPIX\t X \n", smi.ErrNonsense, 0, "GPU0 -PIX- GPU1 -PIX- GPU2"},
		"no tree of bridges":  {"\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNODE\tPHB\nGPU1\tNODE\t X \tPHB\nNIC0\tPHB\tPHB\t X \n", smi.ErrNonsense, 0, "NODE apart"},
	} {
		_, err := smi.Parse(strings.NewReader(test.text), "file.txt", smi.Options{})
		var e *smi.Error
		if !errors.As(err, &e) || !errors.Is(err, test.kind) || e.Line != test.line || !strings.Contains(err.Error(), test.want) ||
			!strings.HasPrefix(err.Error(), "file.txt:") || e.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	broken := errors.New("broken disk")
	if _, err := smi.Read(failing{broken}, "x"); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func ExampleParse() {
	m, err := smi.Parse(strings.NewReader("\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n"), "two.txt", smi.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Matrix.GPU)
	for _, a := range m.System.Assumed {
		fmt.Println("assumed:", a.What)
	}
	// Output:
	// [[X NV12] [NV12 X]]
	// assumed: NVLinks are direct (no GPU has more than 12; --nvswitch yes denies it)
	// assumed: sm=80 for all GPUs (a matrix does not say)
	// assumed: PCI devices have 16 lanes of 16.0 GT/s PCIe
	// assumed: NUMA domain of GPU0, GPU1 numbered 0
	// assumed: GPUs that NVLinks join share no PCI switch unless a NIC shows it (the matrix has no PCI distance for them)
}
