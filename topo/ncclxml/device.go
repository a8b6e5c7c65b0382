package ncclxml

import (
	"fmt"
	"slices"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
)

// pci makes a device of a pci element. A GPU or a NIC inside decides what it
// is, else its class.
func (b *builder) pci(e *Element) (d topo.Device, ok bool, err error) {
	gpu, nic := e.Child("gpu"), e.Child("nic")
	switch {
	case gpu != nil:
		if d, ok, err = b.gpuDevice(e, gpu); ok && nic != nil {
			d.NIC, err = b.nic(nic)
		}
		return d, ok, err
	case nic != nil:
		return b.nicDevice(e, nic)
	case b.class(e) == topo.ClassSwitch:
		d, err = b.switchDevice(e)
		return d, true, err
	}
	return d, false, nil
}

// class is that of a pci element without gpu and nic.
func (b *builder) class(e *Element) topo.Class {
	text, ok := e.Get("class")
	class, known := topo.ParseClass(text)
	if !ok {
		b.doc.assume(e, "class missing: taken for a switch")
	} else if !known && len(accepted(e)) > 0 {
		b.doc.assume(e, "class "+quote(text)+" is none that NCCL knows: counted as a switch")
	}
	return class
}

func (b *builder) gpuDevice(e, gpu *Element) (d topo.Device, ok bool, err error) {
	if _, ranked := gpu.Get("rank"); !ranked {
		return d, false, b.checkHidden(e)
	}
	d = topo.Device{Class: topo.ClassGPU}
	if err := b.link(e, &d); err != nil {
		return d, false, err
	}
	f := b.at[d.BusID]
	f.placed = true
	d.GPU, err = b.gpu(f)
	return d, err == nil, err
}

// checkHidden finds a GPU that takes part behind one that does not.
func (b *builder) checkHidden(e *Element) error {
	for _, f := range b.gpus {
		if slices.Contains(e.Children, f.gpu) {
			return b.doc.nonsense(f.gpu, "not the first gpu in its pci element, so NCCL does not see it",
				"give each GPU a pci element of its own")
		}
	}
	return nil
}

func (b *builder) nicDevice(e, nic *Element) (d topo.Device, ok bool, err error) {
	d = topo.Device{Class: topo.ClassNIC}
	if err := b.link(e, &d); err != nil {
		return d, false, err
	}
	for _, c := range e.Children {
		if c.Name == "nic" && c != nic {
			b.doc.assume(c, "not the first nic in its pci element: left out, as NCCL does")
		}
	}
	d.NIC, err = b.nic(nic)
	return d, true, err
}

func (b *builder) switchDevice(e *Element) (topo.Device, error) {
	d := topo.Device{Class: topo.ClassSwitch, SwitchID: switchID(e)}
	if err := b.link(e, &d); err != nil {
		return d, err
	}
	b.switches[d.BusID] = e
	for _, c := range accepted(e) {
		if c.Name == "pcilink" {
			peer, err := b.busID(c, "target")
			if err != nil {
				return d, err
			}
			d.Peers = append(d.Peers, peer)
			b.pciLinks = append(b.pciLinks, pciLink{c, d.BusID, peer})
			continue
		}
		below, ok, err := b.child(c)
		if err != nil {
			return d, err
		}
		if ok {
			d.Devices = append(d.Devices, below)
		}
	}
	return d, nil
}

// switchID packs what identifies a kind of switch; ids that are too long run
// over into their neighbours, as in NCCL.
func switchID(e *Element) uint64 {
	var id uint64
	for i, key := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
		text, _ := e.Get(key)
		v, _ := cnum.Int(text, 0)
		id += uint64(v) << (48 - 16*i)
	}
	return id
}

// maxWidth is what hardware reports for a width that it does not know.
const maxWidth = 255

// link reads the address of a PCI device and its link upwards.
func (b *builder) link(e *Element, d *topo.Device) error {
	var err error
	if d.BusID, err = b.busID(e, "busid"); err != nil {
		return err
	}
	text, ok := e.Get("link_speed")
	var known bool
	if d.Speed, known = topo.ParseSpeed(text); !known {
		b.doc.assume(e, given("link_speed", text, ok)+": taken for 8 GT/s")
	}
	text, ok = e.Get("link_width")
	d.Width = cnum.Int32(text)
	if d.Width < 0 || d.Width > maxWidth {
		return b.doc.nonsense(e, fmt.Sprintf("link_width %d", d.Width), "PCI links have 1 to 32 lanes")
	}
	if d.Width == 0 {
		d.Width = topo.DefaultWidth
		b.doc.assume(e, given("link_width", text, ok)+": taken for 16 lanes")
	}
	return nil
}

// given says what a file has for an attribute that cannot be used.
func given(key, text string, there bool) string {
	if !there {
		return key + " missing"
	}
	return key + " " + quote(text)
}
