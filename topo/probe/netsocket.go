package probe

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ringtopo/ringtopo/internal/cnum"
)

// Limits of NCCL's list of interfaces, and what it takes where a speed is not
// known.
const (
	maxInterfaces   = 16
	defaultMbps     = 10000
	maxSocketComms  = 65536
	maxSpeedText    = 8
	minIfnameLength = 2 // a shorter NCCL_SOCKET_IFNAME is ignored
)

// usable gives the names of the interfaces that NCCL would use, in order.
func (n *Network) usable(env Env) []string {
	if ifname, ok := env("NCCL_SOCKET_IFNAME"); ok && len(ifname) >= minIfnameLength {
		return n.pick(env, nameFilter(ifname))
	}
	filters := []func(Interface) bool{nameFilter("ib"), n.sameSubnet(env), nameFilter("^docker,lo"), nameFilter("docker"), nameFilter("lo")}
	for _, filter := range filters {
		if filter == nil {
			continue
		}
		if names := n.pick(env, filter); len(names) > 0 {
			return names
		}
	}
	return nil
}

func nameFilter(list string) func(Interface) bool {
	l := parseNameList(list)
	return func(i Interface) bool { return l.allows(i.Name, anyPort) }
}

// pick lists the interfaces with an address of the wanted family that pass.
func (n *Network) pick(env Env, pass func(Interface) bool) []string {
	var names []string
	seen := map[string]bool{}
	for _, i := range n.Interfaces {
		if len(names) == maxInterfaces {
			break
		}
		if !seen[i.Name] && i.usable(env) && pass(i) {
			seen[i.Name] = true
			names = append(names, i.Name)
		}
	}
	return names
}

// usable tells whether an address is one that NCCL would listen on.
func (i Interface) usable(env Env) bool {
	addr, ok := i.address()
	if !ok || addr.Is6() && addr.IsLoopback() {
		return false
	}
	switch family, _ := env("NCCL_SOCKET_FAMILY"); family {
	case "AF_INET":
		return addr.Is4()
	case "AF_INET6":
		return addr.Is6()
	}
	return true
}

func (i Interface) address() (addr netip.Addr, ok bool) {
	if i.Addr == nil {
		return addr, false
	}
	addr, err := netip.ParseAddr(*i.Addr)
	return addr, err == nil
}

// sameSubnet passes interfaces in the subnet of the address in NCCL_COMM_ID; nil
// if there is none.
func (n *Network) sameSubnet(env Env) func(Interface) bool {
	id, ok := env("NCCL_COMM_ID")
	if !ok || len(id) < 2 {
		return nil
	}
	root, err := netip.ParseAddrPort(id)
	if err != nil {
		return nil
	}
	return func(i Interface) bool {
		addr, ok := i.address()
		if !ok || addr.Is4() != root.Addr().Is4() {
			return false
		}
		net, err := addr.WithZone("").Prefix(i.prefix(addr))
		return err == nil && net.Contains(root.Addr().WithZone(""))
	}
}

// prefix is the length of the network's part of an address. Recordings may lack
// it; then only the very same address counts.
func (i Interface) prefix(addr netip.Addr) int {
	if i.Bits > 0 {
		return i.Bits
	}
	return addr.BitLen()
}

// socketDevices lists the interfaces as devices of the network over sockets.
func (n *Network) socketDevices(f Files, env Env) []Properties {
	var devices []Properties
	for i, name := range n.usable(env) {
		p := Properties{Name: name, GUID: GUID(i), PtrSupport: ptrHost, Speed: interfaceSpeed(f, name), MaxComms: maxSocketComms}
		if dir, err := realPath(f, "/sys/class/net/"+name+"/device"); err == nil {
			p.PCIPath = &dir
		}
		devices = append(devices, p)
	}
	return devices
}

// interfaceSpeed reads the speed of an interface in Mb/s: the first 8 bytes of
// its file, so that 4294967295, which means unknown, becomes 42949672.
func interfaceSpeed(f Files, name string) int {
	data, err := readFile(f, "/sys/class/net/"+name+"/speed")
	if err != nil {
		return defaultMbps
	}
	if speed := cnum.Int32(string(data[:min(len(data), maxSpeedText)])); speed > 0 {
		return speed
	}
	return defaultMbps
}

// address of a GUID in sysfs and verbs: 16 digits, with or without colons.
func parseGUID(s string) (GUID, bool) {
	v, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimSpace(s), ":", ""), 16, 64)
	return GUID(v), err == nil
}
