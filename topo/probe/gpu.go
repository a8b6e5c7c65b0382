package probe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// success is NVML's return code for it.
const success = 0

// addGPU completes the rank's own GPU. Other GPUs are left to their own ranks.
func (b *builder) addGPU(r Rank) error {
	busID := topo.ParseBusID(r.BusID)
	pci := b.pci(busID.String())
	setIfUnset(pci, "class", "0x03")
	if err := b.completePCI(pci); err != nil {
		return err
	}
	dev := b.host.device(busID)
	if dev == nil {
		return fmt.Errorf("rank %d: NVML knows no GPU %s; is it in this container?", r.Rank, busID)
	}
	gpu := b.child(pci, "gpu")
	setIfUnset(gpu, "dev", strconv.Itoa(dev.Index))
	if v, _ := gpu.Get("dev"); cnum.Int32(v) == -1 {
		return nil
	}
	setIfUnset(gpu, "sm", strconv.Itoa(dev.ComputeCapability[0]*10+dev.ComputeCapability[1]))
	v, _ := gpu.Get("sm")
	b.addLinks(gpu, dev, cnum.Int32(v))
	gpu.Set("keep", "1")
	gpu.Set("rank", strconv.Itoa(r.Rank))
	setIfUnset(gpu, "gdr", flag(b.gpuDirect(r)))
	return nil
}

// device gives what NVML says of the GPU at a PCI address, or nil.
func (h *Host) device(busID topo.BusID) *Device {
	for i := range h.Devices {
		if topo.ParseBusID(h.Devices[i].BusID) == busID {
			return &h.Devices[i]
		}
	}
	return nil
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// addLinks adds the GPU's NVLinks and chip-to-chip links if the file that it
// came from has none.
func (b *builder) addLinks(gpu *ncclxml.Element, dev *Device, sm int) {
	if gpu.Child("nvlink") == nil {
		b.addNVLinks(gpu, dev, maxNVLinks(sm))
	}
	if gpu.Child("c2c") == nil && sm >= 90 {
		b.addC2C(gpu, dev)
	}
	for _, link := range gpu.Children {
		if _, ok := link.Get("tclass"); link.Name == "nvlink" && !ok {
			b.setTargetClass(link)
		}
	}
}

// maxNVLinks is how many links NCCL asks a GPU of a compute capability for.
func maxNVLinks(sm int) int {
	switch {
	case sm < 60:
		return 0
	case sm < 70:
		return 4
	case sm < 80:
		return 6
	case sm < 90:
		return 12
	}
	return 18
}

func (b *builder) addNVLinks(gpu *ncclxml.Element, dev *Device, limit int) {
	for l := range limit {
		target, ok := dev.peer(l)
		if !ok {
			continue
		}
		link := childWith(gpu, "nvlink", "target", target)
		if link == nil {
			b.add(gpu, "nvlink", ncclxml.Attr{Key: "target", Value: target}, ncclxml.Attr{Key: "count", Value: "1"})
			continue
		}
		count, _ := link.Get("count")
		link.Set("count", strconv.Itoa(cnum.Int32(count)+1))
	}
}

// peer gives the bus id of what a link leads to, if the link is up and NVML has
// answered all that is asked of it.
func (d *Device) peer(link int) (busID string, ok bool) {
	for _, l := range d.NVLinks {
		if l.Link != link {
			continue
		}
		up := l.P2PReturn == success && l.P2PSupported != 0 && l.StateReturn == success && l.State == 1
		return strings.ToLower(l.RemoteBusIDLegacy), up && l.RemoteReturn == success
	}
	return "", false
}

// addC2C adds one element for all links: their number and the bandwidth of the
// last one.
func (b *builder) addC2C(gpu *ncclxml.Element, dev *Device) {
	count, bw := 0, 0
	for _, l := range dev.C2CLinks {
		if l.StatusReturn == success && l.MaxBWReturn == success && l.Status == 1 {
			bw = l.MaxBW
			count++
		}
	}
	if count > 0 {
		b.add(gpu, "c2c", ncclxml.Attr{Key: "bw", Value: strconv.Itoa(bw)},
			ncclxml.Attr{Key: "count", Value: strconv.Itoa(count)})
	}
}

// hiddenPeer is what NVML says of a switch that it hides, as the first versions
// of the API did.
const hiddenPeer = "fffffff:ffff:ff"

// setTargetClass says what a link leads to. A device that sysfs does not show
// is taken for an NVSwitch.
func (b *builder) setTargetClass(link *ncclxml.Element) {
	target, _ := link.Get("target")
	dir := pciPath(b.files, target)
	if dir == "" || target == hiddenPeer {
		link.Set("tclass", topo.ClassNVSwitch.String())
		return
	}
	if class := text(b.files, dir+"/class"); class != "" {
		link.Set("tclass", class)
	}
}
