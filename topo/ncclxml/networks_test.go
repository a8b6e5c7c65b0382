package ncclxml

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringtopo/ringtopo/topo"
)

// TestNetworksAreCountedWithoutGaps selects a job on a file whose network
// numbers have holes, as one edited by hand has.
func TestNetworksAreCountedWithoutGaps(t *testing.T) {
	const file = `<system version="1">
  <cpu numaid="0" arch="ppc64">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
      <gpu dev="0" sm="70" rank="0" gdr="1"/>
    </pci>
    <nic>
      <net name="c" dev="20"/>
      <net name="a" dev="0x3"/>
      <net name="b" dev="7"/>
      <net name="b2" dev="7"/>
    </nic>
  </cpu>
</system>
`
	doc, err := Decode(strings.NewReader(file), "gaps.xml")
	if err != nil {
		t.Fatal(err)
	}
	job, err := doc.Select(nil)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := job.System()
	if err != nil {
		t.Fatal(err)
	}
	var devs []int
	for _, n := range sys.CPUs[0].Devices[1].NIC.Nets {
		devs = append(devs, n.Dev)
	}
	if want := []int{2, 0, 1, 1}; !slices.Equal(devs, want) {
		t.Errorf("networks %v, want %v", devs, want)
	}
	if !slices.ContainsFunc(sys.Assumed, func(a topo.Assumption) bool {
		return strings.Contains(a.What, "is network 2")
	}) {
		t.Errorf("not told: %v", sys.Assumed)
	}
	if v, _ := find(doc.Root, "net").Get("dev"); v != "20" {
		t.Errorf("the file itself changed: dev %s", v)
	}
}
