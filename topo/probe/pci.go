package probe

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// Lengths of a bus id 0000:00:00.0 and of its domain and bus. Longer ids, those
// of a domain with five digits, are cut there, so that sysfs is asked for
// something else.
const (
	busIDLen = 12
	busLen   = 7
)

// pciPath gives the folder of a PCI device below /sys/devices, or "" if sysfs
// does not show it.
func pciPath(f Files, busID string) string {
	id := strings.ToLower(busID)
	name := "/sys/class/pci_bus/" + id
	if len(id) >= busLen {
		name = "/sys/class/pci_bus/" + id[:busLen] + "/../../" + id[:min(len(id), busIDLen)]
	}
	dir, err := realPath(f, name)
	if err != nil {
		return ""
	}
	return dir
}

// maxDepth is how many devices may hang off each other; real machines have three
// or four, and recordings may have circles.
const maxDepth = 64

// completePCI fills in what sysfs says of a PCI device, and hangs it into the
// tree if it is not yet, with the switches and the socket above it.
func (b *builder) completePCI(e *ncclxml.Element) error {
	for range maxDepth {
		parent, err := b.completeOne(e)
		if err != nil {
			return err
		}
		if parent.Name != "pci" {
			return b.completeCPU(parent)
		}
		e = parent
	}
	busID, _ := e.Get("busid")
	return fmt.Errorf("pci %s: more than %d devices above each other; is there a circle in sysfs?", busID, maxDepth)
}

// completeOne completes a device alone and gives what it hangs off.
func (b *builder) completeOne(e *ncclxml.Element) (*ncclxml.Element, error) {
	busID, _ := e.Get("busid")
	dir := pciPath(b.files, busID)
	b.describePCI(e, dir)
	if vendor, _ := e.Get("vendor"); vendor == broadcom {
		b.addPeers(e, busID)
	}
	if parent := b.parent[e]; parent != nil {
		return parent, nil
	}
	parent, err := b.parentOf(busID, dir)
	if err != nil {
		return nil, err
	}
	b.hang(e, parent)
	return parent, nil
}

// describePCI sets the attributes of a device whose folder is dir. Only its
// class replaces what a file says.
func (b *builder) describePCI(e *ncclxml.Element, dir string) {
	if dir != "" {
		if class := text(b.files, dir+"/class"); class != "" {
			e.Set("class", class)
		}
		for _, key := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
			if v := text(b.files, dir+"/"+key); v != "" {
				setIfUnset(e, key, v)
			}
		}
	}
	setIfUnset(e, "link_speed", linkSpeed(b.files, dir))
	setIfUnset(e, "link_width", linkWidth(b.files, dir))
}

// linkSpeed gives the text of the slower of a device and the port it is plugged
// into. A text that is not a number counts as infinitely fast.
func linkSpeed(f Files, dir string) string {
	if dir == "" {
		return ""
	}
	device := text(f, dir+"/max_link_speed")
	port := text(f, path.Dir(dir)+"/max_link_speed")
	if speedNumber(port) < speedNumber(device) {
		return port
	}
	return device
}

func speedNumber(s string) float32 {
	v := cnum.Float(s)
	if digits := strings.TrimLeft(s, " \t\n\v\f\r+-."); v == 0 && !strings.HasPrefix(digits, "0") {
		return math.MaxFloat32
	}
	return v
}

// linkWidth gives the smaller number of lanes of a device and its port. One that
// cannot be read counts as 0.
func linkWidth(f Files, dir string) string {
	if dir == "" {
		return ""
	}
	device := cnum.Int32(text(f, dir+"/max_link_width"))
	port := cnum.Int32(text(f, path.Dir(dir)+"/max_link_width"))
	return strconv.Itoa(min(device, port))
}

// broadcom is the vendor of switches that are joined by links of their own.
const broadcom = "0x1000"

const switchLinks = "/sys/kernel/pci_switch_link/"

// addPeers adds the switches that a driver says are joined to this one.
func (b *builder) addPeers(e *ncclxml.Element, busID string) {
	id := strings.ToLower(busID)
	dir, err := realPath(b.files, switchLinks+"virtual_switch_links/"+id[:min(len(id), busIDLen)])
	if err != nil {
		return
	}
	names, err := b.files.ReadDir(dir)
	if err != nil {
		return
	}
	for _, peer := range names {
		if len(peer) == busIDLen && pciPath(b.files, peer) != "" && childWith(e, "pcilink", "target", peer) == nil {
			b.add(e, "pcilink", ncclxml.Attr{Key: "target", Value: peer})
		}
	}
}

// parentOf gives what a device hangs off. From its folder the way leads up past
// the port it is plugged into to the switch of that port, or to the socket if
// the port belongs to the root complex.
func (b *builder) parentOf(busID, dir string) (*ncclxml.Element, error) {
	if dir == "" {
		if cpu := b.find("cpu", "numaid", "-1"); cpu != nil {
			return cpu, nil
		}
		return b.addCPU("-1"), nil
	}
	for up, levels := path.Dir(dir), 1; up != "/"; up, levels = path.Dir(up), levels+1 {
		switch name := path.Base(up); {
		case !isBusID(name):
			return b.cpu(text(b.files, dir+"/numa_node")), nil
		case levels == 2:
			return b.pci(name), nil
		}
	}
	return nil, fmt.Errorf("pci %s: no root complex above %s", busID, dir)
}

// isBusID tells whether a folder of sysfs is a PCI device: 0000:00:00.0.
func isBusID(s string) bool {
	if len(s) != busIDLen {
		return false
	}
	for i, c := range []byte(s) {
		switch i {
		case 4, 7:
			if c != ':' {
				return false
			}
		case 10:
			if c != '.' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}
