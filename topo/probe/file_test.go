package probe

import (
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

func fileOf(t *testing.T, text string) *ncclxml.Document {
	t.Helper()
	doc, err := ncclxml.Decode(strings.NewReader(text), "given.xml")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// A topology file is completed: what it says stays, but for the class of a
// device that sysfs shows, and what leads to no GPU of the job and no network
// goes.
func TestTopologyFile(t *testing.T) {
	o := stageText(t, switched)
	o.File = fileOf(t, `<system version="1">
<cpu numaid="9" affinity="" arch="arm64" host_hash="0x5">
<pci busid="0000:20:00.0" class="0x068000" vendor="0x1" link_speed="64.0 GT/s PCIe">
<pci busid="0000:21:00.0" class="0x030000" link_width="4"><gpu dev="5" sm="70" rank="8"></gpu></pci>
<pci busid="0000:30:00.0" class="0x030000"><gpu dev="6" sm="70" rank="9"/></pci>
<unknown/>
</pci>
</cpu>
<cpu numaid="1"><pci busid="0000:40:00.0"/></cpu>
</system>`)
	o.has(`<cpu numaid="9" affinity="" arch="arm64" host_hash="0x5" vendor="AuthenticAMD" familyid="175" modelid="1">`,
		`<pci busid="0000:20:00.0" class="0x060400" vendor="0x1" link_speed="64.0 GT/s PCIe" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096" link_width="16">`,
		`<pci busid="0000:1f:00.0"`, `<net name="n0" dev="0"`,
		`<pci busid="0000:21:00.0" class="0x030200" link_width="4" vendor="0x10de"`, `link_speed="16.0 GT/s PCIe">`,
		`<gpu dev="5" sm="70" rank="0" gdr="1"/>`)
	for _, gone := range []string{"0000:30:00.0", "0000:40:00.0", "unknown", "keep"} {
		o.lacks(gone)
	}
}

func TestTopologyFileDecidesLinks(t *testing.T) {
	o := stageText(t, oneGPU)
	o.Host.Devices[0].NVLinks = []NVLink{{P2PSupported: 1, State: 1, RemoteBusIDLegacy: "0000:11:00.0"}}
	o.Host.Devices[0].C2CLinks = []C2C{{Status: 1, MaxBW: 7}}
	o.has(`<nvlink target="0000:11:00.0" count="1" tclass="0x068000"/>`)
	o.lacks("c2c") // below compute capability 9.0
	o.File = fileOf(t, `<system version="1"><cpu numaid="0"><pci busid="0000:10:00.0"><gpu sm="90"><nvlink target="0000:10:00.0" count="4"/></gpu></pci></cpu></system>`)
	o.has(`<gpu sm="90" dev="0" rank="0" gdr="1">`, `<nvlink target="0000:10:00.0" count="4" tclass="0x030200"/>`, `<c2c bw="7" count="1"/>`)
	o.lacks("0000:11:00.0")
}

func TestTopologyFileHidesGPU(t *testing.T) {
	o := stageText(t, switched)
	o.File = fileOf(t, `<system version="1"><cpu numaid="3"><pci busid="0000:20:00.0"><pci busid="0000:21:00.0"><gpu dev="-1"/></pci></pci></cpu></system>`)
	o.lacks("<gpu")
	o.has("0000:1f:00.0")
}

func TestTopologyFileNamesNets(t *testing.T) {
	o := stageText(t, switched)
	o.File = fileOf(t, `<system version="1"><cpu numaid="3"><nic><net name="n0" speed="5" gdr="1"/><net name="other"/></nic></cpu></system>`)
	o.has(`<net name="n0" speed="5" gdr="1" dev="0" port="1" latency="0.000000" guid="0x7" maxconn="8"/>`, `<net name="other"/>`)
	o.lacks("0000:1f:00.0")
}

func TestTopologyFileWithoutNUMANumber(t *testing.T) {
	o := stageText(t, switched)
	o.File = fileOf(t, `<system version="1"><cpu><pci busid="0000:20:00.0"/></cpu></system>`)
	if _, err := o.Probe(o.ranks); err == nil || !strings.Contains(err.Error(), "line 1") || !strings.Contains(err.Error(), "numaid") {
		t.Errorf("error: %v", err)
	}
}

// Elements that ranks found themselves and that come from the file in different
// forms are never one.
func TestFusionMindsTheForm(t *testing.T) {
	fused := fileOf(t, `<system version="1"><cpu numaid="0"><nic></nic><nic/></cpu></system>`).Root
	second := fileOf(t, `<system version="1"><cpu numaid="0"><nic/><nic></nic></cpu></system>`).Root
	second.Children[0].Children = append(second.Children[0].Children, &ncclxml.Element{Name: "nic"})
	fuse(fused, second)
	fuse(fused, second)
	if n := len(fused.Children[0].Children); n != 3 {
		t.Errorf("%d nic elements, want 3", n)
	}
}

func TestFusionMindsAttributes(t *testing.T) {
	a := fileOf(t, `<system version="1"><cpu numaid="0" arch="x"></cpu></system>`).Root
	for _, text := range []string{
		`<system version="1"><cpu arch="x" numaid="0"></cpu></system>`,            // the same
		`<system version="1"><cpu arch="x" numaid="1"></cpu></system>`,            // another value
		`<system version="1"><cpu arch="x"></cpu></system>`,                       // one less
		`<system version="1"><cpu arch="x" numaid="0" vendor="v"></cpu></system>`, // one more
	} {
		fuse(a, fileOf(t, text).Root)
	}
	if n := len(a.Children); n != 4 {
		t.Errorf("%d cpu elements, want 4", n)
	}
}

func TestProvidedFile(t *testing.T) {
	s := play(t, "testdata/machines/lo-only")
	files := s.Files.(*Tree)
	name := "/var/run/nvidia-topologyd/virtualTopology.xml"
	files.AddFile(name, []byte(`<system version="1"><cpu numaid="77" arch="arm64" affinity="1"><nic><net name="lo" speed="3"/></nic></cpu></system>`))
	r, err := Live(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := r.Document.Root.Children[0].Get("numaid"); v != "77" {
		t.Errorf("the file that the virtual machine provides is not used")
	}
	files.AddFile(name, []byte("no XML"))
	if _, err := Live(s, Options{}); err != nil {
		t.Errorf("a bad file is not passed over: %v", err)
	}
}
