package probe

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// masker replaces what identifies a machine. Equal texts get equal replacements,
// so that what depends on their being equal stays as it is.
type masker struct {
	guids   map[string]string
	subnets map[netip.Prefix]int
	hosts   map[netip.Prefix]int // seen in each subnet
	addrs   map[netip.Addr]string
	uuids   map[string]string
}

func newMasker() *masker {
	return &masker{
		guids: map[string]string{}, subnets: map[netip.Prefix]int{}, hosts: map[netip.Prefix]int{},
		addrs: map[netip.Addr]string{}, uuids: map[string]string{},
	}
}

// mask changes a machine's answers, and the variables of its job. What the
// sources gave stays as it is.
func (m *masker) mask(p *Prober, job *jobFile) {
	p.Host.Devices, p.Network.Interfaces = slices.Clone(p.Host.Devices), slices.Clone(p.Network.Interfaces)
	m.maskHost(&p.Host)
	if v := p.Network.Verbs; v != nil {
		p.Network.Verbs = &Verbs{v.DMABufErrno, slices.Clone(v.Devices)}
		for i := range p.Network.Verbs.Devices {
			d := &p.Network.Verbs.Devices[i]
			d.SysImageGUID = m.guid(d.SysImageGUID)
		}
	}
	for i := range p.Network.Interfaces {
		m.maskInterface(&p.Network.Interfaces[i])
	}
	env, hostID := p.Env, p.Host.HostID
	for name, v := range job.Env {
		job.Env[name] = m.text(v)
	}
	p.Env = func(name string) (string, bool) {
		v, ok := env(name)
		if ok && name == "NCCL_HOSTID" && hostID != nil {
			return *hostID, true
		}
		return m.text(v), ok
	}
}

func (m *masker) maskHost(h *Host) {
	h.Hostname = "host"
	if h.BootID != "" {
		h.BootID = "00000000-0000-4000-8000-000000000000"
	}
	if h.HostID != nil {
		masked := "host"
		h.HostID = &masked
	}
	for i := range h.Devices {
		if f := h.Devices[i].Fabric; f != nil {
			masked := *f
			masked.ClusterUUID = m.uuid(f.ClusterUUID)
			h.Devices[i].Fabric = &masked
		}
	}
}

// uuid replaces a cluster's id; zeros stay, they mean none.
func (m *masker) uuid(s string) string {
	if strings.Trim(s, "0") == "" {
		return s
	}
	return numbered(m.uuids, s, func(n int) string { return fmt.Sprintf("%032x", n) })
}

// guid replaces a card's id.
func (m *masker) guid(s string) string {
	if g, ok := parseGUID(s); ok && g == 0 {
		return s
	}
	return numbered(m.guids, s, func(n int) string { return fmt.Sprintf("02000000%08x", n) })
}

// numbered gives the replacement of s, the n-th of its kind.
func numbered(m map[string]string, s string, format func(n int) string) string {
	if _, ok := m[s]; !ok {
		m[s] = format(len(m) + 1)
	}
	return m[s]
}

// maskInterface replaces an address. Those that are the same everywhere stay.
func (m *masker) maskInterface(i *Interface) {
	addr, ok := i.address()
	if !ok || addr.IsLoopback() {
		return
	}
	net, err := addr.WithZone("").Prefix(i.prefix(addr))
	if err != nil {
		return
	}
	masked := m.addr(addr.WithZone(""), net)
	i.Addr = &masked
}

// addr gives an address of the same family and scope, in the same masked subnet
// as others of its subnet.
func (m *masker) addr(addr netip.Addr, net netip.Prefix) string {
	if s, ok := m.addrs[addr]; ok {
		return s
	}
	if _, ok := m.subnets[net]; !ok {
		m.subnets[net] = len(m.subnets) + 1
	}
	m.hosts[net]++
	host := m.hosts[net] % (1 << min(addr.BitLen()-net.Bits(), 16)) // stays in the subnet
	var b [16]byte
	binary.BigEndian.PutUint16(b[14:], uint16(host))
	switch {
	case addr.Is4():
		m.addrs[addr] = netip.AddrFrom4([4]byte{byte(9 + m.subnets[net]), 0, b[14], b[15]}).String()
	case addr.IsLinkLocalUnicast():
		b[0], b[1], b[3] = 0xfe, 0x80, byte(m.subnets[net])
		m.addrs[addr] = netip.AddrFrom16(b).String()
	default:
		b[0], b[1] = 0xfd, byte(m.subnets[net])
		m.addrs[addr] = netip.AddrFrom16(b).String()
	}
	return m.addrs[addr]
}

var addressText = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.]+\]`)

// text replaces the addresses in a variable.
func (m *masker) text(s string) string {
	return addressText.ReplaceAllStringFunc(s, func(found string) string {
		addr, err := netip.ParseAddr(strings.Trim(found, "[]"))
		if err != nil || addr.IsLoopback() {
			return found
		}
		masked := m.addr(addr, m.subnetOf(addr))
		if addr.Is6() {
			return "[" + masked + "]"
		}
		return masked
	})
}

// subnetOf finds the smallest subnet of an address among those of the interfaces.
func (m *masker) subnetOf(addr netip.Addr) netip.Prefix {
	smallest := netip.PrefixFrom(addr, addr.BitLen())
	found := false
	for net := range m.subnets {
		if net.Contains(addr) && (!found || net.Bits() > smallest.Bits()) {
			smallest, found = net, true
		}
	}
	return smallest
}
