package probe

import (
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

// addNets adds the devices of the network, which every rank sees.
func (b *builder) addNets(r Rank) error {
	collnet, err := b.addCollNets(r)
	if err != nil {
		return err
	}
	n := len(b.nets)
	if collnet > 0 {
		n = min(n, collnet)
	}
	for i, p := range b.nets[:n] {
		net, err := b.net(p)
		if err != nil {
			return err
		}
		net.Set("keep", "1")
		net.Set("dev", strconv.Itoa(i))
		setIfUnset(net, "speed", strconv.Itoa(p.Speed))
		setIfUnset(net, "port", strconv.Itoa(p.Port))
		setIfUnset(net, "latency", fmt.Sprintf("%f", p.Latency))
		setIfUnset(net, "guid", p.GUID.String())
		setIfUnset(net, "maxconn", strconv.Itoa(p.MaxComms))
		setIfUnset(net, "gdr", flag(b.moves(r, p)))
	}
	return nil
}

// addCollNets adds the devices of a CollNet plugin and counts them.
func (b *builder) addCollNets(r Rank) (int, error) {
	for i, p := range b.network.CollNet {
		net, err := b.net(p)
		if err != nil {
			return 0, err
		}
		net.Set("keep", "1")
		net.Set("dev", strconv.Itoa(i))
		setIfUnset(net, "speed", strconv.Itoa(p.Speed))
		setIfUnset(net, "port", strconv.Itoa(p.Port))
		setIfUnset(net, "guid", p.GUID.String())
		setIfUnset(net, "maxconn", strconv.Itoa(p.MaxComms))
		setIfUnset(net, "gdr", flag(b.moves(r, p)))
		setIfUnset(net, "coll", "1")
	}
	return len(b.network.CollNet), nil
}

// moves tells whether a device reaches the memory of the rank's GPU.
func (b *builder) moves(r Rank, p Properties) bool {
	return p.PtrSupport&ptrCUDA != 0 || p.PtrSupport&ptrDMABuf != 0 && b.exportsMemory(r)
}

// net gives the net element of a device's name, which it makes if there is
// none: below its card, or below the first socket if it is on no card.
func (b *builder) net(p Properties) (*ncclxml.Element, error) {
	if e := b.find("net", "name", p.Name); e != nil {
		return e, nil
	}
	var parent *ncclxml.Element
	if p.PCIPath != nil && b.onPCI(*p.PCIPath) {
		parent = b.pci(path.Base(*p.PCIPath))
		setIfUnset(parent, "class", "0x02")
		if err := b.completePCI(parent); err != nil {
			return nil, err
		}
	} else if parent = b.first("cpu"); parent == nil {
		return nil, errors.New("network " + p.Name + ": it is on no PCI device, and there is no cpu to put it under")
	}
	return b.add(b.child(parent, "nic"), "net", ncclxml.Attr{Key: "name", Value: p.Name}), nil
}

// onPCI tells whether a folder of sysfs is that of a PCI device.
func (b *builder) onPCI(dir string) bool {
	subsystem, err := realPath(b.files, dir+"/subsystem")
	return err == nil && path.Base(subsystem) == "pci"
}
