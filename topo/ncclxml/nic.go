package ncclxml

import (
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
	"github.com/ringtopo/ringtopo/topo"
)

// defaultMaxConn is how many connections NCCL takes a network for that does not
// say.
const defaultMaxConn = 32

func (b *builder) nic(e *Element) (*topo.NIC, error) {
	nic := &topo.NIC{}
	for _, c := range accepted(e) {
		if _, ok := c.Get("dev"); !ok {
			b.doc.assume(c, "dev missing: left out, as NCCL does")
			continue
		}
		net, err := b.net(c)
		if err != nil {
			return nil, err
		}
		nic.Nets = append(nic.Nets, net)
	}
	return nic, nil
}

func (b *builder) net(e *Element) (topo.Net, error) {
	dev, err := b.required(e, "dev", "")
	if err != nil {
		return topo.Net{}, err
	}
	net := topo.Net{
		Dev:     dev,
		Asic:    int64(dev),
		Mbps:    b.optional(e, "speed", 0, ""),
		Port:    b.optional(e, "port", 0, ""),
		GDR:     b.optional(e, "gdr", 0, "no GPUDirect RDMA") != 0,
		Coll:    b.optional(e, "coll", 0, "") != 0,
		MaxConn: b.optional(e, "maxconn", defaultMaxConn, ""),
	}
	if net.Mbps <= 0 {
		text, ok := e.Get("speed")
		b.doc.assume(e, given("speed", text, ok)+": taken for 10,000 Mb/s")
	}
	net.Name, _ = e.Get("name")
	if latency, ok := e.Get("latency"); ok {
		net.Latency = cnum.Float(latency)
	}
	if guid, ok := e.Get("guid"); ok {
		net.Asic = asic(guid)
	}
	return net, nil
}

// asic reads a GUID, which must be hexadecimal after 0x; others count as 0.
func asic(guid string) int64 {
	hex, ok := strings.CutPrefix(guid, "0x")
	if !ok {
		return 0
	}
	n := 0
	for n < len(hex) && strings.IndexByte("0123456789abcdefABCDEF", hex[n]) >= 0 {
		n++
	}
	v, err := strconv.ParseUint(hex[:n], 16, 64)
	if err != nil && n > 0 {
		return -1 // all bits set: what C makes of a number that is too long
	}
	return int64(v)
}
