package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtopo/ringtopo/topo/machines"
)

func words(t *testing.T, name string) Words {
	t.Helper()
	boxes, err := See([]*Machine{open(t, name)}, nil, noEnv())
	if err != nil {
		t.Fatal(err)
	}
	return SMIWords(boxes[0].System)
}

func table(rows [][]string) []string {
	var out []string
	for _, r := range rows {
		out = append(out, strings.Join(r, " "))
	}
	return out
}

// TestHybridCubeMesh compares with what nvidia-smi shows on a DGX-1V.
func TestHybridCubeMesh(t *testing.T) {
	w := words(t, "dgx-1v")
	want := []string{
		"X NV1 NV1 NV2 NV2 SYS SYS SYS",
		"NV1 X NV2 NV1 SYS NV2 SYS SYS",
		"NV1 NV2 X NV2 SYS SYS NV1 SYS",
		"NV2 NV1 NV2 X SYS SYS SYS NV1",
		"NV2 SYS SYS SYS X NV1 NV1 NV2",
		"SYS NV2 SYS SYS NV1 X NV2 NV1",
		"SYS SYS NV1 SYS NV1 NV2 X NV2",
		"SYS SYS SYS NV1 NV2 NV1 NV2 X",
	}
	if diff := cmp.Diff(want, table(w.GPU)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("PIX NODE SYS SYS", table(w.NIC)[0]); diff != "" {
		t.Error(diff)
	}
	if len(w.Assumed) != 1 || !strings.Contains(w.Assumed[0], "NODE") {
		t.Errorf("assumed: %q", w.Assumed)
	}
	if w := words(t, "v100x4"); len(w.Assumed) != 0 {
		t.Errorf("nothing was assumed for %v, yet: %q", w.GPU, w.Assumed)
	}
}

func TestSwitchedLinksAreCountedOnBothEnds(t *testing.T) {
	for name, want := range map[string]string{"dgx-2": "NV6", "dgx-a100": "NV12", "dgx-h100": "NV18", "h100x4": "NV6", "h200x2": "NV18"} {
		if got := words(t, name).GPU[0][1]; got != want {
			t.Errorf("%s: GPU 0 to 1 is %s, want %s", name, got, want)
		}
	}
}

func TestEveryMatrixIsSymmetric(t *testing.T) {
	for _, name := range machines.Names() {
		w := words(t, name)
		for i, row := range w.GPU {
			for j := range row {
				if row[j] != w.GPU[j][i] || (row[j] == "X") != (i == j) {
					t.Errorf("%s: %d to %d is %s, back %s", name, i, j, row[j], w.GPU[j][i])
				}
			}
		}
	}
}

func TestSwitchesAndSockets(t *testing.T) {
	const gpu = `<pci busid="0000:0%d:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="80" gdr="1"/></pci>`
	one := func(n string) string { return strings.ReplaceAll(gpu, "%d", n) }
	bridge := func(bus, below string) string {
		return `<pci busid="0000:` + bus + `:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">` + below + `</pci>`
	}
	const cpu = `<cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49" affinity="ff">`
	text := `<system version="1">` + cpu +
		bridge("a0", bridge("a1", one("0")+one("1"))+one("2")) + one("3") + `</cpu></system>`
	m, err := (Source{}).read(strings.NewReader(text), "box.xml")
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := See([]*Machine{m}, nil, noEnv())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"X PIX PXB PHB", "PIX X PXB PHB", "PXB PXB X PHB", "PHB PHB PHB X"}
	if diff := cmp.Diff(want, table(SMIWords(boxes[0].System).GPU)); diff != "" {
		t.Error(diff)
	}
}
